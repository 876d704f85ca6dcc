"""Decomposed states: what every source contributes to every position, carried through the layers.

Parts are `[rows, sources, width]`: row i is a position, and its parts sum to its true state. An affine step takes each
part on its own; its bias is shared out among the sources of a row. Between layers everything that mixes positions works
source by source, and everything that shares biases works row by row. So a layer is done in place: attention for some
sources at a time, then norms and MLP for some rows at a time. No second tensor over N x N x D exists.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from whylight.core.interruption import checkpoint
from whylight.methods._transformed import head_vectors
from whylight.views.layers import Affine, IndependentBlock, Layer, Norm, Operation, Rows, Slope

Bias = Literal["absdot", "norm", "equal", "cls", "token"]
COPIES = 6
"""Copies of what enters attention that stand in memory while it is worked on, at most."""


@dataclass(frozen=True, slots=True)
class Decomposition:
    """How states are decomposed.

    Attributes:
        bias: How biases are shared out.
        budget: Memory for what is worked on at once, in bytes.
    """

    bias: Bias
    budget: int

    @property
    def apart(self) -> bool:
        """Whether biases are a source of their own, behind those of the positions."""
        return self.bias in {"cls", "token"}

    def states(self, block: IndependentBlock, depth: int, rows: Tensor) -> Tensor:
        """Return the parts of some positions after so many layers, `[rows, sources, width]`.

        Args:
            block: The block; its sources are its own positions, and biases where they are apart.
            depth: Number of layers, at least 1.
            rows: The positions that are wanted; before the last layer all of them are needed.
        """
        every = torch.arange(len(block.states[0]), device=rows.device)
        parts: Tensor | None = None
        for number in range(depth):
            layer, own = block.layers[number], rows if number == depth - 1 else every
            if parts is None:
                parts, bias = self._first(block, layer, own), self._first_bias(layer)
            else:
                parts, bias = self._attend(parts, layer, own), _attention_bias(layer)
            for some in self._row_blocks(parts, layer):
                self._finish(parts[some], layer, bias, own[some])
        if parts is None:
            raise ValueError("there is at least one layer")
        return parts

    def through(self, parts: Tensor, step: Operation) -> Tensor:
        """Send parts through one step; norms and slopes work in place."""
        if isinstance(step, Affine):
            parts = parts @ step.weight.mT
            self._share(parts, step.bias)
            return parts
        if isinstance(step, Slope):
            return parts.mul_(step.factor[:, None])
        _normalise(parts, step)
        self._share(parts, step.shift)
        return parts

    def _first(self, block: IndependentBlock, layer: Layer, rows: Tensor) -> Tensor:
        """Return the parts behind the first attention and its residual: sources are the states that enter it.

        Up to here nothing mixes, so that what a state makes of itself is its own, the shift of a norm and its values'
        bias included, unless biases are a token: what enters the layer alike everywhere is then a source, too.
        """
        size, width = layer.inputs.shape
        shared = self.bias == "token"
        common = block.bias if shared and block.bias is not None else layer.inputs.new_zeros(width)
        sources = layer.inputs - common
        parts = layer.inputs.new_zeros(len(rows), size + self.apart, width)
        vectors = head_vectors(layer, _entering(layer, sources, shift=not shared), value_bias=not shared)
        for some in _blocks(len(rows), self.budget // (2 * parts[0].nbytes)):
            weights = layer.attention[:, rows[some]].permute(2, 1, 0)  # [size, rows, heads]
            parts[some, :size] = (weights @ vectors).transpose(0, 1)
        parts[torch.arange(len(rows), device=rows.device), rows] += sources[rows]
        if shared:
            constant = head_vectors(layer, _entering(layer, common.expand(size, -1), shift=True), value_bias=False)
            parts[:, -1] += common + torch.einsum("hij,jhd->id", layer.attention[:, rows], constant)
        return parts

    def _first_bias(self, layer: Layer) -> Tensor | None:
        return _attention_bias(layer) if self.bias == "token" else layer.output.bias

    def _attend(self, parts: Tensor, layer: Layer, rows: Tensor) -> Tensor:
        """Return parts behind attention and its residual; in place, unless only some rows are wanted."""
        size, n_sources, width = parts.shape
        n_heads = len(layer.attention)
        weights = layer.attention[:, rows]
        found = parts if len(rows) == size else parts.new_empty(len(rows), n_sources, width)
        shares = self._shift_shares(parts, layer)
        for some in _blocks(n_sources, self.budget // (COPIES * parts[:, 0].nbytes)):
            entering = parts[:, some]
            if layer.before_attention is not None:
                entering = entering.clone()
                _normalise(entering, layer.before_attention)
                if shares is not None and layer.before_attention.shift is not None:
                    entering.addcmul_(shares[:, some, None], layer.before_attention.shift)
            count = entering.shape[1]
            values = (entering @ layer.value.weight.T).reshape(size, count, n_heads, -1)
            read = weights @ values.permute(2, 0, 1, 3).flatten(2)  # [heads, rows, sources * head width]
            joined = read.reshape(n_heads, len(rows), count, -1).permute(1, 2, 0, 3).flatten(2)
            found[:, some] = parts[rows, some].add_(joined @ layer.output.weight.T)
        return found

    def _shift_shares(self, parts: Tensor, layer: Layer) -> Tensor | None:
        """Return how the shift of a norm before attention is shared out, `[rows, sources]`."""
        norm = layer.before_attention
        if norm is None or norm.shift is None:
            return None
        found = parts.new_empty(parts.shape[:2])
        for some in _blocks(len(parts), self.budget // (3 * parts[0].nbytes)):
            own = parts[some].clone()
            _normalise(own, norm.at(some))
            found[some] = self._shares(own, norm.shift)
        return found

    def _finish(self, parts: Tensor, layer: Layer, bias: Tensor | None, rows: Rows) -> None:
        """Send some rows through the rest of a layer, in place."""
        self._share(parts, bias)
        if layer.after_attention is not None:
            self.through(parts, layer.after_attention.at(rows))
        inner = parts if layer.before_mlp is None else self.through(parts.clone(), layer.before_mlp.at(rows))
        for step in layer.mlp():
            inner = self.through(inner, step.at(rows))
        parts += inner
        if layer.after_mlp is not None:
            self.through(parts, layer.after_mlp.at(rows))

    def _share(self, parts: Tensor, bias: Tensor | None) -> None:
        """Share out a bias, `[width]` or `[rows, width]`, among the sources of each row, in place."""
        if bias is None:
            return
        if self.apart:
            parts[:, -1] += bias
        else:
            parts.addcmul_(self._shares(parts, bias)[..., None], bias.unsqueeze(-2))

    def _shares(self, parts: Tensor, bias: Tensor) -> Tensor:
        """Return which share of a bias each source gets, `[rows, sources]`; evenly where nothing tells them apart."""
        if self.apart:
            shares = torch.zeros_like(parts[..., 0])
            shares[:, -1] = 1
            return shares
        if self.bias == "absdot":
            weights = (parts @ bias[..., None]).squeeze(-1).abs()
        else:
            weights = torch.linalg.vector_norm(parts, dim=-1)
            weights = (weights != 0).to(parts) if self.bias == "equal" else weights
        total = weights.sum(-1, keepdim=True)
        return torch.where(total > 0, weights / total, 1 / parts.shape[1])

    def _row_blocks(self, parts: Tensor, layer: Layer) -> Iterator[slice]:
        """Cut rows such that what the MLP makes of them fits."""
        widest = max(step.weight.shape[0] for step in layer.mlp() if isinstance(step, Affine))
        row = parts.shape[1] * (2 * parts.shape[2] + widest) * parts.element_size()
        return _blocks(len(parts), self.budget // row)


def _entering(layer: Layer, states: Tensor, *, shift: bool) -> Tensor:
    """Return what enters attention of parts of each position's state, `[size, width]`: behind a norm, if there is one.

    Args:
        layer: The layer.
        states: One part of each state.
        shift: Whether the shift of the norm is theirs.
    """
    norm = layer.before_attention
    if norm is None:
        return states
    found = states[:, None].clone()
    _normalise(found, norm)
    return found[:, 0] + norm.shift if shift and norm.shift is not None else found[:, 0]


def _attention_bias(layer: Layer) -> Tensor | None:
    """Return W_O b_V + b_O, which every row gets, because its attention sums to 1."""
    value, output = layer.value.bias, layer.output.bias
    if value is None:
        return output
    through = value @ layer.output.weight.T
    return through if output is None else through + output


def _normalise(parts: Tensor, norm: Norm) -> None:
    """Centre and scale parts by the deviation of the whole, in place; the shift is a bias."""
    parts -= parts.mean(-1, keepdim=True)
    parts *= (norm.scale / norm.deviation[:, None])[:, None]


def _blocks(count: int, step: int) -> Iterator[slice]:
    size = max(1, step)
    for start in range(0, count, size):
        checkpoint()  # a layer of a long text takes minutes
        yield slice(start, min(start + size, count))
