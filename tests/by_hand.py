"""A BERT classifier worked out by hand, in double precision and with whole N x N x D tensors, from its raw weights."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import quick
import tiny
from whylight.models.load import load

DEPTH, HEADS = 4, 2
SPLITS = ("absdot", "norm", "equal", "cls", "token")


def classifier(architecture: str = "bert", **options: Any) -> Any:
    """A classifier in double precision whose norms have scales of their own."""
    model = tiny.model(architecture, **options).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                noise = torch.randn(module.weight.shape, generator=generator, dtype=torch.float64)
                module.weight.add_(0.3 * noise)
    return load(model, tiny.tokenizer(tiny.style_of(architecture)))


def of_positions(clf: Any, text: str, method: Any, **settings: Any) -> Tensor:
    """Return what a method makes of every position, special tokens included, `[targets, positions]`."""
    trace, seen = trace_of(clf, text), []

    def keep(scores: Tensor) -> Any:
        seen.append(scores)
        return scores.numpy()

    trace.to_features = trace.share_out = keep
    method(trace, **settings)
    return seen[0]


def trace_of(clf: Any, text: str) -> Any:
    return clf.trace_view(quick.encode(clf, text, unit="token"), quick.request(clf))


@dataclass(frozen=True)
class Layer:
    """What one layer computes; u and w are the sums that its norms are taken of."""

    x: Tensor
    attention: Tensor
    u: Tensor
    z: Tensor
    w: Tensor


class Bert:
    """The weights of a classifier by name, and its forward pass."""

    def __init__(self, clf: Any, text: str) -> None:
        self.weights = {name: value.double() for name, value in clf.model.state_dict().items()}
        self.ids = torch.as_tensor(clf.tokenizer(text)["input_ids"])
        self.layers: list[Layer] = []
        x = self.embed()
        for number in range(DEPTH):
            x = self._layer(x, number)
        self.states = [*(layer.x for layer in self.layers), x]

    def __call__(self, name: str, layer: int | None = None) -> Tensor:
        return self.weights[name if layer is None else f"bert.encoder.layer.{layer}.{name}"]

    def embed(self) -> Tensor:
        words = self("bert.embeddings.word_embeddings.weight")[self.ids]
        places = self("bert.embeddings.position_embeddings.weight")[: len(self.ids)]
        types = self("bert.embeddings.token_type_embeddings.weight")[0]
        name = "bert.embeddings.LayerNorm"
        return normed(words + places + types, self(f"{name}.weight"), self(f"{name}.bias"))

    def value_output(self, layer: int) -> tuple[Tensor, Tensor]:
        """W_V and W_O of each head, `[heads, D, d]` and `[heads, d, D]`: x W_V W_O."""
        value, output = self("attention.self.value.weight", layer), self("attention.output.dense.weight", layer)
        return value.reshape(HEADS, -1, value.shape[1]).mT, output.T.reshape(HEADS, -1, output.shape[0])

    def product(self, of_layer: Callable[["Bert", int], Tensor], depth: int) -> Tensor:
        """Return the first row of the product of what each of so many layers passes on."""
        whole = torch.eye(len(self.ids), dtype=torch.float64)
        for number in range(depth):
            whole = of_layer(self, number) @ whole
        return whole[:1]

    def _layer(self, x: Tensor, n: int) -> Tensor:
        query, key, value = (
            (x @ self(f"attention.self.{kind}.weight", n).T + self(f"attention.self.{kind}.bias", n))
            .reshape(len(x), HEADS, -1)
            .transpose(0, 1)
            for kind in ("query", "key", "value")
        )
        attention = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1)
        read = (attention @ value).transpose(0, 1).flatten(1)
        u = read @ self("attention.output.dense.weight", n).T + self("attention.output.dense.bias", n) + x
        h = normed(u, self("attention.output.LayerNorm.weight", n), self("attention.output.LayerNorm.bias", n))
        z = h @ self("intermediate.dense.weight", n).T + self("intermediate.dense.bias", n)
        w = (z * phi(z)) @ self("output.dense.weight", n).T + self("output.dense.bias", n) + h
        self.layers.append(Layer(x, attention, u, z, w))
        return normed(w, self("output.LayerNorm.weight", n), self("output.LayerNorm.bias", n))

    def logits(self, state: Tensor) -> Tensor:
        pooled = torch.tanh(state @ self("bert.pooler.dense.weight").T + self("bert.pooler.dense.bias"))
        return pooled @ self("classifier.weight").T + self("classifier.bias")


def phi(z: Tensor) -> Tensor:
    """GELU(z) / z."""
    return (1 + torch.erf(z / math.sqrt(2))) / 2


def deviation(x: Tensor) -> Tensor:
    return (x.var(-1, unbiased=False, keepdim=True) + 1e-12).sqrt()


def normed(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    return scale * (x - x.mean(-1, keepdim=True)) / deviation(x) + shift
