"""Which layer of a network on pictures is looked at: found by what it computes, not by its name.

A layer will do if it gives out maps (or tokens that lie in a grid of the picture's shape, special ones first) of more
than one point, and if the answer depends on more than one of these points. Maps with channels last are known by their
shape: their sides, not their channels, are to each other as the picture's. The last layer that will do, in the order of
computing, is taken: of a convolutional network the maps before they are averaged, of a vision transformer what enters
the last attention, behind which a class token alone is read. Attention itself, from tokens to tokens, is no map.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from whylight.core.errors import IncompatibleError

MAPS, TOKENS = 4, 3
"""Dimensions of what a layer gives out."""
SPECIAL = (1, 0, 2, 5, 4)
"""How many special tokens come before those of a picture: a class, none, a class and a teacher, with registers."""
ATTENTION = nn.Softmax, nn.Dropout
"""Layers that give out attention, from tokens to tokens, which has the form of maps."""
Given = list[tuple[str, Tensor]]


def last_maps(
    model: nn.Module, scores: Callable[[], Tensor], *, picture: tuple[int, int]
) -> tuple[str, Tensor, Tensor]:
    """Return the layer, its maps `[channels, rows, columns]`, and the gradients of each target by them.

    Args:
        model: The network.
        scores: Runs it on one picture, whose input needs a gradient; gives the scores `[targets]`.
        picture: Its height and width.
    """
    with torch.enable_grad(), _recorded(model) as given:
        found = scores()
    for name, output in reversed(given):
        if not output.requires_grad:
            continue
        rows = [torch.autograd.grad(one, output, retain_graph=True, allow_unused=True)[0] for one in found]
        if any(one is None for one in rows):
            continue
        maps, slopes = _as_maps(output, picture), [_as_maps(one, picture) for one in rows]
        if maps is None or any(one is None for one in slopes):
            continue
        gradients = torch.cat([one for one in slopes if one is not None])
        if bool((gradients.abs().sum(dim=(0, 1)) > 0).sum() > 1):
            return name, maps[0].detach(), gradients.detach()
    raise IncompatibleError("no layer of this model gives out maps that its answer depends on; use occlusion.")


def _as_maps(output: Tensor, picture: tuple[int, int]) -> Tensor | None:
    """Return what a layer gives out as maps `[1, channels, rows, columns]`, or None."""
    if output.dim() == TOKENS:
        return _grid_of(output, picture) if output.shape[2] > 1 else None  # channels whose places were averaged
    if not _alike(output.shape[2:], picture) and _alike(output.shape[1:3], picture):
        output = output.movedim(3, 1)
    return output if output.shape[2] * output.shape[3] > 1 else None


def _grid_of(tokens: Tensor, picture: tuple[int, int]) -> Tensor | None:
    """Return tokens `[1, tokens, dims]` as maps `[1, dims, rows, columns]`; None if they are no grid."""
    sides = sorted(range(1, min(picture) + 1), key=lambda side: any(whole % side for whole in picture))
    grids = [(picture[0] // side, picture[1] // side) for side in sides]  # first those that leave nothing over
    for (rows, columns), special in product(grids, SPECIAL):
        if rows * columns > 1 and rows * columns == tokens.shape[1] - special:
            return tokens[:, special:].movedim(2, 1).reshape(len(tokens), -1, rows, columns)
    return None


def _alike(sides: Sequence[int], picture: tuple[int, int]) -> bool:
    """Say whether maps may be a picture in steps of one length, to within one step on each side."""
    lengths = [(whole / (part + 1), whole / max(part - 1, 1e-9)) for part, whole in zip(sides, picture, strict=True)]
    return max(low for low, _ in lengths) < min(high for _, high in lengths)


@contextmanager
def _recorded(model: nn.Module) -> Iterator[Given]:
    """Note what every layer gives out, in the order of computing."""
    given: Given = []

    def note(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:  # noqa: ANN401  whatever it gives out
            if isinstance(output, Tensor) and output.dim() in (MAPS, TOKENS) and len(output) == 1:
                given.append((name, output))

        return hook

    handles = [
        module.register_forward_hook(note(name))
        for name, module in model.named_modules()
        if name and not isinstance(module, ATTENTION)
    ]
    try:
        yield given
    finally:
        for handle in handles:
            handle.remove()
