"""The trainings of a study by remove and retrain: each from the same encoder, on texts without the words of a method.

Each is a task with a folder of its own, of which its receipt is kept; one that has a receipt is not made again.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import product, takewhile
from pathlib import Path
from urllib.parse import quote

from whylight.core.errors import InputError
from whylight.core.identity import RECEIPT, Identity
from whylight.data.dataset import Dataset
from whylight.engines.engine import Work
from whylight.engines.tasks import crew_of, do_tasks
from whylight.engines.where import Where
from whylight.explaining.bar import progress_bar
from whylight.models.prepare import Prepared
from whylight.store import files
from whylight.store.tables import Row
from whylight.study.removed import without_top
from whylight.study.retrained import UNTOUCHED, Retrained
from whylight.training.placing import placed, uses_cpu
from whylight.training.progress import Steps, trial_bar
from whylight.training.recipe import Recipe
from whylight.training.result import read_receipt
from whylight.training.train import identity_of, train
from whylight.views.batch import Removal

LONGEST = 255
"""Bytes of a name that file systems take."""
KEPT = 150
"""Characters that are kept of a method's name where that of its folder would be longer."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One training of the table."""

    method: str
    share: float
    seed: int

    def folder(self, out: Path) -> Path:
        """Return where it is trained; a method may carry settings in its name, and these any character, and many."""
        name, which = quote(self.method, safe="[]=,@"), f"-{self.share!r}-seed-{self.seed}"
        if len(name) + len(which) > LONGEST:
            name = f"{name[:KEPT]}-{blake2b(name.encode(), digest_size=8).hexdigest()}"
        return out / "trained" / f"{name}{which}"


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What all trainings share.

    Attributes:
        encoder: What they start from.
        texts: Training and validation texts, untouched.
        removal: What happens to removed words.
        recipe: How they train, but for the seed.
        out: Folder of the study.
    """

    encoder: str | Path
    texts: tuple[Dataset, Dataset]
    removal: Removal
    recipe: Recipe
    out: Path

    def identity(self, prepared: Prepared) -> Identity:
        """Say whose trainings the folder holds; whose explanations, the two runs in it say themselves."""
        settings = {name: value for name, value in self.recipe.asked.items() if name != "seed"}
        settings |= {"remover": self.removal.name, "remover_settings": dict(self.removal.settings)}
        found = identity_of(self.encoder, prepared, self.texts, settings)
        return replace(found, contents={**found.contents, **self.removal.contents})

    def without(self, explained: Sequence[Sequence[Row]], method: str, share: float) -> tuple[Dataset, Dataset]:
        """Return the texts that a training learns from, and those that it is measured on."""
        learnt, measured = (
            without_top(one, rows, method=method, share=share, removal=self.removal)
            for one, rows in zip(self.texts, explained, strict=True)
        )
        return learnt, measured


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One training, with its texts.

    Attributes:
        cell: Which one.
        texts: Training and validation texts.
    """

    cell: Cell
    texts: tuple[Dataset, Dataset]

    def __str__(self) -> str:
        """Say which one it is."""
        return f"the training without {self.cell.share:.0%} by {self.cell.method}, seed {self.cell.seed}"


def retrained(
    study: Study,
    explained: Sequence[Sequence[Row]],
    shares: Sequence[float],
    seeds: Sequence[int],
    *,
    where: Where | None,
    progress: bool,
) -> tuple[Retrained, ...]:
    """Train what was not trained before, and return the table."""
    first = explained[0][0]["example_id"]
    methods = [row["method"] for row in takewhile(lambda row: row["example_id"] == first, explained[0])]
    removed = [(UNTOUCHED, 0.0), *product(methods, map(float, dict.fromkeys(shares)))]
    cells = [Cell(method, share, seed) for (method, share), seed in product(removed, dict.fromkeys(seeds))]
    missing = [cell for cell in cells if not _is_done(cell.folder(study.out))]
    if missing:
        _train_all(study, explained, missing, where, progress=progress)
    return tuple(Retrained(cell.method, cell.share, cell.seed, _accuracy(cell.folder(study.out))) for cell in cells)


def _train_all(
    study: Study, explained: Sequence[Sequence[Row]], missing: Sequence[Cell], where: Where | None, *, progress: bool
) -> None:
    """Do all trainings, here or by workers; each receipt is in its folder then."""
    count, here = len(missing), where is None
    with (
        progress_bar(count, shown=progress and here) as step,
        trial_bar(count, shown=progress and not here, what="training") as moved,
        crew_of(partial(_opened, study.encoder, study.recipe, study.out, on_cpu=uses_cpu()), where) as crew,
    ):
        tasks = _tasks(study, explained, missing, step if here else lambda _: None)
        do_tasks(crew, tasks, called=str, done=lambda *_: None, told=lambda done: None if here else moved(done))


def _tasks(
    study: Study, explained: Sequence[Sequence[Row]], missing: Sequence[Cell], step: Callable[[str], None]
) -> Iterator[Task]:
    """Yield trainings; the texts of one are made when it is about to begin, and serve all of its seeds."""
    texts, made_for = study.texts, (UNTOUCHED, 0.0)
    for cell in missing:
        step(f"training: {cell.method} {cell.share:.0%}, seed {cell.seed}")
        if made_for != (cell.method, cell.share):  # the seeds of one share follow each other
            made_for = cell.method, cell.share
            texts = study.without(explained, *made_for)
        yield Task(cell, texts)


def _opened(encoder: str | Path, recipe: Recipe, out: Path, *, on_cpu: bool) -> Work:
    """Return what a worker does with a task; what comes of it is in its folder."""

    def work(task: Task) -> None:
        own, folder = replace(recipe, seed=task.cell.seed), task.cell.folder(out)
        if _is_done(folder):  # by a worker that died before it could say so
            return
        with placed("cpu" if on_cpu else None):
            train(encoder, *task.texts, own, out=folder, disjoint=False, progress=False, callbacks=[Steps()])
        _is_done(folder)  # and its model can go

    return work


def _is_done(folder: Path) -> bool:
    """Say whether a training is over; of one that is, nothing but the receipt is kept."""
    with files.said(folder):
        if not (folder / RECEIPT).is_file():
            return False
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != RECEIPT:
                path.unlink()
    return True


def _accuracy(folder: Path) -> float:
    """Return the accuracy after the last epoch."""
    history = read_receipt(folder).get("history", [])
    found = [float(one["eval_accuracy"]) for one in history if "eval_accuracy" in one]
    if not found:
        raise InputError(f"'{folder / RECEIPT}' is damaged: it has no accuracy; remove its folder, and call again.")
    return found[-1]
