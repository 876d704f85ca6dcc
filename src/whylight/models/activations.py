"""Which layer of a network on pictures is looked at: found by what it computes, not by its name.

A layer will do if it gives out maps (or tokens that lie in a square) of more than one point, and if the answer depends
on more than one of these points. The last such one in the order of computing is taken: of a convolutional network the
maps before they are averaged, of a vision transformer what enters the last attention, behind which a class token alone
is read.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from whylight.core.errors import IncompatibleError
from whylight.views.activations import square_of

MAPS, TOKENS = 4, 3
"""Dimensions of what a layer gives out."""
Given = list[tuple[str, Tensor]]


def last_maps(model: nn.Module, scores: Callable[[], Tensor]) -> tuple[str, Tensor, Tensor]:
    """Return the layer, its maps `[channels, rows, columns]`, and the gradients of each target by them.

    Args:
        model: The network.
        scores: Runs it on one picture, whose input needs a gradient; gives the scores `[targets]`.
    """
    with torch.enable_grad(), _recorded(model) as given:
        found = scores()
    for name, output in reversed(given):
        if not output.requires_grad:
            continue
        rows = [torch.autograd.grad(one, output, retain_graph=True, allow_unused=True)[0] for one in found]
        if any(one is None for one in rows):
            continue
        maps, slopes = _as_maps(output), [_as_maps(one) for one in rows]
        if maps is None or any(one is None for one in slopes):
            continue
        gradients = torch.cat([one for one in slopes if one is not None])
        if bool((gradients.abs().sum(dim=(0, 1)) > 0).sum() > 1):
            return name, maps[0].detach(), gradients.detach()
    raise IncompatibleError("no layer of this model gives out maps that its answer depends on; use occlusion.")


def _as_maps(output: Tensor) -> Tensor | None:
    """Return what a layer gives out as maps `[1, channels, rows, columns]`, or None."""
    if output.dim() == TOKENS:
        return square_of(output)
    return output if output.shape[2] * output.shape[3] > 1 else None


@contextmanager
def _recorded(model: nn.Module) -> Iterator[Given]:
    """Note what every layer gives out, in the order of computing."""
    given: Given = []

    def note(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:  # noqa: ANN401  whatever it gives out
            if isinstance(output, Tensor) and output.dim() in (MAPS, TOKENS) and len(output) == 1:
                given.append((name, output))

        return hook

    handles = [module.register_forward_hook(note(name)) for name, module in model.named_modules() if name]
    try:
        yield given
    finally:
        for handle in handles:
            handle.remove()
