"""What a run gave: its rows, and the tables that are made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whylight.core import showing
from whylight.core.errors import InputError
from whylight.core.inputs import INPUTS, Noun, noun_of
from whylight.run.corpus import corpus_summary, measures_of
from whylight.run.summary import Summary, summarise
from whylight.store import runs
from whylight.store.tables import Row


def target_of(asked: Mapping[str, object]) -> str:
    """Return whose faithfulness a stored question asks for: `predicted` labels, or `gold` ones."""
    return str(asked.get("target", "predicted"))


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Methods x metrics on a data set. Rows of a run with a folder are read from there whenever they are asked for.

    Attributes:
        explanations: One row per text, method and label.
        scores: One row per text, method, label and metric.
        curves: The score along the ranking, one row per text, method, label and remover.
        tuning: Explanations of the texts that boundaries were tuned on.
        rows_run: Distinct inputs that went through the model.
        seconds: What the run took, an earlier part that was stopped included.
        peak_megabytes: The most memory that the process had, where the system tells.
        asked: The question, as the folder of a run keeps it.
        failed: How many texts of the folder have failed in `whylight run`: no figure is of them.
        texts: One row per text that was worked on, with a hash of its record; none in folders of the first versions.
    """

    explanations: Sequence[Row]
    scores: Sequence[Row]
    curves: Sequence[Row] = ()
    tuning: Sequence[Row] = ()
    rows_run: int = 0
    seconds: float = 0.0
    peak_megabytes: float | None = None
    asked: Mapping[str, object] = field(default_factory=dict)
    failed: int = 0
    texts: Sequence[Row] = ()

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    @property
    def target(self) -> str:
        """Whose faithfulness was measured: `predicted` labels, or `gold` ones."""
        return target_of(self.asked)

    @property
    def noun(self) -> Noun:
        """What the inputs are called."""
        first = next(iter(self.explanations), None)
        return INPUTS if first is None else noun_of(first.get("kind", ""))

    @property
    def summary(self) -> Summary:
        """Means over texts, with intervals."""
        return summarise(self.explanations, self.scores)

    @property
    def corpus(self) -> Summary | None:
        """Metrics over all words together, where there are rationales: those asked for, or the usual ones."""
        found = corpus_summary(self.explanations, self.tuning, measures_of(self.asked))
        return None if found is None else replace(found, noun=self.noun)

    def subset(self, *, correct: bool) -> Summary | None:
        """Return the table of right predictions (true positives) or of wrong ones, if there are any."""
        made = summarise(
            (row for row in self.explanations if row["correct"] is correct),
            (row for row in self.scores if row["correct"] is correct),
        )
        return made if made.lines and made.metrics else None

    def records(self) -> list[Row]:
        """Return every cell of every table as one flat record; `subset` says which table it is of."""
        tables = {
            "all": self.summary,
            "correct": self.subset(correct=True),
            "wrong": self.subset(correct=False),
            "all words": self.corpus,
        }
        return [
            {"subset": name, **record}
            for name, table in tables.items()
            if table is not None
            for record in table.records()
        ]


def open_run(folder: Path | str) -> Evaluation:
    """Open the folder of a run, as `wl.evaluate(..., out=folder)` returned it; one that was stopped has what is done.

    Args:
        folder: What `wl.evaluate(..., out=...)` or `whylight evaluate --out` wrote.

    Raises:
        InputError: The folder holds no run, or is damaged.

    Example:
        >>> import whylight as wl
        >>> wl.open_run("runs/reviews").save("reviews.html")  # doctest: +SKIP
    """
    stored = runs.read(Path(folder))
    about = stored.about
    if about is None and not stored.explanations:
        raise InputError(
            f"'{folder}' holds no run; `whylight evaluate --out` and `wl.evaluate(..., out=...)` make one."
        )
    if about is None:  # the file that says what was asked is gone
        return Evaluation(stored.explanations, stored.scores, stored.curves, stored.tuning, texts=stored.texts)
    return Evaluation(
        stored.explanations,
        stored.scores,
        stored.curves,
        stored.tuning,
        rows_run=about.rows_run,
        seconds=about.seconds,
        peak_megabytes=about.peak_megabytes,
        asked=about.asked or {},
        failed=stored.failed,
        texts=stored.texts,
    )
