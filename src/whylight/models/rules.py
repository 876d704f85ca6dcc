"""Backward rules: other ways to propagate a gradient, switched on for a block and off again.

`rescale` is DeepLIFT's rule for elementwise activations. The batch holds inputs in its first half and their
references in its second; an activation y = f(x) is differentiated as if it were the straight line through both,

    dy/dx := (f(x) - f(r)) / (x - r),   or f'(x) where x and r all but agree.

Everything else (attention, normalisation, products) keeps its own gradient. Values never change, only the graph does,
so that an activation made of other ones is safe: the outermost rule wins.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers.activations import ACT2CLS

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
    here = threading.get_ident()

    def hook(module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        # A global hook also sees modules that are made inside forward(), and fires in every thread.
        if threading.get_ident() == here and isinstance(module, tuple(ACTIVATION_MODULES)):
            return _secant(args[0], output)
        return None

    handle = nn.modules.module.register_module_forward_hook(hook)  # type: ignore[arg-type]  # its stub forbids a result
    try:
        with _RescaleMode():
            yield
    finally:
        handle.remove()


class _RescaleMode(TorchFunctionMode):
    """Catches activations that are called as functions."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401  torch's own signature
        output = func(*args, **(kwargs or {}))
        if func in _ACTIVATIONS:
            return _secant(args[0] if args else (kwargs or {})["input"], output)
        return output


def _secant(x: Tensor, y: Tensor) -> Tensor:
    """Return y with the gradient of the line through each input and its reference."""
    value, reference = x.detach().chunk(2)
    out, reference_out = y.detach().chunk(2)
    difference = value - reference
    same = difference.abs() < _SMALL
    slope = (out - reference_out) / torch.where(same, torch.ones_like(difference), difference)
    line = y.detach() + torch.cat([slope, torch.zeros_like(slope)]) * (x - x.detach())
    return torch.where(torch.cat([same, torch.zeros_like(same)]), y, line)
