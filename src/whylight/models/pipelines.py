"""Pipelines of Hugging Face as classifiers: the model and the tokenizer inside one, read as the pipeline reads them.

Only the pipeline for text classification gives labels to texts. One that is of a class of the user's own may do
anything to its inputs and answers, so that what is inside would not be what the user sees; it is refused, and so are
options of the tokenizer that would change its tokens.
"""

import sys
from dataclasses import dataclass
from typing import Any

from whylight.core.errors import ModelError
from whylight.core.labels import Head
from whylight.models.promises import model_limit

HARMLESS = ("truncation", "max_length", "padding", "return_token_type_ids", "return_attention_mask")
"""Options of the tokenizer that leave the tokens of a text that is read whole as they are."""
INSTEAD = "or give a function from texts to probabilities: wl.load(function, labels=[...])"


@dataclass(frozen=True, slots=True, eq=False)
class Unpacked:
    """What is in a pipeline.

    Attributes:
        model: The model.
        tokenizer: Its tokenizer.
        head: How the pipeline turns logits into scores, where the user said so; None where the model says it.
        max_tokens: Tokens that it reads, where the user said so.
    """

    model: Any
    tokenizer: Any
    head: Head | None
    max_tokens: int | None


def is_pipeline(model: object) -> bool:
    """Say whether an object is a pipeline of transformers; whoever has one has imported it."""
    library = sys.modules.get("transformers.pipelines")
    return library is not None and isinstance(model, library.Pipeline)


def unpack(pipeline: Any, tokenizer: Any) -> Unpacked:  # noqa: ANN401  transformers' own
    """Return what is in a pipeline for text classification; another one is refused with what would work.

    Args:
        pipeline: The pipeline.
        tokenizer: What the user gives beside it; there must be none.
    """
    _check_kind(pipeline)
    if tokenizer is not None:
        raise ModelError("a pipeline has a tokenizer of its own; leave out the other.")
    options = pipeline._preprocess_params  # noqa: SLF001  their only name
    strange = [name for name in options if name not in HARMLESS]
    if strange:
        raise ModelError(
            f"the pipeline hands '{strange[0]}' to its tokenizer, which may change tokens; make it without, {INSTEAD}."
        )
    longest = options.get("max_length")
    limit = None if longest is None else min(longest, model_limit(pipeline.model, pipeline.tokenizer))
    return Unpacked(pipeline.model, pipeline.tokenizer, _head_of(pipeline), limit)


def _check_kind(pipeline: Any) -> None:  # noqa: ANN401
    library, kind = sys.modules["transformers.pipelines"], type(pipeline)
    if kind is library.TextClassificationPipeline:
        if pipeline.tokenizer is None:
            raise ModelError("the pipeline has no tokenizer; load what is inside: wl.load(model, tokenizer).")
        return
    if isinstance(pipeline, library.TextClassificationPipeline):
        raise ModelError(
            f"the pipeline '{kind.__name__}' is of a class of its own, which may change inputs and answers; load what "
            f"is inside, wl.load(pipeline.model, pipeline.tokenizer), {INSTEAD}."
        )
    if isinstance(pipeline, library.ZeroShotClassificationPipeline):
        raise ModelError(
            "a zero-shot-classification pipeline asks its model about each label as a pair of texts; load what is "
            "inside, wl.load(pipeline.model, pipeline.tokenizer), and explain pairs of a text and a hypothesis."
        )
    own = pipeline.task or kind.__name__
    raise ModelError(f"a pipeline for {own} gives no label to a text; make one for text-classification, {INSTEAD}.")


def _head_of(pipeline: Any) -> Head | None:  # noqa: ANN401
    """Return the head that the user's own choice of a function stands for, if there is one."""
    asked = pipeline._postprocess_params.get("function_to_apply")  # noqa: SLF001  as above
    name = str(getattr(asked, "value", asked)).lower()
    if name == "softmax":
        return "softmax"
    if name == "sigmoid":
        return "binary" if pipeline.model.config.num_labels == 1 else "sigmoid"
    return None
