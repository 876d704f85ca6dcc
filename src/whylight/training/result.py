"""What a training gives: a folder with the model, its receipt and its curves."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whylight.core import showing
from whylight.core.errors import InputError, UnmetError
from whylight.core.identity import RECEIPT, Identity
from whylight.models.prepare import Prepared
from whylight.store import files
from whylight.training import processes
from whylight.training.base import TermTrainer
from whylight.training.curves import draw_curves
from whylight.training.figures import NamedValues
from whylight.training.folder import CHECKPOINTS, is_started, move_in, saving, write_text
from whylight.training.recipe import Recipe
from whylight.training.trainer import MARGIN, UNMET, ReasonTrainer

SLACK = 1.5
"""A proposed bound is this many times the lowest training loss (Ferreira et al.)."""


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training gave.

    Attributes:
        folder: The model's folder.
        receipt: What `training.json` holds.
    """

    folder: Path
    receipt: dict[str, Any]

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save


def finished(folder: Path, identity: Identity) -> Trained | None:
    """Return the result of an earlier call of the same training; a folder with something else in it is refused."""
    with files.said(folder):
        if (folder / RECEIPT).is_file():
            known = read_receipt(folder)
            if known.get("training") != identity.name:
                raise identity.refusal(folder, known.get("asked", {}), kind="training")
            if known.get("interrupted"):
                return None
            if processes.is_first():  # a kill may have come before they were removed
                shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
            if known["unmet"]:
                raise UnmetError(_unmet_sentence(known, folder))
            return _trained(folder, known)
        # a kill may come between the model and its receipt; the training goes on then, and ends at the same model
        if (folder / "config.json").is_file() and not is_started(folder):
            raise InputError(f"'{folder}' holds a model already; name another folder.")
    return None


def _trained(folder: Path, known: dict[str, Any]) -> Trained:
    return Trained(folder, known | {"validation": NamedValues(known.get("validation", {}))})


def read_trained(folder: Path) -> Trained:
    """Return what an earlier training gave."""
    return _trained(folder, read_receipt(folder))


def read_receipt(folder: Path) -> dict[str, Any]:
    """Read what a training wrote down."""
    path = folder / RECEIPT
    with files.said(path, doing="read"):
        content = path.read_bytes()
    try:
        receipt = json.loads(content)
    except ValueError:
        receipt = None
    if not isinstance(receipt, dict):
        raise InputError(f"'{path}' is damaged or not of a training; name another folder.")
    return receipt


def finish(trainer: ReasonTrainer, prepared: Prepared, folder: Path, receipt: dict[str, Any]) -> Trained:
    """Write the best checkpoint as a model, with its figures."""
    history = _history(trainer)
    best = min((one for one in history if "eval_selection" in one), key=lambda one: one["eval_selection"])
    unmet = trainer.recipe.combine == "constrained" and best["eval_selection"] >= UNMET
    receipt |= {
        "unmet": unmet,
        "epochs_run": trainer.state.epoch,
        "best_epoch": best["epoch"],
        "validation": NamedValues(
            {n.removeprefix("eval_"): value for n, value in best.items() if n.startswith("eval_")}
        ),
        "bounds": _bounds(trainer.recipe, history),
        "history": history,
    }
    model = prepared.model
    if model.config.problem_type == "multi_label_classification":
        _, logits, gold = trainer.validated()
        receipt["threshold"] = model.config.decision_threshold = trainer.figures(logits, gold).threshold
    if processes.is_first():
        place = folder / "unmet" if unmet else folder
        write_result(prepared.model, prepared.tokenizer, folder, receipt, place=place)
    trainer.accelerator.wait_for_everyone()
    if unmet:
        raise UnmetError(_unmet_sentence(receipt, folder))
    return Trained(folder, receipt)


def finish_best(
    trainer: TermTrainer,
    model: Any,  # noqa: ANN401  transformers' own types
    tokenizer: Any,  # noqa: ANN401
    folder: Path,
    receipt: dict[str, Any],
    *,
    stopped: str = "",
) -> Trained:
    """Write the best epoch as a folder, with its figures.

    Args:
        trainer: Its trainer, which chose the epoch.
        model: The model, with the weights of that epoch.
        tokenizer: Its tokenizer.
        folder: Where to write it.
        receipt: What is known of it before, which is added to.
        stopped: Where it was interrupted, if it was; its checkpoints stay then.
    """
    history = _history(trainer)
    best = min((one for one in history if "eval_selection" in one), key=lambda one: one["eval_selection"])
    receipt |= {
        "interrupted": stopped,
        "epochs_run": trainer.state.epoch,
        "best_epoch": best["epoch"],
        "validation": {n.removeprefix("eval_"): value for n, value in best.items() if n.startswith("eval_")},
        "history": history,
    }
    if processes.is_first():
        write_result(model, tokenizer, folder, receipt, place=folder, done=not stopped)
    trainer.accelerator.wait_for_everyone()
    return Trained(folder, receipt)


def write_result(
    model: Any,  # noqa: ANN401  transformers' own types
    tokenizer: Any,  # noqa: ANN401
    folder: Path,
    receipt: dict[str, Any],
    *,
    place: Path,
    done: bool = True,
) -> None:
    """Write model, curves and receipt, each complete before it stands in its place; then checkpoints may go.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        folder: Folder of the training.
        receipt: What there is to know of it.
        place: Folder of the model.
        done: Whether the training is over; else its checkpoints stay, so that it can go on.
    """
    new = folder / CHECKPOINTS / "new"  # what a kill leaves of it goes with the checkpoints
    with saving(folder):
        shutil.rmtree(new, ignore_errors=True)
        model.save_pretrained(new)
        tokenizer.save_pretrained(new)
        move_in(new, place)
        write_text(folder / "curves.svg", draw_curves(receipt["history"]))
        write_text(folder / RECEIPT, json.dumps(receipt, indent=1) + "\n")
        if done:
            shutil.rmtree(folder / CHECKPOINTS)


def _history(trainer: TermTrainer) -> list[dict[str, float]]:
    """Return what was logged, without transformers' last line: of a resumed training it tells of the rest alone."""
    return [one for one in trainer.state.log_history if "train_runtime" not in one]


def _bounds(recipe: Recipe, history: list[dict[str, float]]) -> dict[str, float] | None:
    """Propose bounds from the lowest values that the guiding terms reached."""
    terms = [(term.name, term.weight) for term in recipe.guiding]
    seen = [sum(weight * one[name] for name, weight in terms) for one in history if terms and terms[0][0] in one]
    validated = [one["eval_rest"] for one in history if "eval_rest" in one]
    return {"train": SLACK * min(seen), "validation": min(validated)} if seen and validated else None


def _unmet_sentence(receipt: dict[str, Any], folder: Path) -> str:
    reached, asked = receipt["validation"]["rest"], receipt["asked"]
    multipliers = [one["multiplier"] for one in receipt["history"] if "multiplier" in one]
    # The multiplier listens to training texts alone: once they keep their bound, nothing guides any more.
    hint = (
        f" Training texts kept theirs ({asked['bound_train']:g}), so that nothing guided at the end: lower it."
        if multipliers and multipliers[-1] == 0
        else ""
    )
    return (
        f"no epoch kept the bound: {reached:.4g} on the validation texts, and {MARGIN} x "
        f"{asked['bound_validation']:g} was asked; the closest model is in '{folder / 'unmet'}'.{hint}"
    )
