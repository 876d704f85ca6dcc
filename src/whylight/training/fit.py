"""Fitting a network that explains a classifier: `wl.fit` and `whylight fit`.

Checkpoints are written after every epoch into `OUT/checkpoints`; the same call resumes from the last of them and ends
where an uninterrupted one does. The result is a folder of safetensors, with the identity of the classifier in its
configuration, `training.json` (what was asked, what came of it) and `curves.svg`. After Ctrl-C the best epoch so far
stands there, marked as interrupted, and the checkpoints stay.

With `trials` the weights of the loss are searched first (`fit_search.py`), and the network is fitted anew with the
best. Several metrics share one search; each has a fit with the weights that are best for it, in `OUT/METRIC`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from whylight.core.errors import InputError, SettingError
from whylight.core.identity import Identity
from whylight.core.inputs import JsonValue
from whylight.core.registry import METHODS
from whylight.data.dataset import Dataset, named
from whylight.explaining.removing import chosen_removal
from whylight.explaining.variants import each_name
from whylight.models.attributor import TokenAttributor
from whylight.models.contents import model_contents
from whylight.models.fitting import new_attributor, token_network
from whylight.models.load import load
from whylight.models.quiet import quiet
from whylight.training.base import arguments
from whylight.training.fitting import AttributionTrainer, FitItem, FitRecipe, FitTexts, fit_recipe, with_weights
from whylight.training.folder import CHECKPOINTS, claimed_by_one, interruptible, last_checkpoint, mark_started
from whylight.training.progress import ProgressBar
from whylight.training.result import Trained, finish_best, finished
from whylight.training.train import require_libraries
from whylight.views.attributed import Measure, measure_named
from whylight.views.classifier import Classifier

OWN_START = (
    "no --encoder was named: the network starts from the model's own encoder, as the published code does; the paper "
    "starts from the pretrained one"
)


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A fit of networks to a classifier by some texts.

    Attributes:
        classifier: What is explained; it stays as it is.
        data: Texts to learn from.
        dev: Texts to choose a checkpoint, and weights, by.
        recipe: The numbers.
        encoder: What the network starts from; None for the classifier's own encoder.
        remover: What "removed" means to the metrics.
        progress: Whether a progress bar is shown.
        asked_before: What the classifier said of texts, by their contents; trials and metrics share it.
    """

    classifier: Classifier
    data: Dataset
    dev: Dataset
    recipe: FitRecipe
    encoder: str | Path | None
    remover: str | None
    progress: bool
    asked_before: dict[str, list[FitItem]] = field(default_factory=dict)

    @property
    def texts(self) -> FitTexts:
        """Makes items and views of texts."""
        return FitTexts(self.classifier, chosen_removal(self.classifier, self.remover))

    def items(self, data: Dataset, network: TokenAttributor) -> list[FitItem]:
        """Return texts as a network of this fit reads them; the classifier is asked about them once."""
        key = data.fingerprint()
        if key not in self.asked_before:
            self.asked_before[key] = self.texts.items(data, network)
        # copies: what one trial asks about parts of a text must not show in the digits of the next
        return [replace(one, cache=dict(one.cache)) for one in self.asked_before[key]]

    def network(self, recipe: FitRecipe, metric: str) -> TokenAttributor:
        """Make the network that a fit starts from."""
        return new_attributor(self.classifier, self.encoder, mask=recipe.mask, metric=metric, seed=recipe.seed)

    def identity(self, network: TokenAttributor, settings: Mapping[str, JsonValue]) -> Identity:
        """Say whose results a fit gives."""
        start = model_contents(network.network, network.tokenizer)
        own = {f"model's {name}": value for name, value in (self.classifier.contents() or {}).items()}
        return Identity(
            contents={
                **own,
                "network": start["weights"],
                "network's tokenizer": start["tokenizer"],
                "training data": self.data.fingerprint(),
                "validation data": self.dev.fingerprint(),
            },
            settings={**settings, "method": "aml", "remover": self.texts.removal.name},
            names={
                "model": self.classifier.identity,
                "encoder": None if self.encoder is None else str(self.encoder),
                "data": self.data.described(),
                "dev": self.dev.described(),
            },
        )


def fit(  # noqa: PLR0913  the public call: every argument but four is optional and named
    method: str,
    model: Classifier | str | Path | None,
    data: Dataset,
    dev: Dataset,
    *,
    out: Path | str,
    metrics: str | Sequence[str] = ("comprehensiveness",),
    trials: int = 30,
    encoder: str | Path | None = None,
    remover: str | None = None,
    progress: bool = True,
    **settings: object,
) -> dict[str, Trained]:
    """Fit a network that explains a classifier, or resume one that was stopped.

    Args:
        method: `aml`.
        model: What is explained: what `wl.load` returned, a folder or hub id, or None for the bundled model.
        data: Texts to learn from; their labels are not looked at.
        dev: Texts to choose checkpoints and weights by.
        out: Folder for the network; with several metrics, for one folder each.
        metrics: Metrics of faithfulness that networks are to be good at.
        trials: Trials of the search for the weights of the loss; 0 takes those of the settings.
        encoder: Folder or hub id of the pretrained encoder that the network starts from; None for the model's own.
        remover: What "removed" means to the metrics; by default what suits the model.
        progress: Show a progress bar.
        **settings: Numbers of `FitRecipe`, e.g. `epochs=3`, and settings of the loss, e.g. `merge="mean"`.

    Returns:
        Folder and receipt for each metric.

    Example:
        >>> import whylight as wl
        >>> data, dev = wl.dataset("planted:", split="train"), wl.dataset("planted:", split="dev")
        >>> wl.fit("aml", wl.load(), data, dev, trials=0, epochs=3, out="fitted")  # doctest: +SKIP
    """
    folder = Path(out)
    recipe, measures = check_fit(method, each_name(metrics), settings)
    if trials < 0:
        raise SettingError(f"a search takes 0 trials or more, not {trials}.")
    require_libraries()
    check_texts(data, dev)
    classifier = load(model) if isinstance(model, str | Path | None) else model
    token_network(classifier)
    asked = Fit(classifier, data, dev, recipe, encoder, remover, progress)
    recipes = dict.fromkeys(measures, recipe)
    if trials:
        from whylight.training.fit_search import search_weights  # noqa: PLC0415  needs Optuna, which may not be there

        found = search_weights(asked, measures, trials=trials, out=folder)
        recipes = {name: with_weights(recipe, weights) for name, weights in found.items()}
    places = {name: folder if len(measures) == 1 else folder / name for name in measures}
    return {name: fit_one(asked, recipes[name], name, measure, places[name]) for name, measure in measures.items()}


