"""Searching the numbers of a training, by Optuna: `whylight tune`.

`search.py` says what can be searched and what is minimised: the number that a training chooses its checkpoint by, or
the loss of the labels (-accuracy, -document_average_precision) where weights or settings of terms are searched, whose
totals do not compare.

The study is `OUT/study.db`, and the same call resumes it; a trial that was stopped is marked as failed and made again.
Trials are trained in `OUT/trial-N`; `OUT/best` is the best of them so far, and no other model is kept.

Trials come in rounds (`training/drawing.py`). Those of a round are drawn and pruned by what the rounds before gave, and
not by each other, so that workers can share them and find the same, one worker or many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, ModelError, SettingError
from whylight.core.inputs import JsonValue
from whylight.data.dataset import Dataset
from whylight.data.descriptions import Descriptions
from whylight.engines.tasks import crew_of
from whylight.engines.where import Where, elsewhere
from whylight.explaining.variants import each_name
from whylight.models.prepare import Architecture
from whylight.store import files
from whylight.training.figures import NamedValues
from whylight.training.folder import claimed_by_one, interruptible
from whylight.training.placing import uses_cpu
from whylight.training.progress import trial_bar
from whylight.training.recipe import Recipe
from whylight.training.result import read_receipt
from whylight.training.search import minimised_number, parse_search
from whylight.training.seeds import check_where
from whylight.training.train import described_labels, identity_of, open_start, selection_of, train, with_outputs
from whylight.training.trials import opened_study

# isort: split
import optuna  # after `search`, which says in a sentence that it is not installed
from optuna.trial import FrozenTrial

from whylight.training.drawing import next_round
from whylight.training.rounds import Search
from whylight.training.tried import Trainer, opened

DEFAULT = ("learning_rate=1e-5:2e-4:log",)
ROUND = 8
"""Trials that are drawn at once, where workers share them."""


@dataclass(frozen=True, slots=True)
class TriedRecipe:
    """One trial.

    Attributes:
        number: Its number in the study.
        state: `complete`, `pruned`, or `diverged`: the loss was no finite number.
        value: What is minimised; of a pruned trial the last one, None if there was none.
        parameters: What was drawn.
        figures: Its validation; empty if it is not complete.
    """

    number: int
    state: str
    value: float | None
    parameters: dict[str, JsonValue]
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search gave.

    Attributes:
        folder: The best model's folder; if no trial kept the bound, the closest model is in `unmet` in it.
        receipt: What its `training.json` holds.
        minimised: Name of the validation number that was minimised.
        trials: Finished trials, the best first.
    """

    folder: Path
    receipt: dict[str, Any]
    minimised: str
    trials: tuple[TriedRecipe, ...]


def tune(  # noqa: PLR0913  the public call: four arguments are optional and named
    model: str | Path | None,
    data: Dataset,
    dev: Dataset,
    recipe: Recipe,
    *,
    out: Path | str,
    search: str | Sequence[str] = DEFAULT,
    trials: int = 20,
    architecture: Architecture = "auto",
    label_descriptions: Descriptions | str | Path | None = None,
    progress: bool = True,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    together: int | None = None,
) -> Tuned:
    """Search the numbers of a training, or resume one that was stopped.

    Args:
        model: Folder or hub id to start from; None for the bundled model, `"encoder"` for that without its head.
        data: Texts to learn from.
        dev: Texts to choose a checkpoint and a trial by.
        recipe: Terms, and the numbers that are not searched.
        out: Folder for the study and the best model.
        search: `NAME=LOW:HIGH`, `NAME=LOW:HIGH:log` or `NAME=A,B,...` each.
        trials: Trials in all, with those of earlier calls; fewer, if there are fewer combinations of choices.
        architecture: `plm_ca` for label attention over long documents.
        label_descriptions: What labels stand for, as in `train`.
        progress: Show a progress bar.
        engine: `"local"`, processes of this machine, or `"ray"`, actors of a Ray cluster.
        workers: How many workers, each with one thread; by default one trial follows the other here, with all.
        address: The Ray cluster; None starts one here.
        together: Trials that are drawn at once, from what those before gave: 1 here, and 8 for workers, by default.

    Raises:
        ModelError: No trial gave a model: the loss of each was no finite number.

    Example:
        >>> import whylight as wl
        >>> data, dev = wl.dataset("planted:", split="train"), wl.dataset("planted:", split="dev")
        >>> wl.tune(None, data, dev, wl.recipe(), trials=20, out="search")  # doctest: +SKIP
    """
    if trials < 1:
        raise SettingError(f"a search takes at least one trial, not {trials}.")
    where = elsewhere(engine, workers, address)
    check_where(where)
    together = _together(together, where)
    space = parse_search(each_name(search), recipe)
    folder = Path(out)
    with files.said(folder):
        _refuse_other_files(folder)
    asked: JsonValue = {name: optuna.distributions.distribution_to_json(one) for name, one in space.items()}
    data, dev = with_outputs(model, data, dev, architecture)
    prepared = open_start(model, data, recipe, architecture)
    described = described_labels(label_descriptions, data)
    settings = {**recipe.asked, **selection_of(recipe, data), **described, "architecture": architecture}
    settings["search"] = asked
    identity = identity_of(model, prepared, (data, dev), settings)
    minimised = minimised_number(recipe, space, multi_label=data.multi_label)
    fit = partial(train, model, data, dev, architecture=architecture, **described, progress=False)
    with (
        claimed_by_one(folder),
        interruptible(folder),
        opened_study(folder, identity) as study,
        trial_bar(trials, shown=progress) as moved,
    ):
        run = Search(study, folder, space, moved)
        trainer = Trainer(fit, recipe, folder, minimised, identity.contents, on_cpu=uses_cpu())
        rounds = partial(next_round, study, space, seed=recipe.seed, most=trials, together=together)
        run.begin()
        draws = rounds()
        if draws:
            with crew_of(partial(opened, trainer, run.moved_by if where is None else None), where) as crew:
                while draws:
                    run.work(crew, draws)
                    draws = rounds()
        return _result(run, minimised)


def _together(together: int | None, where: Where | None) -> int:
    """Return how many trials are drawn at once; it must not depend on how many workers there are."""
    found = (1 if where is None else ROUND) if together is None else together
    if found < 1:
        raise SettingError(f"at least one trial is drawn at once, not {found}.")
    if where is not None and where.workers > found:
        raise SettingError(
            f"{where.workers} workers have no work for all where {found} trials are drawn at once; give --together "
            f"{where.workers}, or fewer workers."
        )
    return found


def _refuse_other_files(folder: Path) -> None:
    """Refuse a folder with a model of someone else's: `best` and `trial-N` are overwritten and removed."""
    others = [folder / name for name in ("config.json", "training.json", "best")]
    if not (folder / "study.db").is_file() and any(path.exists() for path in (*others, *folder.glob("trial-*"))):
        raise InputError(f"'{folder}' holds something else already; name another folder.")


def _result(search: Search, minimised: str) -> Tuned:
    """Read what the search gave."""
    found = search.finished
    if search.best is None:
        why = found[-1].user_attrs["diverged"]  # pruning starts when some are complete
        raise ModelError(f"none of {len(found)} trials gave a model: {why}")
    place = search.folder / "best"
    return Tuned(place, read_receipt(place), minimised, tuple(_tried_recipe(one) for one in found))


def _tried_recipe(trial: FrozenTrial) -> TriedRecipe:
    state = "diverged" if "diverged" in trial.user_attrs else trial.state.name.lower()
    return TriedRecipe(trial.number, state, trial.value, trial.params, NamedValues(trial.user_attrs.get("figures", {})))
