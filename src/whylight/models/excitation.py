"""The backward rule `excitation`: what goes backwards is not a gradient but how likely a walk passes a unit.

Functions of torch that a network calls are answered with their own value, and with a backward of another kind:

    conv2d, linear     a unit's probability is shared out by a_k max(0, w_ik); biases get nothing
    mean, average      the same, with equal weights
    x + y              by the positive parts of both; all of it to the one that is not constant
    batch norm, c x    all of it to the one unit below; if its factor is negative, to the negative of it
    rectifiers         all of it to the one unit below
    max pool, shapes   by their own gradient, which is all of it to the unit that was taken

A negative probability stands for one of the negative of a unit: a batch norm with a negative factor makes one, and the
linear layer below then takes its negative weights, as if both were one layer. Units that are no rectifier's may be
below 0; as far as they are, they excite nothing. The first layer reads colours in numbers
of its own, of which black is the least: it is walked through as a layer of what is above black.

Whatever else a network does to what depends on its input (a gate, a softmax, a smooth activation) is refused.

Reference: Zhang et al. 2018. Cost: one more pass of each linear layer, forward and backward.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor

from whylight.core.errors import IncompatibleError
from whylight.models.calls import Calls
from whylight.models.rules import RECTIFIERS, rectifies

LINEAR, AVERAGES = frozenset({"conv2d", "linear"}), frozenset({"adaptive_avg_pool2d", "avg_pool2d", "mean"})
SUMS = frozenset({"add", "add_", "__add__", "__radd__", "__iadd__"})
FACTORS = frozenset({"mul", "mul_", "__mul__", "__rmul__", "__imul__", "div", "__truediv__"})
SHAPES = frozenset(
    [
        "reshape",
        "view",
        "flatten",
        "permute",
        "transpose",
        "contiguous",
        "to",
        "float",
        "double",
        "pad",
        "dropout",
        "max_pool2d",
        "__getitem__",
        "cat",
        "stack",
        "squeeze",
        "unsqueeze",
        "expand",
        "clone",
        "neg",
        "__neg__",
        "chunk",
        "split",
        "unbind",
        "index_select",
        "gather",
        "requires_grad_",
        "detach",
    ]
)
"""Functions whose own gradient shares nothing out."""
Share = Callable[[Tensor], tuple[Tensor | None, ...]]


@contextmanager
def excitation(black: Tensor) -> Iterator[None]:
    """Send probabilities backwards inside the block.

    Args:
        black: What black is in numbers of the network's input, `[channels]`.
    """
    with _ExcitationCalls(black):
        yield


class _Passed(torch.autograd.Function):
    """A value that is known, with a backward of its own."""

    @staticmethod
    def forward(ctx: Any, share: Share, value: Tensor, *_inputs: Tensor) -> Tensor:  # noqa: ANN401  torch's own
        """Return the value."""
        ctx.share = share
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *winning: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        """Share a probability out."""
        return (None, None, *ctx.share(winning[0]))


class _ExcitationCalls(Calls):
    """Answers the calls of a network with what shares probabilities out."""

    def __init__(self, black: Tensor) -> None:
        super().__init__()
        self._black: Tensor | None = black

    def answer(self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        """Call the function; if its answer depends on the input, say how a probability of it is shared out."""
        live = [one for one in _tensors((args, options)) if one.requires_grad]
        name = getattr(function, "__name__", "")
        if not live or not torch.is_grad_enabled() or name in SHAPES:
            return function(*args, **options)
        before = live[0].detach().clone() if name.endswith("_") or options.get("inplace") else None
        with torch.no_grad():
            value = function(*args, **options)
        if not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        share = self._share(function, args, options, before)
        return _passed(share, value.detach(), live)

    def _share(
        self, function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], before: Tensor | None
    ) -> Share:
        """Return how a probability of what a call gives out is shared out among what it depends on."""
        name = function.__name__
        first = args[0] if args else options["input"]
        if name in LINEAR:
            return self._linear(function, first, args, options)
        if name in AVERAGES:
            return lambda winning: (_shared(lambda x: function(x, *args[1:], **options), first.detach(), winning),)
        if name in SUMS:
            return _sum(args, before)
        if name in FACTORS:
            return _factor(args, name)
        if name == "batch_norm" and not _option(args, options, 5, "training", default=False):
            scale = _option(args, options, 3, "weight", default=None)
            return lambda winning: (
                winning if scale is None else winning * _per_channel(scale.detach().sign(), winning),
            )
        if function in RECTIFIERS and rectifies(function, args, options):
            return lambda winning: (winning.clamp(min=0),)
        raise IncompatibleError(
            "excitation backpropagation walks through convolutions, rectifiers, batch norms, sums and pools; "
            f"this model also calls '{name}'; use grad_cam."
        )

    def _linear(
        self, function: Callable[..., Any], first: Tensor, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Share:
        weight = _option(args, options, 1, "weight", default=None).detach()
        rest = {key: value for key, value in options.items() if key not in {"input", "weight", "bias"}}
        units, black = first.detach(), self._black
        self._black = None
        if black is not None and units.dim() == 4 and units.shape[1] == len(black):  # noqa: PLR2004  it reads colours
            units = units - black.to(units)[:, None, None]

        def share(winning: Tensor) -> tuple[Tensor, ...]:
            own, total = units.clamp(min=0), torch.zeros_like(units)
            for sign in (1, -1):
                wanted = (sign * winning).clamp(min=0)
                if bool(wanted.any()):
                    answer = partial(_without_bias, function, (sign * weight).clamp(min=0), args[3:], rest)
                    total += _shared(answer, own, wanted)
            return (total,)

        return share


def _without_bias(
    function: Callable[..., Tensor], weight: Tensor, others: tuple[Any, ...], options: dict[str, Any], units: Tensor
) -> Tensor:
    return function(units, weight, None, *others, **options)


def _passed(share: Share, value: Tensor, live: list[Tensor]) -> Tensor:
    made: Tensor = _Passed.apply(share, value, *live)  # type: ignore[no-untyped-call]
    return made


def _shared(function: Callable[[Tensor], Tensor], units: Tensor, winning: Tensor) -> Tensor:
    """Share probabilities out by how much of each answer each unit makes; negative ones by the negative units."""
    total = torch.zeros_like(units)
    for sign in (1, -1):
        wanted = (sign * winning).clamp(min=0)
        if not bool(wanted.any()):
            continue
        with torch.enable_grad():
            own = (sign * units).clamp(min=0).requires_grad_()
            sums = function(own)
        ratio = torch.where(sums > 0, wanted / sums.detach().clamp(min=torch.finfo(sums.dtype).tiny), 0.0)
        total += sign * own.detach() * torch.autograd.grad(sums, own, ratio)[0]
    return total


def _sum(args: tuple[Any, ...], before: Tensor | None) -> Share:
    """Share out between two branches by their positive parts; all goes to one, if the other is constant."""
    both = [one for one in args[:2] if isinstance(one, Tensor)]
    live = [one for one in both if one.requires_grad]
    if len(live) == 1:
        return lambda winning: (winning,)
    if live[0].shape != live[1].shape:
        raise IncompatibleError("excitation backpropagation adds up branches of one size; use grad_cam.")
    parts = torch.stack([live[0].detach() if before is None else before, live[1].detach()])
    return lambda winning: tuple(_shared(lambda x: x.sum(0), parts, winning))


def _factor(args: tuple[Any, ...], name: str) -> Share:
    """Hand all on to the one that is multiplied with a constant."""
    constant = [one for one in args[:2] if not (isinstance(one, Tensor) and one.requires_grad)]
    if len(constant) != 1 or (name in {"div", "__truediv__"} and constant[0] is args[0]):
        raise IncompatibleError(
            "excitation backpropagation cannot walk through a product of two things that depend on the picture; "
            "use grad_cam."
        )
    return lambda winning: (winning * torch.as_tensor(constant[0], dtype=winning.dtype).detach().sign(),)


def _option(args: tuple[Any, ...], options: dict[str, Any], place: int, name: str, *, default: Any) -> Any:  # noqa: ANN401
    return args[place] if len(args) > place else options.get(name, default)


def _per_channel(values: Tensor, like: Tensor) -> Tensor:
    return values.reshape(1, -1, *[1] * (like.dim() - 2))


def _tensors(values: Any) -> list[Tensor]:  # noqa: ANN401  whatever a function takes
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, dict):
        return _tensors(list(values.values()))
    return [found for one in values for found in _tensors(one)] if isinstance(values, list | tuple) else []
