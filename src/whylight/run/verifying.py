"""Verifying a run: some of its texts are explained and measured again, and held against what stands in the folder.

What is compared is every row of a text, times aside. It is worked on in one thread, as by the workers of
`whylight run`: on the machine of the run the numbers are the same to the last bit. On another one, or of a run with
another number of threads, they may differ by rounding, and the largest difference is told.

Cost: what so many texts cost, and one pass through the data.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whylight.core.errors import InputError, ModelError
from whylight.core.identity import CALL, LOADED
from whylight.core.inputs import INPUTS, Noun, noun_of
from whylight.data.dataset import Record, record_digest
from whylight.data.stream import Stream, needs_no_labels, stream
from whylight.run.bench import Task
from whylight.run.evaluate import plan_of
from whylight.run.one import work_together
from whylight.run.plan import Plan
from whylight.run.running import head_of, question_of
from whylight.run.shards import Shard, shards_of
from whylight.run.threads import in_one_thread
from whylight.store import parts, runs
from whylight.store.commits import Commit
from whylight.store.tables import Row
from whylight.views.classifier import Classifier

TABLES = ("explanations", "scores", "curves")
ASIDE = ("seconds", "run")
"""Columns that may differ."""
SETTINGS = ("settings", "remover_settings")
"""Columns of settings, as JSON: one that is not set is as one that a method did not have when the run was made."""
TOLERANCE = 1e-6
"""The largest difference of two numbers that rounding explains."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What a look at some texts has shown.

    Attributes:
        texts: Texts that were worked on again.
        rows: Their rows.
        same: Rows that are the same to the last bit.
        differing: Rows that differ by more than rounding, or are missing, by what they are of.
        largest: The largest difference of two numbers.
        noun: What the inputs are called.
    """

    texts: int
    rows: int
    same: int
    differing: tuple[str, ...]
    largest: float
    noun: Noun = INPUTS


def verify(
    folder: Path | str,
    opening: Callable[[str], Classifier],
    *,
    rows: int = 50,
    seed: int = 0,
    data: Stream | None = None,
) -> Verified:
    """Work on some texts of a run again, and compare.

    Args:
        folder: The folder of a run of `whylight run`.
        opening: Loads the model, from what the folder calls it.
        rows: How many texts, drawn at random.
        seed: Of the draw.
        data: The data, where it is not where it was.

    Raises:
        InputError: The folder holds no such run, is damaged, or the data is another.
        ModelError: The model is another.
    """
    place = Path(folder)
    asked = _asked(place)
    source = data or _source(asked["data"])
    classifier = opening(str(asked["model"]))
    known = classifier.contents() or {}
    if {name: asked["contents"].get(name) for name in known} != dict(known):
        raise ModelError(f"the model '{asked['model']}' is not the one of the run; give that one: --model.")
    records = source.records()
    head = head_of(source, records)
    plan = plan_of(classifier, head, question_of(asked[CALL]))
    found = _Found(head.noun)
    manifest = runs.manifest_in(place)
    drawn = _drawn(place, rows, seed)
    with in_one_thread():
        for shard in shards_of(source.records(), most=None if manifest is None else manifest.shard):
            own = [number for number in shard.numbers if number in drawn]
            if own:
                _look(place, classifier, plan, shard, own, found)
            if shard.numbers.stop > max(drawn):
                break
    return found.verified()


def _asked(folder: Path) -> Mapping[str, Any]:
    manifest = runs.manifest_in(folder)
    if manifest is None or manifest.asked is None or CALL not in manifest.asked:
        raise InputError(f"'{folder}' holds no run of `whylight run`, which is what can be verified.")
    return manifest.asked


def source_of(folder: Path | str, spec: str) -> Stream:
    """Return the data of a run, which is now somewhere else, to be read as its folder says it."""
    said = _asked(Path(folder))["data"]
    if "settings" not in said:
        return stream(spec, split=said["split"], **needs_no_labels(spec))
    return replace(_source(said), spec=spec)


def loaded_of(folder: Path | str) -> dict[str, Any]:
    """Return the arguments of `wl.load` with which the model of a run was loaded, where it runs aside."""
    return dict(_asked(Path(folder)).get(LOADED, {}))


def _source(said: Mapping[str, Any]) -> Stream:
    if "settings" not in said:
        raise InputError("the run was of data in memory; say where it is: --data.")
    return Stream(said["name"], said["split"], said["drop_broken"], said["labels"], said["settings"])


def _drawn(folder: Path, rows: int, seed: int) -> set[int]:
    """Draw texts that are done."""
    done = [(one.numbers, {*one.failed}) for one in parts.each_that_counts(folder, {})]
    numbers = sorted({number for own, failed in done for number in own if number not in failed})
    if not numbers:
        raise InputError(f"nothing is done in '{folder}' that could be verified.")
    chosen = np.random.default_rng(seed).choice(len(numbers), size=min(rows, len(numbers)), replace=False)
    return {numbers[place] for place in chosen}


def _look(
    folder: Path, classifier: Classifier, plan: Plan, shard: Shard, numbers: Sequence[int], found: "_Found"
) -> None:
    """Work on some texts of a shard again; those that were explained at once are so again."""
    stems = [stem for stem in parts.stems_in(folder) if parts.first_of(stem) in shard.numbers]
    known = [one for stem in stems if (one := parts.read_commit(folder, stem)) is not None]
    for one in known:
        parts.check_sums(folder, one)
    for block in shard.blocks(plan):
        if any(number in numbers for number in block):
            tasks = [Task(shard[number], plan.columns.cells) for number in block]
            for number, done in zip(block, work_together(classifier, tasks, plan, run=""), strict=True):
                if number in numbers:
                    _check_record(folder, number, shard[number], known)
                    made = {"explanations": done.explanations, "scores": done.scores, "curves": done.curves}
                    found.compare(number, _stored(folder, number, known, plan), made)


def _check_record(folder: Path, number: int, record: Record, known: Sequence[Commit]) -> None:
    for own in known:
        if number in own.numbers and own.records[number - own.numbers.start] != record_digest(record):
            one = noun_of(record.example.kind).one
            raise InputError(f"the data has another {one} at place {number} than '{folder}'; give the data of the run.")


def _stored(folder: Path, number: int, known: Sequence[Commit], plan: Plan) -> dict[str, list[Row]]:
    ranks = plan.columns.ranks()
    read = {name: parts.stored_rows(folder, known, name, ranks=ranks) for name in TABLES}
    return {
        name: next((own for place, own in rows.texts({number}) if place == number), []) for name, rows in read.items()
    }


class _Found:
    """What comparisons have shown so far."""

    def __init__(self, noun: Noun) -> None:
        self.noun = noun
        self.texts = self.rows = self.same = 0
        self.largest, self.differing = 0.0, list[str]()

    def compare(self, number: int, stored: Mapping[str, Sequence[Row]], made: Mapping[str, Sequence[Row]]) -> None:
        self.texts += 1
        for name in TABLES:
            theirs, mine = ({_key(row): row for row in own[name]} for own in (stored, made))
            for key in {**theirs, **mine}:
                self.rows += 1
                if key not in theirs or key not in mine:
                    self.differing.append(f"{self.noun.one} {number}, {name}: {' '.join(map(str, key))} is missing")
                    continue
                gap = max(_gaps(theirs[key], mine[key]), default=0.0)
                self.largest = max(self.largest, gap)
                self.same += gap == 0.0
                if gap > TOLERANCE:
                    self.differing.append(
                        f"{self.noun.one} {number}, {name}: {' '.join(map(str, key))} differs by {gap:.3g}"
                    )

    def verified(self) -> Verified:
        return Verified(self.texts, self.rows, self.same, tuple(self.differing), self.largest, self.noun)


def _key(row: Row) -> tuple[str, ...]:
    names = ("method", "target", "metric", "remover" if "metric" in row or "shares" in row else "")
    return tuple(str(row[name]) for name in names if row.get(name) is not None)


def _gaps(one: Row, other: Row) -> Iterator[float]:
    """Yield by how much two rows differ: numbers by their distance, anything else by infinity."""
    for name in one:
        if name not in ASIDE and name in other:
            both = one[name], other[name]
            yield _gap(*(map(_set, both) if name in SETTINGS else both))


def _set(settings: str | None) -> dict[str, Any]:
    """Return the settings that are set."""
    return {name: value for name, value in json.loads(settings or "{}").items() if value is not None}


def _gap(one: Any, other: Any) -> float:  # noqa: ANN401  whatever a row holds
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return max(map(_gap, one, other), default=0.0) if len(one) == len(other) else math.inf
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return 0.0 if math.isnan(one) and math.isnan(other) else math.inf
        return 0.0 if one == other else abs(one - other)
    return 0.0 if one == other else math.inf
