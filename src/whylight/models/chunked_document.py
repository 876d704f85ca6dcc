"""One document in front of a PLM-CA network, as a function of its word embeddings.

The logit of a label is a function of the document's merged summary (see `networks.summaries`), and a chunk enters it
through its own summary alone. So the gradient by the tokens of a chunk is that of

    f(merge(own summary, summaries of the others held constant)),

and is taken a few chunks at a time: only their activations stand in memory, however long the document is.
Cost: one forward pass to know the summaries, one more with a graph, and one backward pass per target. Chunks that a
point leaves as they are in the document are not encoded again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from whylight.core.arrays import Ints
from whylight.models.leaves import leaves
from whylight.models.lookups import word_embeddings
from whylight.models.networks import summaries
from whylight.models.networks.plm_ca import PlmCaForSequenceClassification, cut_chunks
from whylight.models.unchanged import unchanged
from whylight.views.gradient import GradientView, Graph, Level, Linearisation, Rule, gradient_of_each, linearised


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """The chunks of one document and the labels that read it.

    Attributes:
        model: The network.
        ids: `[chunks, size]`.
        mask: `[chunks, size]`, true at real tokens.
        types: `[chunks, size]`, if the tokenizer gives them.
        labels: The network's labels that are needed, `[labels]`.
        scores: Logits of those labels `[batch, labels]` -> scores `[batch, targets]`.
        rows_at_once: Chunks that may go through the encoder in one batch.
    """

    model: PlmCaForSequenceClassification
    ids: Tensor
    mask: Tensor
    types: Tensor | None
    labels: Tensor
    scores: Callable[[Tensor], Tensor]
    rows_at_once: int

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self.ids)

    def groups(self, points: int = 1) -> Iterator[slice]:
        """Yield chunks that go through the encoder together, for so many points at once."""
        step = max(1, self.rows_at_once // points)
        return (slice(first, min(first + step, self.n_chunks)) for first in range(0, self.n_chunks, step))

    def hidden(self) -> Tensor:
        """Return the encoded tokens of the document as it is, without gradient, `[tokens, size]`."""
        with unchanged(self.model), torch.no_grad():
            parts = [self.model.encode_chunks(*self._inputs(chunks)) for chunks in self.groups()]
        return torch.cat(parts)[self.mask]

    def alone(self) -> list[Callable[[], Tensor]]:
        """Return, for each chunk, what encodes its real tokens by themselves, `[1, tokens, size]`."""
        lengths = self.mask.sum(dim=1).tolist()
        found: list[Callable[[], Tensor]] = []
        for i, n in enumerate(lengths):
            ids, mask, types = self._inputs(slice(i, i + 1))
            own = None if types is None else types[:, :n]
            found.append(partial(self.model.encode_chunks, ids[:, :n], mask[:, :n], own))
        return found

    def attention(self) -> tuple[Tensor, ...]:
        """Return the attention inside the chunks, a layer each, mean over heads, `[chunks, size, size]`."""
        with unchanged(self.model), torch.no_grad():
            parts = [
                [layer.mean(1) for layer in self.model.chunk_attention(*self._inputs(chunks))]
                for chunks in self.groups()
            ]
        return tuple(torch.cat(layer) for layer in zip(*parts, strict=True))

    def summaries(self, rows: Tensor, chunks: slice | Tensor) -> Tensor:
        """Summarise word embeddings `[rows, size, dims]` that stand in the place of some chunks, one row each."""
        with unchanged(self.model), word_embeddings(self.model, lambda _embeddings: rows):
            return self._summarise(chunks)

    def read(self, parts: Tensor) -> Tensor:
        """Return the scores `[batch, targets]` of summaries `[batch, parts, labels, 2 + width]`."""
        with unchanged(self.model):
            return self._answer(parts)

    def graph(self, chunks: slice, fixed: Tensor | None, level: Level) -> Graph:
        """Return the scores as a function of the sources of a few chunks as they are.

        Args:
            chunks: The chunks.
            fixed: Summaries of all chunks, `[1, chunks, labels, 2 + width]`; those of the others are constants. None
                if there are no others.
            level: Where sources are.
        """
        with leaves(self.model, level) as sources:
            own = self._summarise(chunks)[None]
            others = [] if fixed is None else [fixed[:, : chunks.start], fixed[:, chunks.stop :]]
            parts = torch.cat([own, *others], dim=1)
            if chunks.start == 0:  # biases behind the labels' attention are used once, whichever chunks are looked at
                return Graph(self._answer(parts), sources.tokens[0], sources.others)
        return Graph(self.read(parts), sources.tokens[0], sources.others)

    def _summarise(self, chunks: slice | Tensor) -> Tensor:
        ids, mask, types = self._inputs(chunks)
        summary: Tensor = self.model.decoder.summarise(
            self.model.encode_chunks(ids, mask, types), mask, labels=self.labels, block=self.model.config.label_block
        )
        return summary

    def _answer(self, parts: Tensor) -> Tensor:
        return self.scores(self.model.decoder.answer_summary(summaries.merge(parts), self.labels))

    def _inputs(self, chunks: slice | Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        return self.ids[chunks], self.mask[chunks], None if self.types is None else self.types[chunks]


class DocumentGradientView(GradientView):
    """A document as a differentiable function of its word embeddings.

    Args:
        document: The document.
        inputs: Its word embeddings, `[tokens, dims]`.
        **options: Those of `GradientView`.
    """

    def __init__(self, document: Document, inputs: Tensor, **options: Any) -> None:  # noqa: ANN401  a view's own
        super().__init__(self.answers, inputs, **options)
        self._document = document
        self._own = self._cut(inputs[None])[0]
        self._known: dict[int, Tensor] = {}

    def gradients(self, points: Tensor, *, rule: Rule = "exact") -> Tensor:
        """Return d score / d point, `[targets, batch, positions, dims]`, for points `[batch, positions, dims]`."""
        document, size = self._document, self._own.shape[1]
        groups = list(document.groups(len(points)))
        fixed = self._summaries(points) if len(groups) > 1 else None
        found: Tensor | None = None
        for chunks in groups:
            tokens = slice(chunks.start * size, min(chunks.stop * size, points.shape[1]))
            leaf = points[:, tokens].detach().requires_grad_(True)  # noqa: FBT003  torch's own signature
            with torch.enable_grad(), self._rule(rule):
                scores = self._scores_of(leaf, chunks, fixed)
            self.meter.backward += scores.numel() * (chunks.stop - chunks.start)
            if found is None:
                found = points.new_empty(scores.shape[1], *points.shape)
            found[:, :, tokens] = gradient_of_each(scores, leaf)
        if found is None:
            raise ValueError("a document has at least one chunk")
        return found

    def linearise(self, *, level: Level, rule: Rule = "frozen") -> Linearisation:
        """Differentiate the untouched document by its sources at a level, a few chunks at a time.

        The attention of a label over the whole document is made of the summaries' maxima and masses. Under the rule
        `frozen` those are constants, of the chunks that are looked at and of the others, and the document's own.
        """
        document, size = self._document, self._own.shape[1]
        groups = list(document.groups())
        fixed = self._summaries(self.inputs[None]) if len(groups) > 1 else None
        found = []
        for chunks in groups:
            with torch.enable_grad(), self._rule(rule):
                graph = document.graph(chunks, fixed, level)
            count = chunks.stop - chunks.start
            self.meter.forward += count
            self.meter.backward += graph.scores.numel() * count
            found.append(linearised(graph, positions=min(count * size, len(self.inputs) - chunks.start * size)))
        return Linearisation(
            torch.cat([one.shares for one in found], dim=1),
            torch.stack([one.rest for one in found]).sum(0),
            found[0].scores,
        )

    def _scores_of(self, leaf: Tensor, chunks: slice, fixed: Tensor | None) -> Tensor:
        """Return scores as a function of a few chunks, `[batch, targets]`; summaries of the others are constants."""
        batch, count = len(leaf), chunks.stop - chunks.start
        numbers = torch.arange(chunks.start, chunks.stop, device=leaf.device).repeat(batch)
        own = self._document.summaries(self._cut(leaf).flatten(0, 1), numbers)
        self.meter.forward += len(numbers)
        others = [] if fixed is None else [fixed[:, : chunks.start], fixed[:, chunks.stop :]]
        return self._document.read(torch.cat([own.reshape(batch, count, *own.shape[1:]), *others], dim=1))

    def answers(self, points: Tensor) -> Tensor:
        """Return the scores `[batch, targets]` of documents; chunks that are as they were are encoded once."""
        if torch.is_grad_enabled() and points.requires_grad:
            return self._scores_of(points, slice(0, self._own.shape[0]), None)
        return self._document.read(self._summaries(points))

    @torch.no_grad()
    def _summaries(self, points: Tensor) -> Tensor:
        """Return the summaries of all chunks, `[batch, chunks, labels, 2 + width]`."""
        rows = self._cut(points)
        changed = (rows != self._own).flatten(2).any(dim=-1)
        self._learn([number for number in (~changed).any(dim=0).nonzero()[:, 0].tolist() if number not in self._known])
        fresh = iter(self._encoded(rows[changed], changed.nonzero()[:, 1]) if bool(changed.any()) else ())
        parts = [next(fresh) if new else self._known[i] for row in changed.tolist() for i, new in enumerate(row)]
        return torch.stack(parts).reshape(*changed.shape, *parts[0].shape)

    def _learn(self, chunks: list[int]) -> None:
        """Encode some chunks as they are in the document; points that leave them so share that."""
        if chunks:
            numbers = torch.as_tensor(chunks, device=self.inputs.device)
            self._known.update(zip(chunks, self._encoded(self._own[numbers], numbers), strict=True))

    def _encoded(self, rows: Tensor, chunks: Tensor) -> Tensor:
        self.meter.forward += len(rows)
        step = self._document.rows_at_once
        pairs = zip(torch.split(rows, step), torch.split(chunks, step), strict=True)
        return torch.cat([self._document.summaries(some, numbers) for some, numbers in pairs])

    def _cut(self, points: Tensor) -> Tensor:
        """Cut points `[batch, tokens, dims]` into chunks `[batch, chunks, size, dims]`."""
        return cut_chunks(points, size=self._document.ids.shape[1])


def document_of(
    model: PlmCaForSequenceClassification,
    ids: Ints,
    types: Ints | None,
    *,
    labels: Sequence[int],
    scores: Callable[[Tensor], Tensor],
    token_budget: int,
) -> Document:
    """Lay out one document for a network.

    Args:
        model: The network.
        ids: The document's tokens, `[1, tokens]`.
        types: Their types, if the tokenizer gives them.
        labels: The network's labels that are needed.
        scores: Logits of those labels `[batch, labels]` -> scores `[batch, targets]`.
        token_budget: Tokens that may go through the encoder at once.
    """
    size = min(model.config.chunk_size, ids.shape[1])
    tokens = torch.as_tensor(ids, device=model.device)
    return Document(
        model,
        cut_chunks(tokens, size=size, fill=model.config.pad_token_id or 0)[0],
        cut_chunks(torch.ones_like(tokens), size=size)[0].bool(),
        None if types is None else cut_chunks(torch.as_tensor(types, device=model.device), size=size)[0],
        torch.as_tensor(labels, device=model.device),
        scores,
        max(1, token_budget // size),
    )
