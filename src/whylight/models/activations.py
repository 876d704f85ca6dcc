"""Which layer of a network on pictures is looked at: found by what it computes, not by its name.

A layer will do if it gives out maps (or tokens that lie in a grid of the picture's shape, special ones first) of more
than one point, and if the answer depends on more than one of these points. Maps are known by their shape: their sides
are to each other as the picture's, and channels come first or last. The last layer that will do, in the order of
computing, is taken: of a convolutional network the maps before they are averaged, of a vision transformer what enters
the last attention, behind which a class token alone is read. What lies inside attention (from tokens to tokens, or
head by head) is no map: one of its sides is the number of tokens.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from whylight.core.errors import IncompatibleError

MAPS, TOKENS = 4, 3
"""Dimensions of what a layer gives out."""
SPECIAL = (1, 0, 2, 5, 4)
"""How many special tokens come before those of a picture: a class, none, a class and a teacher, with registers."""
Given = list[tuple[str, Tensor]]
Sides = tuple[int, int]
Read = Callable[[Tensor], Tensor]


def last_maps(model: nn.Module, scores: Callable[[], Tensor], *, picture: Sides) -> tuple[str, Tensor, Tensor]:
    """Return the layer, its maps `[channels, rows, columns]`, and the gradients of each target by them.

    Args:
        model: The network.
        scores: Runs it on one picture, whose input needs a gradient; gives the scores `[targets]`.
        picture: Its height and width.
    """
    with torch.enable_grad(), _recorded(model) as given:
        found = scores()
    readings = Readings([output for _, output in given], picture)
    for name, output in reversed(given):
        read = readings.of(output) if output.requires_grad else None
        if read is None:
            continue
        rows = [torch.autograd.grad(one, output, retain_graph=True, allow_unused=True)[0] for one in found]
        if any(one is None for one in rows):
            continue
        gradients = torch.cat([read(one) for one in rows])
        if bool((gradients.abs().sum(dim=(0, 1)) > 0).sum() > 1):
            return name, read(output)[0].detach(), gradients.detach()
    raise IncompatibleError("no layer of this model gives out maps that its answer depends on; use occlusion.")


class Readings:
    """How to read what layers give out as maps, told by all that a network gives out on one picture.

    Args:
        outputs: What the layers give out, of three or four dimensions.
        picture: Height and width of the picture.
    """

    def __init__(self, outputs: Sequence[Tensor], picture: Sides) -> None:
        self._picture = picture
        self._maps = [one for one in outputs if one.dim() == MAPS and _alike(one.shape[2:], picture)]
        self._grids = {one.shape[2] * one.shape[3]: (one.shape[2], one.shape[3]) for one in self._maps}
        self._channels = {one.shape[1] for one in self._maps}
        self._rows = {tuple(one.shape[1:]) for one in outputs if one.dim() == TOKENS and 1 not in one.shape[1:]}
        self._tokens = {count: found[1] for count, dims in self._rows if (found := self._as_tokens(count, dims))}

    def of(self, output: Tensor) -> Read | None:
        """Return what makes maps `[1, channels, rows, columns]` of what a layer gives out, or None."""
        return self._of_three(output) if output.dim() == TOKENS else self._of_four(output.shape)

    def _of_four(self, shape: torch.Size) -> Read | None:
        """Read maps in the order, channels first or last, in which their sides are closer to the picture's."""
        orders = {
            order: sides
            for order, sides in ((1, shape[2:]), (3, shape[1:3]))
            if _alike(sides, self._picture) and sides.numel() > 1 and not self._is_attention(shape[order], sides)
        }
        channels = min(orders, key=lambda order: _apart(orders[order], self._picture), default=None)
        return None if channels is None else lambda values: values.movedim(channels, 1)

    def _is_attention(self, channels: int, sides: torch.Size) -> bool:
        """Say whether a side is the number of tokens, or sides are heads and the numbers of each, token by token."""
        heads = channels in self._tokens and (channels, sides.numel()) in self._rows
        return heads or any(side in self._tokens for side in sides)

    def _of_three(self, output: Tensor) -> Read | None:
        """Read tokens `[1, places, dims]`, or maps of a layer before `[1, channels, places]`, flattened."""
        count, dims = output.shape[1:]
        flat = next((one.shape for one in self._maps if _is_flat(one, output)), None)
        if flat is not None and flat[2:].numel() > 1:
            return lambda values: values.reshape(flat)
        tokens = self._as_tokens(count, dims)
        if tokens is None:
            return None
        special, sides = tokens
        return lambda values: values[:, special:].movedim(2, 1).reshape(1, dims, *sides)

    def _as_tokens(self, count: int, dims: int) -> tuple[int, Sides] | None:
        """Return how many are special of so many tokens of so many dimensions, and the grid of the others.

        None, if they may be so many channels of as many places as a grid has. Where both numbers are those of a grid,
        places are what stays while channels change.
        """
        found = self._grid_of(count)
        if dims == 1 or found is None:  # of one number each are channels whose places were averaged
            return None
        if count != dims and (dims in self._channels or dims not in {**_grids(self._picture), **self._grids}):
            return found
        dimensions = {other for at, other in self._rows if at == count}
        counts = {at for at, other in self._rows if other == dims}
        places = {grid[1] if (grid := self._grid_of(at)) else at for at in counts}  # special tokens make none
        return found if len(dimensions) > len(places) else None

    def _grid_of(self, count: int) -> tuple[int, Sides] | None:
        """Return how many of so many tokens are special, and rows and columns of the others; None: they are no grid."""
        for grids in (self._grids, _grids(self._picture)):  # what a layer gave out as maps says more than a count
            for special in SPECIAL:
                if count - special in grids:
                    return special, grids[count - special]
        return None


@lru_cache(maxsize=8)
def _grids(picture: Sides) -> dict[int, Sides]:
    """Return the grids of square patches, by how many these are; networks leave out what is over, or fill it up."""
    sides = sorted(range(1, min(picture) + 1), key=lambda side: any(whole % side for whole in picture))
    found: dict[int, Sides] = {}
    for up in (0, 1):  # first those that leave out, and of them those that leave nothing over
        for side in sides:
            rows, columns = ((whole + up * (side - 1)) // side for whole in picture)
            if rows * columns > 1:
                found.setdefault(rows * columns, (rows, columns))
    return found


def _is_flat(maps: Tensor, output: Tensor) -> bool:
    """Say whether a layer gives out maps of another one, with their places in one row."""
    _, channels, rows, columns = maps.shape
    if (channels, rows * columns) != tuple(output.shape[1:]) or maps.dtype != output.dtype:
        return False
    return torch.equal(maps.flatten(2), output)


def _apart(sides: Sequence[int], picture: Sides) -> float:
    """Return how far the shape of maps is from the picture's."""
    return abs(math.log(sides[0] * picture[1] / (sides[1] * picture[0])))


def _alike(sides: Sequence[int], picture: Sides) -> bool:
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

    handles = [module.register_forward_hook(note(name)) for name, module in model.named_modules() if name]
    try:
        yield given
    finally:
        for handle in handles:
            handle.remove()
