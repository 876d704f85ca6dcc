"""How coalitions of a PLM-CA document become logits.

A game encodes each distinct variant of a chunk once, keeps the summaries of the labels that are looked at, and puts
documents together from them, exactly. Leaving out each of N words in turn encodes N chunks and not N documents.

A row, in the sense of receipts, is a chunk: `forward_passes` counts the distinct chunks that were encoded.
Cost: memory for summaries is bounded by the cache of the case. Where so many labels are wanted at once that the
summaries of one document would not fit, they are read in blocks, each of which encodes the document anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Bools, Floats
from whylight.core.encoded import Encoded
from whylight.core.errors import ModelError
from whylight.core.labels import Head
from whylight.models.batching import Engine
from whylight.models.chunk_variants import NOTHING, Chunk, Shelf, chunks_of, variants_of
from whylight.models.lookups import zeroed_embeddings
from whylight.models.networks import summaries
from whylight.models.networks.summaries import HEADER
from whylight.models.token_network import TokenNetwork
from whylight.models.unchanged import unchanged
from whylight.views.batch import Removal
from whylight.views.cache import BoundedCache, Cache
from whylight.views.classifier import Outcomes
from whylight.views.meter import Meter
from whylight.views.tokens import TokenBatch, TokenWindow

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


@dataclass(frozen=True, slots=True, eq=False)
class ChunkedOutcomes:
    """Builds functions from coalitions to logits.

    Attributes:
        network: The network, with its tokenizer.
        engine: What chunks go through.
        head: What the logits of the network are.
        identity: What to call the model in a message.
    """

    network: TokenNetwork
    engine: Engine
    head: Head
    identity: str

    def of(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None
    ) -> Outcomes:
        """Return the function of one text; chunks that coalitions share are encoded once."""
        rows = [window for window in encoded.windows if isinstance(window, TokenWindow)]
        documents = [chunks_of(row, self._model.config.chunk_size) for row in rows]
        labels = every_label(self.network) if columns is None or self.head == "binary" else tuple(columns)
        blocks = self._blocks_of(labels, max(map(len, documents)), meter)

        def outcomes(keep: Bools) -> Floats:
            logits = np.zeros((len(keep), len(labels)))
            with unchanged(self._model), torch.inference_mode():
                for chunks in documents:
                    for some in blocks:
                        # what does not fit together must not fill the cache: the next block would drop it again
                        own = cache if len(blocks) == 1 else BoundedCache(SUMMARY_BYTES)
                        reading = _Reading(chunks, removal, Shelf(own, labels[some]), meter)
                        logits[:, some] += self._logits_of(reading, keep)
            return self._columns(logits / len(documents), columns)

        return outcomes

    @property
    def _model(self) -> Any:  # noqa: ANN401  a `PlmCaForSequenceClassification`
        return self.network.model

    def _logits_of(self, reading: _Reading, keep: Bools) -> Floats:
        """Return the logits `[coalitions, labels]` of one row under many coalitions."""
        variant = len(reading.shelf.labels) * self._summary_bytes + TOKEN_BYTES * self._model.config.chunk_size
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
        table = torch.as_tensor(shelf.table(answers.values(), width=HEADER + self._model.decoder.width))
        merged = summaries.merge_rows(table, torch.as_tensor(rows_of_places[place]))
        logits: Tensor = self._model.decoder.answer_summary(merged.to(self._model.device), self._tensor(shelf.labels))
        return np.asarray(logits.double().cpu().numpy())

    def _summarise(self, rows: TokenBatch, *, labels: Tensor) -> Floats:
        """Encode one batch of chunks, and keep what they contribute to labels, `[chunks, labels, 2 + width]`."""
        device = self._model.device
        ids, types = (torch.as_tensor(np.ascontiguousarray(part), device=device) for part in (rows.ids, rows.types))
        mask = torch.arange(ids.shape[1], device=device) < torch.as_tensor(rows.lengths, device=device)[:, None]
        with zeroed_embeddings(self._model, rows.zeroed):
            filled = ids.masked_fill(~mask, self._model.config.pad_token_id or 0)
            hidden = self._model.encode_chunks(filled, mask, types if self.network.takes_types else None)
        summary = self._model.decoder.summarise(hidden, mask, labels=labels, block=self._model.config.label_block)
        return np.asarray(summary.cpu().numpy())

    def _blocks_of(self, labels: tuple[int, ...], n_chunks: int, meter: Meter) -> list[slice]:
        """Divide labels such that the summaries of one document fit into memory."""
        step = max(1, SUMMARY_BYTES // (n_chunks * self._summary_bytes))
        blocks = [slice(start, start + step) for start in range(0, len(labels), step)]
        if len(blocks) > 1:
            meter.notes.append(f"labels were read in {len(blocks)} blocks, each of which encodes the text anew")
        return blocks

    def _columns(self, logits: Floats, columns: Sequence[int] | None) -> Floats:
        """Turn logits of the network's labels into those of the columns that are wanted."""
        if self.head != "binary":
            return logits
        both = np.concatenate([-logits, logits], axis=1)
        return both if columns is None else both[:, list(columns)]

    def _tensor(self, labels: Sequence[int]) -> Tensor:
        return torch.as_tensor(labels, device=self._model.device)

    @property
    def _summary_bytes(self) -> int:
        """Memory for what one chunk contributes to one label."""
        single = torch.promote_types(self._model.dtype, torch.float32)
        return int((HEADER + self._model.decoder.width) * single.itemsize)


def every_label(network: TokenNetwork) -> tuple[int, ...]:
    """Return the numbers of all labels that a network has."""
    return tuple(range(network.model.config.num_labels))
