"""A training batch as loss terms see it: every quantity is computed once, however many terms use it.

A term never sees a model: it asks the step for logits, attention, word embeddings and their gradient, or for further
passes over other ids or with noise added. Evidence is held as pairs (example, label) with one row of marks each, so
that a hundred labels of a long document cost no more than those that are marked.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from whylight.core.errors import IncompatibleError


@dataclass(frozen=True, slots=True, eq=False)
class TrainingBatch:
    """Inputs and what is known about them.

    Attributes:
        ids: Token ids, `[examples, tokens]`.
        mask: Tokens that are no padding, `[examples, tokens]`.
        content: Tokens that belong to a word, so neither special nor padding, `[examples, tokens]`.
        labels: Class of each example `[examples]`, or marks of its labels `[examples, labels]`.
        pair_example: Example of each pair (example, true label), `[pairs]`.
        pair_label: Label of each pair, `[pairs]`.
        evidence: Tokens of words that people marked for a pair, 0 or 1, `[pairs, tokens]`; a row may be empty.
        types: Token type ids, `[examples, tokens]`, if the tokenizer gives them.
    """

    ids: Tensor
    mask: Tensor
    content: Tensor
    labels: Tensor
    pair_example: Tensor
    pair_label: Tensor
    evidence: Tensor
    types: Tensor | None = None

    @property
    def multi_label(self) -> bool:
        """Whether an example may have any number of labels."""
        return self.labels.ndim > 1


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """What one pass through the network gave.

    Attributes:
        logits: `[examples, labels]`.
        embeddings: Word embeddings as the network read them, within the graph, `[rows, tokens, dims]`.
        row_example: The example of each of those rows: a document may be read in several, `[rows]`.
        attention: Attention of each layer, `[examples, heads, tokens, tokens]`; empty where it was not asked for.
        label_attention: Attention of each label, `[examples, labels, tokens]`, in models that have it.
        pooled: Weight of each row of the last layer in what the head reads, `[examples, tokens]`; empty without
            attention.
    """

    logits: Tensor
    embeddings: Tensor
    row_example: Tensor
    attention: tuple[Tensor, ...] = ()
    label_attention: Tensor | None = None
    pooled: Tensor | None = None


class Network(Protocol):
    """A model in training, as a step runs it."""

    mask_id: int
    """Token that stands for "nothing"."""

    @property
    def embedding_table(self) -> Tensor:
        """The word embeddings that are learnt, `[tokens, dims]`."""
        ...

    def run(
        self,
        batch: TrainingBatch,
        *,
        train: bool,
        ids: Tensor | None = None,
        change: Callable[[Tensor], Tensor] | None = None,
        attention: bool = False,
    ) -> Pass:
        """Run a batch.

        Args:
            batch: Inputs.
            train: Whether dropout is on.
            ids: Other ids than the batch's own.
            change: What is done to the word embeddings before they are read.
            attention: Whether attention is needed.
        """
        ...

    def to_rows(self, batch: TrainingBatch, tokens: Tensor) -> Tensor:
        """Lay out something that is given for each token of each example, `[examples, tokens]`, as embeddings are."""
        ...


@dataclass(slots=True, eq=False)
class Step:
    """One batch in front of the network that is trained.

    Attributes:
        network: The network.
        batch: The batch.
        training: False while a model is validated: dropout stays off.
        attention: Whether some term reads attention, so that the first pass records it.
        teacher: A frozen copy of the network that training started from, if some term needs it.
        figures: What terms have to say besides their value, e.g. the share of tokens that were masked.
    """

    network: Network
    batch: TrainingBatch
    training: bool = True
    attention: bool = False
    teacher: Network | None = None
    figures: dict[str, float] = field(default_factory=dict)
    _memory: dict[str, Tensor | Pass] = field(default_factory=dict)

    @property
    def passed(self) -> Pass:
        """The pass over the batch as it is."""
        found = self._memory.get("pass")
        if not isinstance(found, Pass):
            found = self._memory["pass"] = self.network.run(self.batch, train=self.training, attention=self.attention)
        return found

    @property
    def example_losses(self) -> Tensor:
        """Classification loss of each example, `[examples]`."""
        return example_losses(self.passed.logits, self.batch.labels)

    @property
    def loss_gradient(self) -> Tensor:
        """Gradient of each example's own loss by its word embeddings, differentiable, `[rows, tokens, dims]`."""
        found = self._memory.get("gradient")
        if not isinstance(found, Tensor):
            found = self._memory["gradient"] = gradient_of(self.example_losses.sum(), self.passed.embeddings)
        return found

    def pair_attention(self) -> Tensor:
        """Return the attention that decides each pair, `[pairs, tokens]`.

        In a model with label attention it is the label's own; otherwise the mean over heads of the last layer, on the
        rows that the head reads.
        """
        found = self.passed
        if found.label_attention is not None:
            return found.label_attention[self.batch.pair_example, self.batch.pair_label]
        return self._read(found.attention[-1].mean(dim=1))

    def pair_rollout(self) -> Tensor:
        """Return attention rolled out through all layers, on the rows that the head reads, `[pairs, tokens]`."""
        if self.passed.label_attention is not None:
            raise IncompatibleError("rollout cannot be trained in a model with label attention; train that attention.")
        return self._read(rollout(self.passed.attention))

    def pair_input_x_gradient(self) -> Tensor:
        """Return the sum over dimensions of embedding times gradient of a pair's logit, `[pairs, tokens]`.

        Pairs of different examples share a backward pass: an example's logits depend on its own embeddings alone.
        """
        batch, found = self.batch, self.passed
        rank = _rank_within(batch.pair_example)
        rows = torch.zeros(len(rank), batch.ids.shape[1], dtype=found.embeddings.dtype, device=batch.ids.device)
        for place in range(int(rank.max()) + 1 if len(rank) else 0):
            chosen = torch.nonzero(rank == place)[:, 0]
            own = found.logits[batch.pair_example[chosen], batch.pair_label[chosen]].sum()
            product = (found.embeddings * gradient_of(own, found.embeddings)).sum(-1)
            rows = rows.index_copy(0, chosen, self._to_tokens(product)[batch.pair_example[chosen]])
        return rows

    def _to_tokens(self, rows: Tensor) -> Tensor:
        """Put what is laid out as embeddings are, `[rows, tokens]`, back to `[examples, tokens]`."""
        if rows.shape == self.batch.ids.shape:
            return rows
        count, width = self.batch.ids.shape
        numbers = torch.arange(count * width, device=rows.device).reshape(count, width)
        places = self.network.to_rows(self.batch, numbers)
        flat = torch.zeros(count * width, dtype=rows.dtype, device=rows.device)
        real = self.network.to_rows(self.batch, self.batch.mask.long()).bool()
        return flat.index_copy(0, places[real], rows[real]).reshape(count, width)

    def _read(self, attention: Tensor) -> Tensor:
        """Weight the rows of attention `[examples, tokens, tokens]` as the head does, for each pair."""
        pooled = self.passed.pooled
        if pooled is None:
            raise RuntimeError("attention was not recorded: the term does not declare that it needs it.")
        return torch.einsum("et,etu->eu", pooled.to(attention.dtype), attention)[self.batch.pair_example]


