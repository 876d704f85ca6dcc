"""Backward rules: other ways to propagate a gradient, switched on for a block and off again.

`rescale` is DeepLIFT's rule for elementwise activations. The batch holds inputs in its first half and their
references in its second; an activation y = f(x) is differentiated as if it were the straight line through both,

    dy/dx := (f(x) - f(r)) / (x - r),   or f'(x) where x and r all but agree.

Everything else (attention, normalisation, products) keeps its own gradient. Values never change, only the graph does,
so that an activation made of other ones is safe: the outermost rule wins.

`guided` is guided backpropagation's rule for rectifiers (ReLU, ReLU6): what arrives from above is let through only
where it is positive, beside the rectifier's own gate. A network without any rectifier is refused.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from torch import Tensor, nn
from transformers.activations import ACT2CLS

from whylight.core.errors import IncompatibleError
from whylight.models.calls import Calls, outputs_changed

_SMALL = 1e-6
ZERO_ORIGIN = frozenset({F.gelu, F.silu, F.relu, torch.relu, torch.Tensor.relu, torch.tanh, torch.Tensor.tanh, F.tanh})
"""Activations that are called as functions, of those that are 0 at 0."""
ACTIVATION_MODULES = frozenset(
    {entry[0] if isinstance(entry, tuple) else entry for entry in ACT2CLS.values()}
    | {nn.GELU, nn.SiLU, nn.Tanh, nn.ReLU, nn.Sigmoid}
)
"""Activations that are modules; some are made of other activations, or of arithmetic alone."""
RECTIFIERS = frozenset(
    {F.relu, F.relu_, torch.relu, torch.relu_, torch.Tensor.relu, torch.Tensor.relu_, F.relu6, F.hardtanh, F.hardtanh_}
)
"""Functions that are 0 below 0, and what they are called as by modules; `hardtanh` only from 0 on."""
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


@contextmanager
def guided() -> Iterator[None]:
    """Let only positive gradients through rectifiers inside the block."""
    calls = _GuidedCalls()
    with calls:
        yield
    if not calls.gated:
        raise IncompatibleError(
            "guided backpropagation gates rectifiers (ReLU, ReLU6), and this model has none; use integrated_gradients."
        )


class _GuidedCalls(Calls):
    """Puts a gate on the gradient of what rectifiers give out.

    Attributes:
        gated: How many there were.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gated = 0

    def answer(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        """Call the function; its gradient is cut below 0 if it is a rectifier."""
        output = function(*args, **options)
        if function in RECTIFIERS and output.requires_grad and rectifies(function, args, options):
            output.register_hook(lambda gradient: gradient.clamp(min=0))
            self.gated += 1
        return output


def rectifies(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Say whether a call of one of the rectifiers is 0 below 0; a `hardtanh` may start elsewhere."""
    if "hardtanh" not in function.__name__:
        return True
    return bool((args[1] if len(args) > 1 else options.get("min_val", -1.0)) == 0)


def _secant(x: Tensor, y: Tensor) -> Tensor:
    """Return y with the gradient of the line through each input and its reference."""
    value, reference = x.detach().chunk(2)
    out, reference_out = y.detach().chunk(2)
    difference = value - reference
    same = difference.abs() < _SMALL
    slope = (out - reference_out) / torch.where(same, torch.ones_like(difference), difference)
    line = y.detach() + torch.cat([slope, torch.zeros_like(slope)]) * (x - x.detach())
    return torch.where(torch.cat([same, torch.zeros_like(same)]), y, line)
