"""Attention of vision transformers, as a trace: one pass with step-by-step attention, and which patch a token is.

Tokens are those of a Hugging Face model whose every layer attends from all tokens to all tokens (ViT, DeiT, DINOv2,
...): some special ones first, then the patches of a grid, row by row. Anything else (windows, convolutions) is refused.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from whylight.core.errors import IncompatibleError
from whylight.models import heads, readings, tracing
from whylight.models.unchanged import unchanged
from whylight.views.classifier import Request
from whylight.views.layers import Recorded
from whylight.views.patches import Patches
from whylight.views.pixels import PixelWindow
from whylight.views.trace import Deeper, LazyTraceView

if TYPE_CHECKING:
    from whylight.models.images import ImageClassifier

SQUARE = 2
"""Sides of a patch, where they differ."""


def vision_config(model: Any) -> Any:  # noqa: ANN401  any network, and its settings if it has some
    """Return the settings of what reads pictures, which may be half of a model of pictures and texts."""
    config = getattr(model, "config", None)
    return getattr(config, "vision_config", config)


def image_trace(
    classifier: "ImageClassifier", window: PixelWindow, request: Request, *, share: float = 1.0
) -> LazyTraceView:
    """Look at the attention that a model pays to the patches of a picture.

    Args:
        classifier: The classifier.
        window: The picture.
        request: What is asked.
        share: How much of the picture is left over the mean colour.
    """
    frame = window.mean + share * (window.frame - window.mean)

    @cache
    def passed() -> Any:  # noqa: ANN401  a transformers output
        request.meter.forward += 1
        return _run(classifier, torch.as_tensor(frame, device=classifier.device)[None])

    def gradients(layers: slice) -> tuple[Tensor, ...]:
        request.meter.backward += len(request.targets)
        with torch.enable_grad():
            scores = heads.wanted_scores(passed().logits, classifier.labels.head, request)[0]
            return tuple(tracing.last_layer_gradient(layer, scores) for layer in passed().attentions[layers])

    def recorded() -> Recorded:
        request.meter.forward += readings.PASSES
        inputs = torch.as_tensor(frame, device=classifier.device)[None]
        return readings.record_row(
            classifier.model,
            lambda: classifier.logits(inputs),
            columns=request.columns,
            head=classifier.labels.head,
        )

    return LazyTraceView(
        lambda: (tuple(layer[0].detach() for layer in passed().attentions), tracing.pooled_rows(passed())),
        attention_gradient=lambda: gradients(slice(-1, None))[0],
        positions=_patches(window, lambda: int(passed().attentions[-1].shape[-1]), classifier.model),
        recorded=recorded,
        deeper=Deeper(
            lambda: gradients(slice(None)), lambda part: image_trace(classifier, window, request, share=part)
        ),
    )


def _run(classifier: "ImageClassifier", frames: Tensor) -> Any:  # noqa: ANN401  a transformers output
    """Run a picture such that attention is handed out, and that logits can be differentiated by it."""
    model = classifier.model
    if not isinstance(model, PreTrainedModel):
        raise IncompatibleError("attention is handed out by vision transformers of Hugging Face alone; use grad_cam.")
    with unchanged(model), torch.enable_grad(), tracing.recording(model):
        inputs = classifier.preparation.inputs(frames.requires_grad_()).to(model.dtype)
        output = model(inputs, output_attentions=True, output_hidden_states=True)
    attentions = output.get("attentions")
    tracing.check_attentions(attentions, model)
    tracing.check_rows(attentions, model, size=attentions[-1].shape[-1])
    return output


def _patches(window: PixelWindow, tokens: Callable[[], int], model: Any) -> Patches:  # noqa: ANN401
    """Return which token lies where; how many there are is known after a pass."""
    height, width = window.labels.shape
    rows, columns = _grid(height, width, model)
    special = tokens() - rows * columns
    if special < 0 or rows * columns < SQUARE:
        raise IncompatibleError(
            f"the {tokens()} tokens of '{type(model).__name__}' are no {rows} x {columns} patches; use grad_cam."
        )
    feature = torch.arange(-special, rows * columns).clamp(min=-1)
    return Patches(feature, rows * columns, rows=rows, columns=columns, labels=window.labels)


def _grid(height: int, width: int, model: Any) -> tuple[int, int]:  # noqa: ANN401
    """Return how many patches a picture has from top to bottom and from left to right."""
    size = getattr(vision_config(model), "patch_size", None)
    if size is None:
        raise IncompatibleError(f"'{type(model).__name__}' does not cut pictures into patches; use grad_cam.")
    down, across = size if isinstance(size, list | tuple) else (size, size)
    return height // int(down), width // int(across)