def fit_one(asked: Fit, recipe: FitRecipe, metric: str, measure: Measure, folder: Path) -> Trained:
    """Fit one network for one metric."""
    network = asked.network(recipe, metric)
    identity = asked.identity(network, {**recipe.asked, "metric": metric})
    done = finished(folder, identity)
    if done is not None:
        return done
    checkpoints = folder / CHECKPOINTS
    notes = [OWN_START] if asked.encoder is None else []
    receipt: dict[str, Any] = {"training": identity.name, "asked": identity.asked, "unmet": False, "notes": notes}
    receipt["explains"] = dict(network.network.config.explains)
    with claimed_by_one(checkpoints), quiet(), interruptible(folder):
        mark_started(folder, identity)
        trainer = make_trainer(asked, recipe, network, {metric: measure}, checkpoints)
        try:
            trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
        except KeyboardInterrupt:
            if _best_so_far(trainer, network):
                _finish(trainer, network, folder, receipt, done=False)
            raise
        return _finish(trainer, network, folder, receipt, done=True)


def make_trainer(
    asked: Fit, recipe: FitRecipe, network: TokenAttributor, measures: Mapping[str, Measure], checkpoints: Path | None
) -> AttributionTrainer:
    """Make the trainer of a network; without a place for checkpoints, none are written."""
    items = [asked.items(one, network) for one in (asked.data, asked.dev)]
    if recipe.mask.published:
        for parameter in network.network.embedding_parameters():
            parameter.requires_grad_(False)  # noqa: FBT003  torch's own signature
    shown = asked.progress and checkpoints is not None
    return AttributionTrainer(
        network,
        asked.texts,
        measures,
        batch_size=recipe.batch_size,
        args=arguments(
            recipe,
            checkpoints,
            items=len(items[0]),
            micro_batch=recipe.micro_batch,
            weight_decay=0.01,
            max_grad_norm=0.0,  # gradients are not clipped
        ),
        train_dataset=items[0],
        eval_dataset=items[1],
        callbacks=[ProgressBar(tuple(measures))] if shown else [],
    )


def _best_so_far(trainer: AttributionTrainer, network: TokenAttributor) -> bool:
    """Put the weights of the best checkpoint into the network; say whether there is one."""
    best = trainer.state.best_model_checkpoint
    weights = None if best is None else Path(best) / "model.safetensors"
    if weights is None or not weights.is_file():
        return False
    network.network.load_state_dict(load_file(weights))
    return True


def _finish(
    trainer: AttributionTrainer, network: TokenAttributor, folder: Path, receipt: dict[str, Any], *, done: bool
) -> Trained:
    """Write the best epoch as a folder; one that was interrupted says so in its configuration too."""
    stopped = ""
    if not done:
        validated = [one for one in trainer.state.log_history if "eval_selection" in one]
        stopped = f"interrupted after {validated[-1]['epoch']:g} of {trainer.args.num_train_epochs:g} epochs"
    network.network.config.interrupted = stopped
    return finish_best(trainer, network.network, network.tokenizer, folder, receipt, stopped=stopped)


def check_fit(
    method: str, metrics: Sequence[str], settings: Mapping[str, object]
) -> tuple[FitRecipe, dict[str, Measure]]:
    """Refuse names and numbers that make no fit, before anything is read; return what they stand for."""
    if not METHODS[method].facts["given"]:
        fitted = ", ".join(name for name in METHODS.names() if METHODS[name].facts["given"])
        raise SettingError(f"'{method}' is not fitted to a model before it explains; fitted methods: {fitted}.")
    measures = {name: measure_named(name) for name in dict.fromkeys(metrics)}
    if not measures:
        raise SettingError("name at least one metric to fit for, e.g. comprehensiveness.")
    return fit_recipe(settings), measures


def check_texts(data: Dataset, dev: Dataset) -> None:
    """Refuse texts that nothing can be fitted by."""
    for one in (data, dev):
        if not isinstance(one, Dataset):
            raise InputError(f"training and validation texts are what wl.dataset returns, not {type(one).__name__}.")
        one.require_texts("a fit")
        if not len(one):
            raise InputError(f"'{one.name}' ({one.split}) has no text to fit by.")
    if shared := data.shared_with(dev):
        raise InputError(
            f"{len(shared)} training texts are in the validation data too: {named(shared)}; leave them out with "
            "--drop-duplicates, in Python data.without(dev)."
        )
