"""Recording a forward pass part by part, with hooks that are gone when a call returns.

A first pass notes what enters each layer. A layer is recorded when it is asked for: it runs once more, alone, with
attention step by step and hooks on its parts, so that the attention of one layer stands in memory and not that of all.
Numbers are kept in single precision at least, whatever the model's.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from typing import Any, overload

import torch
from torch import Tensor, nn
from torch.nn import functional

from whylight.core import progress
from whylight.models import tracing
from whylight.models.anatomy import Encoder, LinearPart, encoder_of
from whylight.models.unchanged import unchanged
from whylight.views.layers import Affine, IndependentBlock, Layer, Norm, Operation, Slope, slope

Activation = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A layer and what it was called with."""

    module: nn.Module
    args: tuple[Any, ...]
    options: dict[str, Any]

    @property
    def inputs(self) -> Tensor:
        """States that entered, `[1, size, width]`."""
        states: Tensor = self.args[0] if self.args else self.options["hidden_states"]
        return states


def record(model: Any, encoder: nn.Module, run: Callable[[], Tensor]) -> tuple[IndependentBlock, Tensor]:  # noqa: ANN401
    """Run a model on one row, and return its layers as one block and what `run` returned.

    Args:
        model: The model.
        encoder: The part of it whose layers are meant.
        run: Sends one row, without padding, through the encoder once.
    """
    anatomy = encoder_of(model)
    calls: list[Call] = []
    outputs: list[Tensor] = []

    def before(module: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        calls.append(Call(module, args, options))

    def after(_module: nn.Module, _args: object, output: Tensor) -> None:
        outputs.append(output)

    name = re.compile(re.escape(anatomy.layers).replace(r"\*", r"\d+"))
    with _reading(model), ExitStack() as stack:
        for path, module in encoder.named_modules():
            if name.fullmatch(path):
                stack.callback(module.register_forward_pre_hook(before, with_kwargs=True).remove)
                stack.callback(module.register_forward_hook(after).remove)
        answer = run()
    progress.expect(len(calls))
    states = [precise(call.inputs[0]) for call in calls] + [precise(outputs[-1][0])]
    projection = _optional(encoder, anatomy.projection)
    bias = None if projection is None or projection.bias is None else precise(projection.bias)
    return IndependentBlock(states, RecordedLayers(model, anatomy, calls), bias), answer


class RecordedLayers(Sequence[Layer]):
    """The layers of one pass, each recorded when it is asked for.

    Args:
        model: The model.
        anatomy: Where its parts live.
        calls: What each layer was called with.
    """

    def __init__(self, model: Any, anatomy: Encoder, calls: Sequence[Call]) -> None:  # noqa: ANN401
        self._model = model
        self._anatomy = anatomy
        self._calls = calls

    def __len__(self) -> int:
        return len(self._calls)

    @overload
    def __getitem__(self, index: int) -> Layer: ...

    @overload
    def __getitem__(self, index: slice) -> "RecordedLayers": ...

    def __getitem__(self, index: int | slice) -> "Layer | RecordedLayers":
        """Record one layer, or choose some of them."""
        if isinstance(index, slice):
            return RecordedLayers(self._model, self._anatomy, self._calls[index])
        return self._record(self._calls[index])

    def __iter__(self) -> Iterator[Layer]:
        """Record one after the other; none is held while the next is recorded."""
        return map(self._record, self._calls)

    def _record(self, call: Call) -> Layer:
        anatomy, layer = self._anatomy, call.module
        seen = self._run(call)
        progress.advance(1)
        attention, entered_attention_norm, activated, entered_mlp_norm = seen
        attention_norm = norm(attrgetter(anatomy.attention_norm)(layer), entered_attention_norm)
        mlp_norm = norm(attrgetter(anatomy.mlp_norm)(layer), entered_mlp_norm)
        return Layer(
            inputs=precise(call.inputs[0]),
            attention=attention,
            value=_affine(layer, anatomy.value),
            output=_affine(layer, LinearPart(anatomy.output)),
            before_attention=attention_norm if anatomy.pre_norm else None,
            after_attention=None if anatomy.pre_norm else attention_norm,
            before_mlp=mlp_norm if anatomy.pre_norm else None,
            mlp=cache(partial(_mlp, layer, anatomy, activated)),  # some methods do without it
            after_mlp=None if anatomy.pre_norm else mlp_norm,
        )

    def _run(self, call: Call) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Run a layer again; return its attention, and what entered its norms and its activation."""
        anatomy = self._anatomy
        seen: dict[str, list[Tensor]] = {path: [] for path in ("attention", "attention_norm", "up", "mlp_norm")}

        def inputs(name: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
            return lambda _module, args: seen[name].append(args[0])

        def outputs(name: str) -> Callable[[nn.Module, object, Any], None]:
            return lambda _module, _args, out: seen[name].append(out[1] if isinstance(out, tuple) else out)

        with _reading(self._model), ExitStack() as stack:
            for name in ("attention_norm", "mlp_norm"):
                module = attrgetter(getattr(anatomy, name))(call.module)
                stack.callback(module.register_forward_pre_hook(inputs(name)).remove)
            for name, path in (("attention", anatomy.attention), ("up", anatomy.up.path)):
                stack.callback(attrgetter(path)(call.module).register_forward_hook(outputs(name)).remove)
            call.module(*call.args, **call.options)
        tracing.check_attentions(tuple(seen["attention"]), self._model)
        # an MLP may run stretch by stretch (chunk_size_feed_forward)
        norm1, up, norm2 = (precise(torch.cat(seen[n], dim=1)[0]) for n in ("attention_norm", "up", "mlp_norm"))
        return precise(seen["attention"][0][0]), norm1, up, norm2


def head_steps(parts: Sequence[nn.Module | Activation], whole: Tensor) -> tuple[Operation, ...]:
    """Return the steps of a head that reads `[rows, width]`, at their true values."""
    found: list[Operation] = []
    for part in parts:
        if isinstance(part, nn.Linear):
            step = affine(part)
            found.append(step)
            whole = functional.linear(whole, step.weight, step.bias)
        elif isinstance(part, nn.LayerNorm):
            found += [one for one in (norm(part, whole),) if one is not None]
            whole = layer_norm(part, whole)
        else:
            found.append(slope(part, whole))
            whole = part(whole)
    return tuple(found)


def affine(linear: nn.Linear, part: LinearPart | None = None) -> Affine:
    """Return the weights of a linear module, or of one of the parts that share it."""
    index, count = (0, 1) if part is None else (part.index, part.count)
    bias = None if linear.bias is None else precise(linear.bias).chunk(count)[index]
    return Affine(precise(linear.weight).chunk(count)[index], bias)


def norm(module: nn.Module, states: Tensor) -> Norm | None:
    """Return a norm at its true input `[rows, width]`; None where a model has a module that does nothing."""
    if isinstance(module, nn.Identity):
        return None
    if not isinstance(module, nn.LayerNorm):
        raise TypeError(type(module))
    deviation = (states.var(dim=-1, unbiased=False) + module.eps).sqrt()
    return Norm(precise(module.weight), None if module.bias is None else precise(module.bias), deviation)


def layer_norm(module: nn.LayerNorm, states: Tensor) -> Tensor:
    """Apply a norm in the precision of the states."""
    weight, bias = (None if value is None else value.detach().to(states) for value in (module.weight, module.bias))
    return functional.layer_norm(states, module.normalized_shape, weight, bias, module.eps)


def precise(tensor: Tensor) -> Tensor:
    """Return a tensor without its graph, in single precision at least."""
    return tensor.detach().to(torch.promote_types(tensor.dtype, torch.float32))


def _affine(layer: nn.Module, part: LinearPart) -> Affine:
    return affine(attrgetter(part.path)(layer), part)


def _mlp(layer: nn.Module, anatomy: Encoder, up: Tensor) -> tuple[Operation, ...]:
    """Return up, activation and down; of a gated MLP the activated gate is held, and the other branch goes up."""
    function: Activation = attrgetter(anatomy.activation)(layer)
    if anatomy.gate is None:
        middle = slope(function, up)
    else:
        middle = Slope(function(up.chunk(anatomy.gate.count, dim=-1)[anatomy.gate.index]))
    return _affine(layer, anatomy.up), middle, _affine(layer, LinearPart(anatomy.down))


def _optional(module: nn.Module, path: str | None) -> Any:  # noqa: ANN401  a linear module or None
    """Return what a path leads to, None where it leads nowhere."""
    found: Any = None if path is None else module
    for name in (path or "").split("."):
        found = getattr(found, name, None)
    return found


@contextmanager
def _reading(model: Any) -> Iterator[None]:  # noqa: ANN401  any transformers model
    with unchanged(model), torch.no_grad(), tracing.recording(model):
        yield
