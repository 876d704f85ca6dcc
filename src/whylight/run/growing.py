"""Going on with the folder of a run: whether it may be, and what it has been asked for so far.

A folder of the same data, model and options may be asked for any methods, metrics and metric removers. What it has been
asked for so far stands in its manifest, with settings: a column that is there is never computed with others.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError
from whylight.core.identity import Identity
from whylight.core.registry import METRICS
from whylight.data.dataset import Dataset, record_digest
from whylight.run.control import Control
from whylight.run.plan import columns_named
from whylight.run.software import noted, software
from whylight.store import parts, runs, success
from whylight.store.columns import Columns
from whylight.store.commits import Commit, counting
from whylight.store.runs import Manifest
from whylight.store.tables import RANDOM

METHODS = "methods"
MOST_TEXTS = 256
"""Texts of a shard, in folders that do not say it."""


def taken_up(folder: Path, identity: Identity, asked: Columns, data: Dataset) -> tuple[Manifest, list[Commit]]:
    """Return what a folder says of its run and what earlier calls have done, and remove what they left undone.

    The folder then says that it is asked for these columns, too: before the work, so that one that cannot be written in
    is known at once.

    Raises:
        InputError: It holds another run, is damaged, or cannot be written in.
    """
    stored = runs.read(folder)
    if stored.commits is None:
        raise _not_continued(folder, identity, stored)
    manifest, known = stored.manifest, list(stored.commits)
    checked = identity if _same_data(data, manifest, known) else _of_other_data(identity)
    check_same(folder, checked, manifest, stored.runs)
    parts.check_parts(folder, known)
    parts.tidy(folder, known)
    done = len(data) <= max((one.numbers.stop for one in known if not one.tuning), default=0)
    whole = continued(folder, identity, asked, manifest, grown=not done)
    return whole, counting(known, whole.earlier)


def continued(
    folder: Path,
    identity: Identity,
    asked: Columns,
    manifest: Manifest | None,
    *,
    grown: bool,
    shard: int | None = None,
) -> Manifest:
    """Write down that a folder is asked for these columns, too; what it then says of its run.

    Args:
        folder: The folder, which holds the same run or none.
        identity: Whose results these will be.
        asked: The columns.
        manifest: What the folder says.
        grown: Whether there are texts that it has nothing of.
        shard: The most texts of a shard, if the folder is new; by default `MOST_TEXTS`.

    Raises:
        InputError: It cannot be written in.
    """
    if manifest is None:
        success.forget_success(folder)
        made = Manifest(identity.name, identity.asked, asked, shard=shard or MOST_TEXTS, software=(software(),))
        runs.write_manifest(folder, made)
        return made
    whole = identity.joined(manifest.asked or {})
    same = whole.name == manifest.run and manifest.columns is not None
    ended = success.read_success(folder)
    if same and ended is not None and not grown:  # there is nothing to add
        return manifest
    manifest = noted(folder, manifest)
    extents = [*manifest.grown, *([] if ended is None else [ended])]
    if same:
        manifest = replace(manifest, grown=extents)
        runs.write_manifest(folder, manifest)
        success.forget_success(folder)
        return manifest
    columns = manifest.columns or _columns_of(manifest.asked or {})
    earlier = {**manifest.earlier, manifest.run: columns.cells}
    made = replace(manifest, run=whole.name, asked=whole.asked, columns=asked.after(columns), earlier=earlier)
    made = replace(made, grown=extents)
    runs.write_manifest(folder, made)
    success.forget_success(folder)
    return made


def _same_data(data: Dataset, manifest: Manifest | None, known: Sequence[Commit]) -> bool:
    """Say whether a folder is of these texts, or of the first of them."""
    if manifest is not None and manifest.data is not None and manifest.data != data.fingerprint():
        return False
    own = [one for one in known if not one.tuning]
    if any(one.numbers.stop > len(data) for one in own):
        return False
    hashes = ((number, record) for one in own for number, record in zip(one.numbers, one.records, strict=True))
    return all(record in (None, record_digest(data[number])) for number, record in hashes)


def _of_other_data(identity: Identity) -> Identity:
    """Return an identity that differs from that of a folder in its data, for the sentence that says so."""
    return replace(identity, contents={**identity.contents, "data": "other"})


def _not_continued(folder: Path, identity: Identity, stored: runs.Stored) -> InputError:
    """Say why a folder with one file per table is not gone on with."""
    if stored.runs - {identity.name}:
        return identity.refusal(folder, None if stored.about is None else stored.about.asked, kind="run")
    return InputError(
        f"'{folder}' holds a run in the form of an earlier version, which is read (`whylight report`, "
        "`whylight compare`) but not continued; name another folder."
    )


def check_same(folder: Path, identity: Identity, manifest: Manifest | None, names: Collection[str]) -> None:
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
