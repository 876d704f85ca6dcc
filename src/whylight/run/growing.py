"""Going on with the folder of a run: whether it may be, and what it has been asked for so far.

A folder of the same data, model and options may be asked for any methods, metrics and metric removers. What it has been
asked for so far stands in its manifest, with settings: a column that is there is never computed with others.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError
from whylight.core.identity import Identity
from whylight.core.registry import METRICS
from whylight.run.control import Control
from whylight.run.plan import columns_named
from whylight.store import parts, runs
from whylight.store.columns import Columns
from whylight.store.commits import Commit, counting
from whylight.store.runs import Manifest
from whylight.store.tables import RANDOM

METHODS = "methods"


def taken_up(folder: Path, identity: Identity, asked: Columns) -> tuple[str, list[Commit]]:
    """Return the name of a folder's run and what earlier calls have done, and remove what they left undone.

    The folder then says that it is asked for these columns, too: before the work, so that one that cannot be written in
    is known at once.

    Raises:
        InputError: It holds another run, is damaged, or cannot be written in.
    """
    stored = runs.read(folder)
    if stored.commits is None:
        raise _not_continued(folder, identity, stored)
    manifest = stored.manifest
    _check_same(folder, identity, manifest, stored.runs)
    parts.check_parts(folder, stored.commits)
    parts.tidy(folder, stored.commits)
    if manifest is None:
        runs.write_manifest(folder, Manifest(identity.name, identity.asked, asked))
        return identity.name, list(stored.commits)
    whole = identity.joined(manifest.asked or {})
    if whole.name == manifest.run and manifest.columns is not None:
        return manifest.run, list(stored.commits)
    before = manifest.columns or _columns_of(manifest.asked or {})
    earlier = {**manifest.earlier, manifest.run: before.cells}
    runs.write_manifest(folder, Manifest(whole.name, whole.asked, asked.after(before), earlier))
    return whole.name, counting(stored.commits, earlier)


def _not_continued(folder: Path, identity: Identity, stored: runs.Stored) -> InputError:
    """Say why a folder with one file per table is not gone on with."""
    if stored.runs - {identity.name}:
        return identity.refusal(folder, None if stored.about is None else stored.about.asked, kind="run")
    return InputError(
        f"'{folder}' holds a run in the form of an earlier version, which is read (`whylight report`, "
        "`whylight compare`) but not continued; name another folder."
    )


def _check_same(folder: Path, identity: Identity, manifest: Manifest | None, names: Collection[str]) -> None:
    """Refuse a folder whose results these cannot stand beside."""
    own = {identity.name} if manifest is None else {manifest.run, *manifest.earlier}
    asked = None if manifest is None else manifest.asked
    readable = asked is not None and isinstance(asked.get("contents"), Mapping)
    same = not identity.differences(asked) if asked is not None and readable else own == {identity.name}
    if not same or not own.issuperset(names):
        advice = _advice(identity, asked) if asked is not None and readable else {}
        raise identity.refusal(folder, asked, kind="run", **advice)


def _advice(identity: Identity, asked: Mapping[str, Any]) -> dict[str, str]:
    """Say how a method can stand beside itself with other settings, if these are all that differs."""
    settings: dict[str, list[str]] = {}
    for kind, name, setting in identity.changed(asked):
        if kind != METHODS or name == RANDOM or "[" in name or "@" in name:
            return {}
        settings.setdefault(name, []).append(f"{setting}={identity.columns[kind][name][setting]}")
    if not settings or identity.common_differences(asked):
        return {}
    names = " and ".join(f"{name}[{','.join(own)}]" for name, own in settings.items())
    return {"advice": f"name another folder, or ask for {names}, which gets rows of its own"}


def _columns_of(asked: Mapping[str, Any]) -> Columns:
    """Return the columns of a question that an earlier version wrote down, which did not say them."""
    named = {kind: list(asked.get(kind, ())) for kind in (METHODS, "metrics", "removers")}
    control = asked.get("control")
    specs = [METRICS[name] for name in named["metrics"]]
    return columns_named(named[METHODS], specs, named["removers"], None if control is None else Control(**control))
