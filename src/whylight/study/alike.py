"""Whether two runs are of the same inputs, and which metrics both measured in the same way.

Ids are often numbers of lines, which any file has, so that they do not say which input is meant: the hash of its record
does. A run by an earlier version has none, and one of the same inputs under other labels has another; then what was
explained has to be the same. That alone would not do: a model of pictures, or a prompt, may show an input otherwise
than another does.

What a metric asked is in the question of its run. Seeds may differ, and so may boundaries that each run tuned.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from whylight.core.errors import InputError
from whylight.core.identity import digest
from whylight.core.rationale import Rationale
from whylight.core.registry import METRICS
from whylight.run.control import Control
from whylight.run.evaluation import Evaluation
from whylight.run.plan import evidence_of
from whylight.run.summary import Measure, measure_of
from whylight.store.tables import HUMAN, Row
from whylight.views.game import Game

SHARED = ("unit", "long", "pieces")
"""What every value depends on, where a question says it; of the first versions not every one did."""
SEED, BOUNDARY, MODEL = "seed", "boundary", "model"
Difference = tuple[str, str]
"""What differs, and how."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of two sides: a method of a run.

    Attributes:
        run: The run.
        method: What it calls the method.
        scores: The scores of the method.
    """

    run: Evaluation
    method: str
    scores: list[Row]

    @property
    def tau(self) -> float | None:
        """How alike the maps are that its control picks from, if it is the control of a method."""
        control = Control(**self.asked("control")) if self.asked("control") else None
        return control.tau if control is not None and self.method.endswith(control.name("")) else None

    def asked(self, name: str) -> Mapping[str, Any]:
        """Return a part of the question that has parts of its own; of earlier versions some are lists of names."""
        found = self.run.asked.get(name)
        return found if isinstance(found, Mapping) else {}

    def contents(self, of: str) -> dict[str, object]:
        """Return the hashes of something that values depend on; a run that keeps nothing has none."""
        return {name: one for name, one in self.asked("contents").items() if name == of or name.startswith(f"{of} ")}


@dataclass(slots=True, eq=False)
class _Shown:
    """What a run shows of an input: a hash of it, and of each of the marks of people."""

    example: str
    marks: list[str] = field(default_factory=list)


def other_marks(left: Evaluation, right: Evaluation, both: str) -> str | None:
    """Return the id of an input that people marked otherwise in two runs, if there is one.

    Raises:
        InputError: One id stands for two inputs.
    """
    unsure = _unsure(left, right)
    if unsure is not None and not unsure:
        return None
    theirs, found = _shown(right, unsure), None
    for name, own in _shown(left, unsure).items():
        other = theirs.get(name, own)
        if other.example != own.example:
            raise InputError(
                f"{both} hold other {left.noun.many}: '{name}' is not the same in both; compare runs of the same data."
            )
        found = name if found is None and sorted(other.marks) != sorted(own.marks) else found
    return found


def _unsure(left: Evaluation, right: Evaluation) -> set[str] | None:
    """Return the ids in both that do not stand for the same record; None where a run has no hashes to tell."""
    mine, theirs = (
        {row["example_id"]: row.get("record") for row in one.texts if not row["tuning"]} for one in (left, right)
    )
    if not mine or not theirs:
        return None
    return {name for name in mine.keys() & theirs.keys() if mine[name] is None or mine[name] != theirs[name]}


def _shown(run: Evaluation, only: set[str] | None) -> dict[str, _Shown]:
    """Return what a run shows of inputs, as hashes: its texts may be more than memory holds."""
    found: dict[str, _Shown] = {}
    for row in run.explanations:
        name = row["example_id"]
        if only is not None and name not in only:
            continue
        if name not in found:
            found[name] = _Shown(digest([row["kind"], row["text"], row["pair"], row["input"]]))
        if row["method"] == HUMAN:
            found[name].marks.append(digest(row["scores"]))
    return found


def differences(left: Side, right: Side, *, marked: str | None) -> dict[Measure, list[Difference]]:
    """Say of each metric that both have how its two measurements differ; nothing of those that are alike.

    Args:
        left: The one.
        right: The other.
        marked: An input that people marked otherwise in the two, if there is one.
    """
    theirs = {measure_of(row): row for row in right.scores}
    mine = {measure_of(row): row for row in left.scores}
    found = {}
    for measure in (one for one in mine if one in theirs):
        evidence = evidence_of(METRICS[measure[0]])
        own = [*_of_all(left, right), *_of_settings(measure[0], (left, mine[measure]), (right, theirs[measure]))]
        own += [*_of_game(left, right, str(measure[1]))] if evidence is Game else []
        own += _differing("", {"target": left.run.target}, {"target": right.run.target}) * (evidence is not Rationale)
        own += [("marks", f"of '{marked}'")] if evidence is Rationale and marked is not None else []
        if own:
            found[measure] = own
    return found


def _of_all(left: Side, right: Side) -> Iterator[Difference]:
    """Say what differs for every metric."""
    asked = left.run.asked, right.run.asked
    said = [name for name in SHARED if all(one.get(name) is not None for one in asked)]
    mine, theirs = (
        {name: one[name] for name in said} | {"zero_non_alphanumeric": one.get("zero_non_alphanumeric", False)}
        for one in asked
    )
    yield from _differing("", mine, theirs)
    taus = [side.tau for side in (left, right)]
    if None not in taus:  # how many maps there are is in the names of both
        yield from _differing("control.", {"tau": taus[0]}, {"tau": taus[1]})


def _of_settings(metric: str, left: tuple[Side, Row], right: tuple[Side, Row]) -> Iterator[Difference]:
    """Say which settings of a metric differ, and its score."""
    yield from _differing(f"{metric}.", _settings(metric, *left), _settings(metric, *right))
    yield from _differing("", {"score": left[1]["score_space"]}, {"score": right[1]["score_space"]})


def _settings(metric: str, side: Side, row: Row) -> dict[str, object]:
    """Return the settings of a metric as they were asked for; a row has the boundary that was tuned for its method."""
    own = {name: one for name, one in json.loads(row["settings"] or "{}").items() if name not in (SEED, BOUNDARY)}
    asked = side.asked("metrics").get(metric)
    return own | {BOUNDARY: asked.get(BOUNDARY) if isinstance(asked, Mapping) else None}


def _of_game(left: Side, right: Side, remover: str) -> Iterator[Difference]:
    """Say what differs in what a model was asked: which model it was, and how something was removed."""
    models = ({MODEL: side.run.asked.get("metric_model")} for side in (left, right))
    yield from _of_model("metric model", left, right, *models)
    yield from _of_model(remover, left, right, *(_remover_settings(side, remover) for side in (left, right)))


def _of_model(
    name: str, left: Side, right: Side, mine: Mapping[str, object], theirs: Mapping[str, object]
) -> Iterator[Difference]:
    """Say how settings differ that may name a model."""
    hashes = left.contents(name), right.contents(name)
    if all(hashes):  # which know a model better than its path does
        mine, theirs = ({key: one for key, one in own.items() if key != MODEL} for own in (mine, theirs))
        yield from ((what, "") for what, _ in _differing("", *hashes))
    yield from _differing(f"{name}.", mine, theirs)


def _remover_settings(side: Side, remover: str) -> dict[str, object]:
    own = side.asked("removers").get(remover)
    return {name: one for name, one in own.items() if name != SEED} if isinstance(own, Mapping) else {}


def _differing(prefix: str, mine: Mapping[str, object], theirs: Mapping[str, object]) -> list[Difference]:
    return [
        (f"{prefix}{name}", f"{_said(mine.get(name))} and {_said(theirs.get(name))}")
        for name in dict.fromkeys((*mine, *theirs))
        if mine.get(name) != theirs.get(name)
    ]


def _said(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def in_words(found: Iterable[Difference]) -> str:
    """Name what differs."""
    return ", ".join(f"{name} ({how})" if how else name for name, how in dict.fromkeys(found))
