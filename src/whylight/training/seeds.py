"""Trainings that differ in their seed alone: `wl.train_seeds` and `whylight train --seeds`.

Each is an ordinary training in `OUT/seed-N`. The same call goes on with those that were stopped, and makes none twice.
By default one follows the other in this process; workers have one thread each, so that the same call gives the same
models for one worker or many.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from whylight.core.errors import SettingError, UnmetError
from whylight.data.dataset import Dataset
from whylight.data.descriptions import Descriptions
from whylight.engines.engine import Work
from whylight.engines.tasks import crew_of, do_tasks
from whylight.engines.where import Where, elsewhere
from whylight.models.prepare import Architecture
from whylight.training import processes
from whylight.training.folder import interruptible
from whylight.training.placing import placed, uses_cpu
from whylight.training.progress import trial_bar
from whylight.training.recipe import Recipe, check_recipe
from whylight.training.result import Trained, read_trained
from whylight.training.train import check_data, require_libraries, train

Fit = Callable[..., Trained]


def train_seeds(  # noqa: PLR0913  the public call: every argument but six is optional
    model: str | Path | None,
    data: Dataset,
    dev: Dataset,
    recipe: Recipe,
    *,
    seeds: Sequence[int],
    out: Path | str,
    architecture: Architecture = "auto",
    label_descriptions: Descriptions | str | Path | None = None,
    progress: bool = True,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    told: Callable[[Trained], None] = lambda _: None,
) -> list[Trained]:
    """Train one model per seed, or go on where that was stopped.

    Args:
        model: As in `train`.
        data: Texts to learn from.
        dev: Texts to choose a checkpoint by.
        recipe: What `wl.recipe` returned; its seed is replaced.
        seeds: The seeds.
        out: Folder for the folders `seed-N`.
        architecture: As in `train`.
        label_descriptions: As in `train`.
        progress: Show how far it has come.
        engine: `"local"`, processes of this machine, or `"ray"`, actors of a Ray cluster.
        workers: How many workers, each with one thread; by default one training follows the other here, with all.
        address: The Ray cluster; None starts one here.
        told: Is called with each training that is over.

    Returns:
        What each gave, in the order of the seeds.

    Raises:
        UnmetError: Some training keeps no bound; all of them are over then.

    Example:
        >>> import whylight as wl
        >>> data, dev = wl.dataset("planted:", split="train"), wl.dataset("planted:", split="dev")
        >>> wl.train_seeds(None, data, dev, wl.recipe(), seeds=[0, 1], out="models", workers=2)  # doctest: +SKIP
    """
    where, folder = elsewhere(engine, workers, address), Path(out)
    check_where(where)
    require_libraries()
    check_data(data, dev, check_recipe(recipe))
    fit = partial(train, model, data, dev, architecture=architecture, label_descriptions=label_descriptions)
    fit = partial(fit, progress=progress and where is None)
    opening = partial(opened, fit, recipe, folder, on_cpu=uses_cpu())
    unmet: dict[int, str] = {}

    def done(seed: int, sentence: str) -> None:
        if sentence:
            unmet[seed] = sentence
        else:
            told(read_trained(folder_of(folder, seed)))

    every = list(dict.fromkeys(seeds))
    with (
        interruptible(folder),
        trial_bar(len(every), shown=progress and where is not None, what="training") as moved,
        crew_of(opening, where) as crew,
    ):
        do_tasks(crew, every, called=lambda seed: f"the training of seed {seed}", done=done, told=moved)
    if unmet:
        raise UnmetError(unmet[min(unmet)])
    return [read_trained(folder_of(folder, seed)) for seed in every]


def folder_of(out: Path, seed: int) -> Path:
    """Return the folder of one of several trainings."""
    return out / f"seed-{seed}"


def opened(fit: Fit, recipe: Recipe, out: Path, *, on_cpu: bool) -> Work:
    """Return what a worker does with a seed; it says why there is no model, if there is none."""

    def work(seed: int) -> str:
        try:
            with placed("cpu" if on_cpu else None):
                fit(recipe=replace(recipe, seed=seed), out=folder_of(out, seed))
        except UnmetError as error:
            return str(error)
        return ""

    return work


def check_where(where: Where | None) -> None:
    """Refuse workers where processes train together already, and an engine that is not there."""
    if where is None:
        return
    where.check()
    if processes.count() > 1:
        raise SettingError(
            "these processes train one model together (torchrun); leave out --workers, or start one process."
        )