def example_losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Return cross-entropy of each example, or the mean over its labels of binary cross-entropy."""
    if labels.ndim == 1:
        return functional.cross_entropy(logits, labels, reduction="none")
    return functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction="none").mean(-1)


def gradient_of(value: Tensor, inputs: Tensor) -> Tensor:
    """Return the gradient of a value, such that it can be differentiated again."""
    return torch.autograd.grad(value, inputs, create_graph=True)[0]


def probabilities(logits: Tensor, *, multi_label: bool) -> Tensor:
    """Return probabilities of labels."""
    return logits.sigmoid() if multi_label else logits.softmax(-1)


def rollout(attention: tuple[Tensor, ...]) -> Tensor:
    """Multiply the layers' row-normalised (A + I), A the mean over heads, `[examples, tokens, tokens]`."""
    rolled: Tensor | None = None
    for layer in attention:
        mixed = layer.mean(dim=1) + torch.eye(layer.shape[-1], dtype=layer.dtype, device=layer.device)
        mixed = mixed / mixed.sum(-1, keepdim=True)
        rolled = mixed if rolled is None else mixed @ rolled
    if rolled is None:
        raise RuntimeError("attention was not recorded: the term does not declare that it needs it.")
    return rolled


def _rank_within(groups: Tensor) -> Tensor:
    """Number the members of each group: 0 for its first, 1 for its second."""
    seen: dict[int, int] = {}
    ranks = []
    for group in groups.tolist():
        ranks.append(seen.get(group, 0))
        seen[group] = ranks[-1] + 1
    return torch.tensor(ranks, dtype=torch.long, device=groups.device)
