"""Fitting a masked language model to texts: `wl.fit_mlm` and `whylight fit mlm`, for the remover `infill`.

    loss = mean over hidden tokens of  -log p(token | the other tokens)

Texts are cut into stretches of at most `max_tokens`. A share of the tokens is hidden, anew in each epoch: 8 of 10
become the mask token, one another token, one stays as it is. Validation hides the same tokens each time, all by the
mask token, as `infill` does; checkpoints are chosen by the loss. Only hidden positions go through the head. Labels of
the texts are not looked at. An encoder without such a head gets one, tied to its word embeddings.

Reference: Devlin et al. 2019, section 3.1; Pham et al. 2022, appendix (a BERT further trained on the texts of a task:
learning rate 5e-5, batches of 8, 15 %). Cost: one forward and backward pass per stretch and epoch.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from whylight.core.errors import InputError, SettingError, unknown
from whylight.core.identity import Identity
from whylight.data.dataset import Dataset
from whylight.models.contents import model_contents
from whylight.models.folder import quoted
from whylight.models.masked import MaskedModel, read_masked, states_at
from whylight.models.quiet import quiet
from whylight.training.base import WARM_UP, TermTrainer, arguments
from whylight.training.fit import check_texts
from whylight.training.fitting import settings_of
from whylight.training.folder import CHECKPOINTS, claimed_by_one, interruptible, last_checkpoint, mark_started
from whylight.training.hiding import Hiding, Stretch, stretches
from whylight.training.progress import ProgressBar
from whylight.training.result import Trained, finish_best, finished
from whylight.training.train import require_libraries

FRESH = "its head is new: the folder holds an encoder alone"


@dataclass(frozen=True, slots=True, kw_only=True)
class MlmRecipe:
    """One fit.

    Attributes:
        epochs: Passes over the texts.
        learning_rate: At its highest; it rises for a tenth of the steps, and falls to 0.
        batch_size: Stretches in an update.
        hidden_share: Share of the tokens that are hidden.
        max_tokens: Tokens of a stretch.
        precision: Of the products inside the network; weights are float32 in any case. `bfloat16` takes half the time
            on processors that have instructions for it, and is slower on others.
        seed: Of everything random.
    """

    epochs: int = 3
    learning_rate: float = 5e-5
    batch_size: int = 8
    hidden_share: float = 0.15
    max_tokens: int = 128
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 0


NUMBERS = settings_of(MlmRecipe)
"""The numbers of a fit, by name."""


def mlm_recipe(given: Mapping[str, object]) -> MlmRecipe:
    """Make a recipe of numbers by name; a name that does not exist is refused with those that do."""
    for name in given:
        if name not in NUMBERS:
            raise unknown("setting of a fit", name, NUMBERS)
    values: dict[str, Any] = {name: NUMBERS[name].parse(value) for name, value in given.items()}
    recipe = MlmRecipe(**values)
    for name in ("epochs", "learning_rate", "batch_size", "hidden_share"):
        if getattr(recipe, name) <= 0:
            raise SettingError(f"the setting '{name}' must be above 0, not {getattr(recipe, name)}.")
    if recipe.hidden_share >= 1:
        raise SettingError(f"the setting 'hidden_share' must be below 1, not {recipe.hidden_share}.")
    return recipe


class MlmTrainer(TermTrainer):
    """Fits a masked language model.

    Args:
        **options: Those of `TermTrainer`; `data_collator` is a `Hiding`.
    """

    def compute_loss(
        self,
        model: Any,  # noqa: ANN401
        inputs: dict[str, Tensor],
        return_outputs: bool = False,  # noqa: FBT001, FBT002, ARG002  the library's own signature
        num_items_in_batch: Any = None,  # noqa: ANN401, ARG002
    ) -> Tensor:
        """Compute the loss of the hidden tokens of a batch."""
        loss = cross_entropy(hidden_logits(model, inputs), inputs["wanted"])
        values = {"masked_loss": float(loss.detach())}
        self.check_finite(loss, values)
        self.count(values)
        return loss

    def evaluate(self, eval_dataset: Any = None, ignore_keys: Any = None, metric_key_prefix: str = "eval") -> Any:  # noqa: ANN401, ARG002
        """Validate: how likely, and how often likeliest, the hidden tokens are."""
        started, hide = time.monotonic(), self.data_collator
        if not isinstance(hide, Hiding):
            raise TypeError("a masked language model is fitted with a `Hiding`")
        model: Any = self.model
        model.eval()
        items = list(eval_dataset or self.eval_dataset)
        size = self.args.per_device_eval_batch_size
        losses, right, count = 0.0, 0, 0
        for start in range(0, len(items), size):
            own = hide(items[start : start + size], torch.Generator().manual_seed(start))
            inputs = {name: value.to(model.device) for name, value in own.items()}
            with torch.no_grad():
                logits = hidden_logits(model, inputs)
            losses += float(cross_entropy(logits, inputs["wanted"], reduction="sum"))
            right += int((logits.argmax(-1) == inputs["wanted"]).sum())
            count += len(inputs["wanted"])
        values = {"masked_loss": losses / count, "masked_accuracy": right / count, "hidden_tokens": count}
        values |= {"selection": losses / count, "seconds": time.monotonic() - started}
        return self.publish(values, metric_key_prefix)


def hidden_logits(model: Any, inputs: Mapping[str, Tensor]) -> Tensor:  # noqa: ANN401
    """Return the logits of the hidden tokens, `[hidden, vocabulary]`."""
    with states_at(model, (inputs["rows"], inputs["at"])):
        logits: Tensor = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
    return logits[0]


def fit_mlm(
    model: str | Path,
    data: Dataset,
    dev: Dataset,
    *,
    out: Path | str,
    progress: bool = True,
    **settings: object,
) -> Trained:
    """Fit a masked language model to texts, or resume one that was stopped.

    Args:
        model: Folder or hub id of a masked language model, or of an encoder.
        data: Texts to learn from; their labels are not looked at.
        dev: Texts to choose a checkpoint by.
        out: Folder for the model.
        progress: Show a progress bar.
        **settings: Numbers of `MlmRecipe`, e.g. `epochs=3`.

    Returns:
        Folder and receipt.

    Example:
        >>> import whylight as wl
        >>> data, dev = wl.dataset("reviews.jsonl"), wl.dataset("more.jsonl")  # doctest: +SKIP
        >>> wl.fit_mlm("pretrained", data, dev, out="my-mlm")  # doctest: +SKIP
    """
    recipe, folder = mlm_recipe(settings), Path(out)
    require_libraries()
    check_texts(data, dev)
    start = read_masked(str(model), fresh=True, seed=recipe.seed)
    identity = Identity(
        contents={
            **model_contents(start.model, start.tokenizer),
            "training data": data.fingerprint(),
            "validation data": dev.fingerprint(),
        },
        settings={**asdict(recipe), "method": "mlm"},
        names={"model": str(model), "data": data.described(), "dev": dev.described()},
    )
    done = finished(folder, identity)
    if done is not None:
        return done
    items = [_stretches(one, start, limit=min(recipe.max_tokens, start.limit)) for one in (data, dev)]
    checkpoints = folder / CHECKPOINTS
    notes = [FRESH] if start.fresh else []
    receipt: dict[str, Any] = {"training": identity.name, "asked": identity.asked, "unmet": False, "notes": notes}
    with claimed_by_one(checkpoints), quiet(), interruptible(folder):
        mark_started(folder, identity)
        trainer = _mlm_trainer(start, items, recipe, checkpoints, progress=progress)
        trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
        return finish_best(trainer, start.model, start.tokenizer, folder, receipt)


def _stretches(data: Dataset, start: MaskedModel, *, limit: int) -> list[Stretch]:
    """Cut texts into stretches, of which there must be some."""
    around = start.tokenizer.num_special_tokens_to_add(pair=False)
    if limit <= around:
        raise SettingError(
            f"the setting 'max_tokens' must be at least {around + 1}, not {limit}: {around} tokens stand around a text."
        )
    items = stretches(data, start.tokenizer, limit=limit)
    if not items:
        raise InputError(f"the tokenizer of {quoted(start.name)} leaves nothing of '{data.name}' ({data.split}).")
    return items


def _mlm_trainer(
    start: MaskedModel, items: Sequence[list[Stretch]], recipe: MlmRecipe, checkpoints: Path, *, progress: bool
) -> MlmTrainer:
    tokenizer = start.tokenizer
    return MlmTrainer(
        model=start.model,
        batch_size=recipe.batch_size,
        args=arguments(
            recipe,
            checkpoints,
            items=len(items[0]),
            warmup_steps=WARM_UP,
            weight_decay=0.01,
            bf16=recipe.precision == "bfloat16",
        ),
        train_dataset=items[0],
        eval_dataset=items[1],
        data_collator=Hiding(
            int(tokenizer.mask_token_id), tokenizer.pad_token_id or 0, len(tokenizer), recipe.hidden_share
        ),
        callbacks=[ProgressBar(("masked_accuracy",))] if progress else [],
    )
