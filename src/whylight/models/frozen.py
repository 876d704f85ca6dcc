"""The backward rule `frozen`: a network held at what one input made of it, and so linear in its sources.

Three things make a transformer more than a linear map. Inside the block each of them keeps its forward value and takes
no part in the gradient:

    attention     sum over n of A_mn v_n                     A constant
    norm          (x - mean x) / deviation * gamma + beta    deviation constant
    activation    y = (f(x) / x) x                           f(x) / x constant; its limit f'(0) where x is 0

What is left is affine: every logit is the sum over sources (embeddings, biases) of source x gradient, exactly. Values
do not change beyond rounding, only the graph does.

A gated MLP multiplies two branches, act(gate) x up, which no constant slope makes linear. Here act(gate) is held as if
it were attention, and `up` is decomposed: a choice, of which the alternative is to share between both.

Held are softmax, the exponentials of which one is made piece by piece (label attention over chunks), and roots (RMS
norms written out). An activation that is not 0 at 0 (sigmoid) has no such slope and is left alone; what else a network
may do is not known here. Whoever uses the rule therefore checks that sources do add up.

Reference: Modarressi et al. 2023 (zero-origin slopes), Ali et al. 2022 (constants in the gradient). Their code edits
the model's own; nothing of the model is touched here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from torch import Tensor, nn
from transformers.activations import LaplaceActivation, SqrtSoftplusActivation

from whylight.models.calls import Calls, outputs_changed
from whylight.models.rules import ACTIVATION_MODULES, ZERO_ORIGIN
from whylight.views.layers import line_through_origin

_HELD = frozenset(
    {F.softmax, torch.softmax, torch.Tensor.softmax, torch.exp, torch.Tensor.exp}
    | {torch.rsqrt, torch.Tensor.rsqrt, torch.sqrt, torch.Tensor.sqrt}
)
_PRODUCTS = frozenset({torch.mul, torch.Tensor.mul})
_MODULES = tuple(ACTIVATION_MODULES - {nn.Sigmoid, LaplaceActivation, SqrtSoftplusActivation})


@contextmanager
def frozen() -> Iterator[None]:
    """Hold attention, norm denominators and the slopes of activations at their forward values inside the block."""
    calls = _FrozenCalls()

    def straightened(module: nn.Module, x: Tensor, output: Tensor) -> Tensor | None:
        return None if output is calls.activation else calls.straightened(module.forward, x, output)

    with outputs_changed(_MODULES, straightened), calls:
        yield


class _FrozenCalls(Calls):
    """Puts what is linear in the place of what is not, as it is called.

    Attributes:
        activation: What the last activation gave out; if it is multiplied with something else, it is a gate.
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation: Tensor | None = None

    def answer(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        """Hold what is held, and straighten what is not straight."""
        if function in _HELD:
            return function(*args, **options).detach()
        if function in _LINEAR:
            return _LINEAR[function](*args, **options)
        if function in ZERO_ORIGIN:
            x, *others = args or (options.pop("input"),)
            activation = partial(_with_arguments, function, others, options)
            return self.straightened(activation, x, activation(x))
        return function(*(self._gated(args) if function in _PRODUCTS else args), **options)

    def _gated(self, factors: tuple[Any, ...]) -> tuple[Any, ...]:
        """Hold the factor that is an activation, if the other one depends on the input too."""
        match factors:
            case (Tensor() as first, Tensor() as second) if first.requires_grad and second.requires_grad:
                if first is self.activation:
                    return first.detach(), second
                if second is self.activation:
                    return first, second.detach()
        return factors

    def straightened(self, function: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> Tensor:
        """Return y = f(x) as x times a constant."""
        self.activation = x * line_through_origin(function, x.detach(), y.detach())
        return self.activation


def _with_arguments(
    function: Callable[..., Tensor], others: Sequence[Any], options: Mapping[str, Any], x: Tensor
) -> Tensor:
    return function(x, *others, **options)


def _layer_norm(
    x: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Return F.layer_norm with a constant deviation; parameters are named as there."""
    dims = tuple(range(-len(normalized_shape), 0))
    inverse = torch.rsqrt(x.detach().var(dims, unbiased=False, keepdim=True) + eps)
    normed = (x - x.mean(dims, keepdim=True)) * inverse
    scaled = normed if weight is None else normed * weight
    return scaled if bias is None else scaled + bias


def _rms_norm(
    x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Return F.rms_norm with a constant denominator; parameters are named as there."""
    dims = tuple(range(-len(normalized_shape), 0))
    tiny = torch.finfo(x.dtype).eps if eps is None else eps
    normed = x * torch.rsqrt(x.detach().square().mean(dims, keepdim=True) + tiny)
    return normed if weight is None else normed * weight


def _attention(  # noqa: PLR0913, PLR0917  parameters are those of the function that it stands for
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,  # noqa: ARG001  models are in evaluation mode
    is_causal: bool = False,  # noqa: FBT001, FBT002
    scale: float | None = None,
    enable_gqa: bool = False,  # noqa: FBT001, FBT002
) -> Tensor:
    """Return F.scaled_dot_product_attention with constant weights; parameters are named as there."""
    if enable_gqa:
        key, value = (part.repeat_interleave(query.shape[-3] // part.shape[-3], dim=-3) for part in (key, value))
    with torch.no_grad():
        scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
        if is_causal:
            attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~attn_mask, float("-inf"))
        elif attn_mask is not None:
            scores = scores + attn_mask
        weights = scores.softmax(dim=-1).nan_to_num()  # a query that may look at nothing reads 0, as in torch
    return weights @ value


_LINEAR: Mapping[Callable[..., Any], Callable[..., Tensor]] = {
    F.layer_norm: _layer_norm,
    F.rms_norm: _rms_norm,
    F.scaled_dot_product_attention: _attention,
}
