"""Backward rules: other ways to propagate a gradient, switched on for a block and off again.

`rescale` is DeepLIFT's rule for elementwise activations. The batch holds inputs in its first half and their
references in its second; an activation y = f(x) is differentiated as if it were the straight line through both,

    dy/dx := (f(x) - f(r)) / (x - r),   or f'(x) where x and r all but agree.

Everything else (attention, normalisation, products) keeps its own gradient. Values never change, only the graph does,
so that an activation made of other ones is safe: the outermost rule wins.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from torch import Tensor, nn
from transformers.activations import ACT2CLS

from whylight.models.calls import Calls, outputs_changed

_SMALL = 1e-6
ZERO_ORIGIN = frozenset({F.gelu, F.silu, F.relu, torch.relu, torch.Tensor.relu, torch.tanh, torch.Tensor.tanh, F.tanh})
"""Activations that are called as functions, of those that are 0 at 0."""
ACTIVATION_MODULES = frozenset(
    {entry[0] if isinstance(entry, tuple) else entry for entry in ACT2CLS.values()}
    | {nn.GELU, nn.SiLU, nn.Tanh, nn.ReLU, nn.Sigmoid}
)
"""Activations that are modules; some are made of other activations, or of arithmetic alone."""
_ACTIVATIONS = ZERO_ORIGIN | {torch.sigmoid, torch.Tensor.sigmoid, F.sigmoid}


@contextmanager
def rescale() -> Iterator[None]:
    """Propagate gradients through activations by DeepLIFT's rescale rule inside the block."""

    def secant(_module: nn.Module, x: Tensor, output: Tensor) -> Tensor:
        return _secant(x, output)

    with outputs_changed(tuple(ACTIVATION_MODULES), secant), _RescaleCalls():
        yield


class _RescaleCalls(Calls):
    """Catches activations that are called as functions."""

    def answer(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        """Give activations the gradient of a line."""
        output = function(*args, **options)
        return _secant(args[0] if args else options["input"], output) if function in _ACTIVATIONS else output


def _secant(x: Tensor, y: Tensor) -> Tensor:
    """Return y with the gradient of the line through each input and its reference."""
    value, reference = x.detach().chunk(2)
    out, reference_out = y.detach().chunk(2)
    difference = value - reference
    same = difference.abs() < _SMALL
    slope = (out - reference_out) / torch.where(same, torch.ones_like(difference), difference)
    line = y.detach() + torch.cat([slope, torch.zeros_like(slope)]) * (x - x.detach())
    return torch.where(torch.cat([same, torch.zeros_like(same)]), y, line)
