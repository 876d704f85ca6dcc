"""Training a classifier: `wl.train` and `whylight train`.

Checkpoints are written after every epoch into `OUT/checkpoints`; the same call resumes from the last of them and ends
where an uninterrupted one does. The result is an ordinary Hugging Face folder with `training.json` (what was asked,
what came of it) and `curves.svg` beside it; files are moved into place when all of them are complete.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from torch.utils.data import DataLoader
from transformers import TrainerCallback, TrainingArguments

from whylight.core.errors import InputError, ModelError, SettingError
from whylight.core.identity import Identity
from whylight.core.inputs import JsonValue, Settings
from whylight.data.dataset import Dataset, named
from whylight.data.descriptions import Descriptions, check_descriptions
from whylight.explaining.options import choice
from whylight.models.bundled_start import start_notes
from whylight.models.contents import model_contents
from whylight.models.folder import DESCRIPTIONS
from whylight.models.prepare import Architecture, Prepared, describe_labels, outputs_for, prepare
from whylight.models.quiet import quiet
from whylight.models.trainable import network
from whylight.training.base import WARM_UP, arguments
from whylight.training.batches import Collator, check_labels, make_items
from whylight.training.combine import Multiplier
from whylight.training.folder import CHECKPOINTS, claimed_by_one, interruptible, last_checkpoint, mark_started
from whylight.training.masking import asks_for_beta, beta_receipt, choose_beta, with_beta
from whylight.training.progress import ProgressBar
from whylight.training.recipe import Recipe, check_recipe, recipe as build
from whylight.training.result import Trained, finish, finished
from whylight.training.stopping import Stopping
from whylight.training.trainer import ReasonTrainer, chosen_by

PATIENCE = {False: 5, True: 3}
"""Epochs without a better checkpoint, for one label a text and for several."""


def train(  # noqa: PLR0913  the public call: every argument but three is optional and named
    model: str | Path | None,
    data: Dataset,
    dev: Dataset,
    recipe: Recipe | None = None,
    *,
    out: Path | str,
    objectives: str | Sequence[str] = (),
    architecture: Architecture = "auto",
    label_descriptions: Descriptions | str | Path | None = None,
    disjoint: bool = True,
    progress: bool = True,
    callbacks: Sequence[TrainerCallback] = (),
    **settings: object,
) -> Trained:
    """Train a classifier, or resume one that was stopped.

    Args:
        model: Folder or hub id to start from. None is the bundled sentiment model, which was trained on SST; its head
            is kept where the labels are `negative` and `positive`. `"encoder"` is the same without its head.
        data: Texts to learn from.
        dev: Texts to choose a checkpoint by; of the same labels.
        recipe: What `wl.recipe` returned, in place of `objectives` and `settings`.
        out: Folder for the model.
        objectives: Terms of the loss, `NAME` or `NAME=WEIGHT` each.
        architecture: `plm_ca` for label attention over long documents.
        label_descriptions: What labels stand for, in words, or a .json, .csv or .tsv file that says it; pages and JSON
            show it beside the labels. By default what the data say.
        disjoint: Refuse a text that is in both; texts of which words were removed may meet by that.
        progress: Show a progress bar.
        callbacks: Told of every epoch, in this order; what they raise ends the training.
        **settings: Numbers of `Recipe`, e.g. `epochs=3`, and settings of the objectives, e.g. `epsilon=1e-3`.

    Returns:
        The folder and its receipt.

    Raises:
        UnmetError: No checkpoint of a constrained training keeps the bound; the closest is in `OUT/unmet`.

    Example:
        >>> import whylight as wl
        >>> data, dev = wl.dataset("planted:", split="train"), wl.dataset("planted:", split="dev")
        >>> wl.train(None, data, dev, objectives=["rationale_attention=1"], out="guided", epochs=3)  # doctest: +SKIP
    """
    if recipe is None:
        recipe = build(objectives=objectives, **settings)
    elif objectives or settings:
        raise SettingError(f"a recipe says all; '{next(iter(settings), 'objectives')}' belongs into it.")
    choice("architecture", architecture, get_args(Architecture))
    require_libraries()
    folder = Path(out)
    check_data(data, dev, check_recipe(recipe), disjoint=disjoint)
    data, dev = with_outputs(model, data, dev, architecture)
    recipe = _complete(recipe, data)
    described = described_labels(label_descriptions, data)
    prepared = open_start(model, data, recipe, architecture)
    describe_labels(prepared.model.config, data.label_names, described.get(DESCRIPTIONS, data.label_descriptions))
    asked = {**recipe.asked, **selection_of(recipe, data), **described, "architecture": architecture}
    identity = identity_of(model, prepared, (data, dev), asked)
    done = finished(folder, identity)
    if done is not None:
        return done
    checkpoints = folder / CHECKPOINTS
    with claimed_by_one(checkpoints), quiet(), interruptible(folder):
        mark_started(folder, identity)
        trainer = _trainer(prepared, data, dev, recipe, checkpoints, progress=progress)
        for one in callbacks:
            trainer.add_callback(one)
        receipt: dict[str, Any] = {"training": identity.name, "asked": identity.asked, "fresh_head": prepared.fresh}
        receipt |= _settled(trainer)
        notes = start_notes(model, fresh=prepared.fresh, data=tuple((one.name, one.split) for one in (data, dev)))
        receipt["notes"] = [*notes, *receipt.get("notes", [])]
        trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
        return finish(trainer, prepared, folder, receipt)


def with_outputs(
    model: str | Path | None, data: Dataset, dev: Dataset, architecture: Architecture
) -> tuple[Dataset, Dataset]:
    """Give data the labels that the trained model will have."""
    if not isinstance(model, str | Path | None) or not set(dev.label_names) <= set(data.label_names):
        return data, dev  # refused later
    names = outputs_for(model, data.label_names, architecture)
    return replace(data, label_names=names), replace(dev, label_names=names)


def open_start(model: str | Path | None, data: Dataset, recipe: Recipe, architecture: Architecture) -> Prepared:
    """Open the model that a training starts from."""
    if not isinstance(model, str | Path | None):
        raise ModelError(
            f"a training starts from a folder or hub id, not from a {type(model).__name__}: save it first, with its "
            "tokenizer, by save_pretrained."
        )
    return prepare(
        model,
        labels=data.label_names,
        multi_label=data.multi_label,
        architecture=architecture,
        eager=bool({"attention", "double_backward"} & recipe.needs),
        seed=recipe.seed,
        max_tokens=recipe.max_tokens,
    )


def described_labels(given: Descriptions | str | Path | None, data: Dataset) -> dict[str, Any]:
    """Return what the user says that labels stand for, which is part of what is asked; nothing, if that is nothing."""
    return {} if given is None else {DESCRIPTIONS: check_descriptions(given, data.label_names)}


def selection_of(recipe: Recipe, data: Dataset) -> dict[str, JsonValue]:
    """Say which number chooses the checkpoint; it is part of what is asked."""
    return {"checkpoint_chosen_by": chosen_by(recipe, multi_label=data.multi_label)}


def identity_of(
    model: str | Path | None,
    prepared: Prepared,
    data: tuple[Dataset, Dataset],
    settings: Settings,
) -> Identity:
    """Say whose results a training gives: of these first weights, these texts and these settings."""
    learnt, chosen = data
    return Identity(
        contents={
            **model_contents(prepared.model, prepared.tokenizer),
            "training data": learnt.fingerprint(),
            "validation data": chosen.fingerprint(),
        },
        settings=settings,
        names={
            "model": "bundled" if model is None else str(model),
            "data": learnt.described(),
            "dev": chosen.described(),
        },
    )


def require_libraries() -> None:
    """Say what to install, before anything is read or written, where training is not installed."""
    for name in ("accelerate", "matplotlib"):
        if find_spec(name) is None:
            raise SettingError(f"training needs {name}, which is not installed: install whylight[train].")


def _complete(recipe: Recipe, data: Dataset) -> Recipe:
    return recipe if recipe.patience is not None else replace(recipe, patience=PATIENCE[data.multi_label])


def check_data(data: Dataset, dev: Dataset, recipe: Recipe, *, disjoint: bool = True) -> None:
    """Refuse data that cannot teach what the terms ask for."""
    for one in (data, dev):
        if not isinstance(one, Dataset):
            raise InputError(f"training and validation texts are what wl.dataset returns, not {type(one).__name__}.")
        one.require_texts("a training")
    if data.label_names != dev.label_names and set(dev.label_names) - set(data.label_names):
        strange = min(set(dev.label_names) - set(data.label_names))
        raise InputError(f"the validation texts have the label '{strange}', which no training text has.")
    check_labels(data, dev)
    if disjoint and (shared := data.shared_with(dev)):
        raise InputError(
            f"{len(shared)} training texts are in the validation data too: {named(shared)}; leave them out with "
            "--drop-duplicates, in Python data.without(dev)."
        )
    if "rationale" in recipe.needs:
        names = [term.name for term in recipe.terms if "rationale" in term.spec.facts["needs"]]
        for one in (data, dev):
            if not any(record.rationales for record in one):
                raise InputError(f"'{names[0]}' needs rationales, and '{one.name}' ({one.split}) has none.")


def _trainer(
    prepared: Prepared, data: Dataset, dev: Dataset, recipe: Recipe, checkpoints: Path, *, progress: bool
) -> ReasonTrainer:
    tokenizer = prepared.tokenizer
    mask = next(
        (int(i) for i in (tokenizer.mask_token_id, tokenizer.unk_token_id, tokenizer.pad_token_id) if i is not None), 0
    )
    teacher = None
    if "teacher" in recipe.needs:
        frozen = copy.deepcopy(prepared.model).eval().requires_grad_(False)  # noqa: FBT003  torch's own signature
        teacher = network(frozen, mask_id=mask)
    encoded = [make_items(one, tokenizer, names=data.label_names, limit=prepared.limit) for one in (data, dev)]
    callbacks: list[TrainerCallback] = [Multiplier(recipe.multiplier_rate), Stopping(recipe.patience or 1)]
    return ReasonTrainer(
        recipe,
        mask_id=mask,
        teacher=teacher,
        model=prepared.model,
        args=_arguments(recipe, checkpoints, texts=len(data)),
        train_dataset=encoded[0],
        eval_dataset=encoded[1],
        data_collator=Collator(tokenizer.pad_token_id or 0, len(data.label_names), data.multi_label),
        callbacks=[*callbacks, *([ProgressBar()] if progress else [])],
    )


def _settled(trainer: ReasonTrainer) -> dict[str, Any]:
    """Choose on the validation texts what the recipe leaves open; what was tried goes into the receipt."""
    if not asks_for_beta(trainer.recipe):
        return {}
    model: Any = trainer.model
    # the same texts in every process, so that all of them choose alike
    texts = DataLoader(trainer.eval_dataset, trainer.args.per_device_eval_batch_size, collate_fn=trainer.data_collator)
    batches = map(trainer._prepare_inputs, texts)  # noqa: SLF001  the library's own hook
    beta, trials = choose_beta(network(model, mask_id=trainer.mask_id), batches, trainer.recipe)
    trainer.recipe = with_beta(trainer.recipe, beta)
    return beta_receipt(beta, trials)


def _arguments(recipe: Recipe, checkpoints: Path, *, texts: int) -> TrainingArguments:
    return arguments(
        recipe,
        checkpoints,
        items=texts,
        micro_batch=recipe.micro_batch,
        warmup_steps=WARM_UP,
        weight_decay=0.0,
        max_grad_norm=1.0,
        bf16=recipe.precision == "bfloat16",
        restore_callback_states_from_checkpoint=True,
        label_names=["labels"],
    )
