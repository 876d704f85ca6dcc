"""Which software a run is made with: another version may give other numbers, so that a folder notes every one."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from whylight.core.version import VERSION
from whylight.explaining.console import complain
from whylight.store.runs import Manifest

PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
"""What computes numbers of a run, this package aside."""


def software() -> dict[str, str]:
    """Return the versions of what computes numbers here."""
    found = {"whylight": VERSION}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def noted(folder: Path, manifest: Manifest) -> Manifest:
    """Return what a folder says of its run, with the software here; say so if it is not what it was begun with."""
    own = software()
    if own in manifest.software:
        return manifest
    if others := _others(own, manifest.software):
        complain(
            f"'{folder}' was begun with {', '.join(others)}; numbers that are added now may differ, if only in their "
            "last digits: `whylight verify` says by how much, and another folder keeps them apart."
        )
    return replace(manifest, software=(*manifest.software, own))


def _others(own: dict[str, str], known: Sequence[dict[str, str]]) -> list[str]:
    """Name what there was in another version at first."""
    first = known[0] if known else {}
    return [f"{name} {there}, not {own[name]}" for name, there in first.items() if own.get(name, there) != there]
