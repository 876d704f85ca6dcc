"""PLM-CA networks as classifiers: long documents, many labels, every view.

A document is one row of up to `max_tokens` tokens, which the network encodes in chunks and reads through the labels'
attention. The views use that chunks do not see each other:

- A game encodes each distinct variant of a chunk once, keeps the summaries of the labels that are looked at, and puts
  documents together from them, exactly. Leaving out each of N words in turn encodes N chunks and not N documents.
- Gradients are of the whole document, and are taken a few chunks at a time.
- Attention is the label's own, one row a target.

A row, in the sense of receipts, is a chunk: `forward_passes` counts the distinct chunks that were encoded.
Cost: memory for summaries is bounded by the cache of the case. Where so many labels are wanted at once that the
summaries of one document would not fit, they are read in blocks, each of which encodes the document anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Bools, Floats
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import ModelError
from whylight.core.text import Text
from whylight.models import heads, readings, rules, tracing
from whylight.models.chunk_variants import NOTHING, Chunk, Shelf, chunks_of, variants_of
from whylight.models.chunked_document import Document, DocumentGradientView, document_of
from whylight.models.encoder import TransformerClassifier, one_row
from whylight.models.frozen import frozen
from whylight.models.lookups import zeroed_embeddings
from whylight.models.networks import summaries
from whylight.models.networks.summaries import HEADER
from whylight.models.unchanged import unchanged
from whylight.views.batch import Removal
from whylight.views.cache import BoundedCache, Cache
from whylight.views.classifier import Outcomes, Request
from whylight.views.gradient import GradientView
from whylight.views.layers import Recorded
from whylight.views.meter import Meter
from whylight.views.tokens import TokenBatch, TokenWindow, one_window
from whylight.views.trace import LabelTraceView, TraceView

SUMMARY_BYTES = 2**28
"""Memory for the variants of chunks that are laid out together."""
TOKEN_BYTES = 40
"""What the ids, types and keys of one token of a variant take."""


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """What is asked of one row of a document.

    Attributes:
        chunks: The chunks of the row.
        removal: What "removed" means.
        shelf: Where summaries of the wanted labels lie.
        meter: Where chunks are counted.
    """

    chunks: list[Chunk]
    removal: Removal
    shelf: Shelf
    meter: Meter


class ChunkedClassifier(TransformerClassifier):
    """A PLM-CA network with its tokenizer.

    Args:
        model: A `PlmCaForSequenceClassification`.
        tokenizer: Its fast tokenizer.
        labels: Its labels and head.
        identity: A name for receipts.
        limit: Tokens that a document may have; a longer one is cut as a long text is.
    """

    kind = "a PLM-CA classifier"

    @property
    def n_layers(self) -> int:
        """Layers of the encoder, below the labels' attention."""
        return int(self.model.config.encoder.num_hidden_layers)

    def encode(self, example: Text, *, unit: Unit, long: Long) -> Encoded:
        """Cut an example into features and documents, which are read in chunks."""
        encoded = super().encode(example, unit=unit, long=long)
        size = int(self.model.config.chunk_size)
        rows = tuple(replace(one, chunk_size=size) for one in encoded.windows if isinstance(one, TokenWindow))
        count = sum(len(row.cut(size)) for row in rows)
        note = f"encoded in {count} chunks of at most {size} tokens; passes count chunks"
        return replace(encoded, windows=rows, notes=(*encoded.notes, note) if count > 1 else encoded.notes)

    def outcomes(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits; chunks that coalitions share are encoded once."""
        rows = [window for window in encoded.windows if isinstance(window, TokenWindow)]
        documents = [chunks_of(row, self.model.config.chunk_size) for row in rows]
        labels = self._every_label if columns is None or self.labels.head == "binary" else tuple(columns)
        blocks = self._blocks_of(labels, max(map(len, documents)), meter)

        def outcomes(keep: Bools) -> Floats:
            logits = np.zeros((len(keep), len(labels)))
            with unchanged(self.model), torch.inference_mode():
                for chunks in documents:
                    for some in blocks:
                        # what does not fit together must not fill the cache: the next block would drop it again
                        own = cache if len(blocks) == 1 else BoundedCache(SUMMARY_BYTES)
                        reading = _Reading(chunks, removal, Shelf(own, labels[some]), meter)
                        logits[:, some] += self._logits_of(reading, keep)
            return self._columns(logits / len(documents), columns)

        return outcomes

    def gradient_view(self, segment: Encoded, request: Request) -> GradientView:
        """Look at a whole document as a function of its word embeddings."""
        document = self._document(segment, request)
        inputs = self._embed(one_window(segment).ids)
        return DocumentGradientView(
            document,
            inputs,
            baselines=self._baselines(segment, inputs),
            positions=self._positions(segment, request),
            rules={"rescale": rules.rescale, "frozen": frozen},
            row_limit=max(1, self.engine.budget // len(inputs)),
            meter=request.meter,
        )

    def trace_view(self, segment: Encoded, request: Request) -> TraceView:
        """Look at the labels' attention over a whole document, and at the attention inside its chunks."""
        document = self._document(segment, request)
        request.meter.forward += document.n_chunks
        hidden = document.hidden()[None].requires_grad_(True)  # noqa: FBT003  torch's own signature
        real = torch.ones_like(hidden[..., 0])
        with unchanged(self.model), torch.enable_grad():
            logits, attention = self.model.decode(hidden, real, labels=document.labels, output_label_attention=True)
            scores = document.scores(logits)[0]
        own = [self._label_place(document, column) for column in request.columns]

        def gradient() -> Tensor:
            request.meter.backward += len(own) * document.n_chunks
            if self._apart(request):  # a label's score depends on its own attention alone
                with torch.enable_grad():
                    total = scores.sum()
                rows: Tensor = torch.autograd.grad(total, attention, retain_graph=True)[0][0]
                return rows
            each = [torch.autograd.grad(score, attention, retain_graph=True)[0][0] for score in scores]
            return torch.stack([rows[row] for rows, row in zip(each, own, strict=True)])

        def layers() -> tuple[Tensor, ...]:
            request.meter.forward += document.n_chunks
            with tracing.recording(self.model):
                found = document.attention()
            tracing.check_attentions(found, self.model)
            return found

        def recorded() -> Recorded:
            request.meter.forward += readings.PASSES * document.n_chunks
            return readings.record_document(
                self.model, document.alone(), columns=request.columns, head=self.labels.head
            )

        return LabelTraceView(
            attention[0, own].detach(),
            label_gradient=gradient,
            encoder_attention=layers,
            positions=self._positions(segment, request),
            recorded=recorded,
        )

    def _logits_of(self, reading: _Reading, keep: Bools) -> Floats:
        """Return the logits `[coalitions, labels]` of one row under many coalitions."""
        variant = len(reading.shelf.labels) * self._summary_bytes + TOKEN_BYTES * self.model.config.chunk_size
        step = max(1, SUMMARY_BYTES // (len(reading.chunks) * variant))
        parts = [self._logits_of_some(reading, keep[start : start + step]) for start in range(0, len(keep), step)]
        logits = np.concatenate([np.empty((0, len(reading.shelf.labels))), *parts])
        if not np.isfinite(logits).all():
            raise ModelError(f"the model '{self.identity}' returned a logit that is not a finite number.")
        return logits

    def _logits_of_some(self, reading: _Reading, keep: Bools) -> Floats:
        shelf = reading.shelf
        rows, place = variants_of(reading.chunks, keep, reading.removal)
        keys = rows.keys()
        wanted = shelf.to_compute(keys)
        forward = partial(self._summarise, labels=self._tensor(wanted))
        found = self.engine.answers(rows, keys, known=shelf.find, meter=reading.meter, forward=forward)
        answers = {key: answer if answer.columns else answer._replace(columns=wanted) for key, answer in found.items()}
        shelf.keep(answers)
        row_of = {key: row for row, key in enumerate(answers)}
        rows_of_places = np.asarray([*(row_of[key] for key in keys), NOTHING])  # place -1 finds the last
        table = torch.as_tensor(shelf.table(answers.values(), width=HEADER + self.model.decoder.width))
        merged = summaries.merge_rows(table, torch.as_tensor(rows_of_places[place]))
        logits: Tensor = self.model.decoder.answer_summary(merged.to(self.model.device), self._tensor(shelf.labels))
        return np.asarray(logits.double().cpu().numpy())

    def _summarise(self, rows: TokenBatch, *, labels: Tensor) -> Floats:
        """Encode one batch of chunks, and keep what they contribute to labels, `[chunks, labels, 2 + width]`."""
        device = self.model.device
        ids, types = (torch.as_tensor(np.ascontiguousarray(part), device=device) for part in (rows.ids, rows.types))
        mask = torch.arange(ids.shape[1], device=device) < torch.as_tensor(rows.lengths, device=device)[:, None]
        with zeroed_embeddings(self.model, rows.zeroed):
            filled = ids.masked_fill(~mask, self.model.config.pad_token_id or 0)
            hidden = self.model.encode_chunks(filled, mask, types if self._takes_types else None)
        summary = self.model.decoder.summarise(hidden, mask, labels=labels, block=self.model.config.label_block)
        return np.asarray(summary.cpu().numpy())

    def _blocks_of(self, labels: tuple[int, ...], n_chunks: int, meter: Meter) -> list[slice]:
        """Divide labels such that the summaries of one document fit into memory."""
        step = max(1, SUMMARY_BYTES // (n_chunks * self._summary_bytes))
        blocks = [slice(start, start + step) for start in range(0, len(labels), step)]
        if len(blocks) > 1:
            meter.notes.append(f"labels were read in {len(blocks)} blocks, each of which encodes the text anew")
        return blocks

    def _document(self, segment: Encoded, request: Request) -> Document:
        def scores(logits: Tensor) -> Tensor:
            own = heads.scores(heads.columns(logits, self.labels.head), self.labels.head, request.space)
            return own if self._apart(request) else own[:, request.columns]

        labels = request.columns if self._apart(request) else self._every_label
        budget = self.engine.budget
        row = one_row(segment)
        types = row.types if self._takes_types else None
        return document_of(self.model, row.ids, types, labels=labels, scores=scores, token_budget=budget)

    def _apart(self, request: Request) -> bool:
        """Say whether the score of a target depends on one label of the network alone, and each target on another."""
        head = self.labels.head
        return head == "sigmoid" or (head == "softmax" and request.space == "logit")

    def _label_place(self, document: Document, column: int) -> int:
        """Return where the label that a column is about stands among those of a document."""
        return 0 if self.labels.head == "binary" else document.labels.tolist().index(column)

    def _columns(self, logits: Floats, columns: Sequence[int] | None) -> Floats:
        """Turn logits of the network's labels into those of the columns that are wanted."""
        if self.labels.head != "binary":
            return logits
        both = np.concatenate([-logits, logits], axis=1)
        return both if columns is None else both[:, list(columns)]

    def _tensor(self, labels: Sequence[int]) -> Tensor:
        return torch.as_tensor(labels, device=self.model.device)

    @property
    def _takes_types(self) -> bool:
        return "token_type_ids" in self.keys

    @property
    def _every_label(self) -> tuple[int, ...]:
        return tuple(range(self.model.config.num_labels))

    @property
    def _summary_bytes(self) -> int:
        """Memory for what one chunk contributes to one label."""
        single = torch.promote_types(self.model.dtype, torch.float32)
        return int((HEADER + self.model.decoder.width) * single.itemsize)
