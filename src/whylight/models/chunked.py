"""PLM-CA networks as classifiers: long documents, many labels, every view.

A document is one row of up to `max_tokens` tokens, which the network encodes in chunks and reads through the labels'
attention. The views use that chunks do not see each other:

- A game encodes each distinct variant of a chunk once (`models/chunked_outcomes.py`).
- Gradients are of the whole document, and are taken a few chunks at a time.
- Attention is the label's own, one row per target.

A row, in the sense of receipts, is a chunk: `forward_passes` counts the distinct chunks that were encoded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from whylight.core import showing
from whylight.core.arrays import Floats
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.labels import Labels, ScoreSpace
from whylight.core.text import Text
from whylight.models import anatomy, heads, readings, rules, tracing, trial
from whylight.models.attributed import attributed_view
from whylight.models.batching import Company, Engine
from whylight.models.chunked_document import Document, DocumentGradientView, document_of
from whylight.models.chunked_outcomes import ChunkedOutcomes, every_label
from whylight.models.frozen import frozen
from whylight.models.token_network import TokenNetwork
from whylight.models.unchanged import unchanged
from whylight.views.attributed import AttributedView
from whylight.views.batch import Removal
from whylight.views.cache import Cache
from whylight.views.classifier import Offers, Outcomes, Request, game_of
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.layers import Recorded
from whylight.views.meter import Meter
from whylight.views.soft import SoftGame, soft_game_of
from whylight.views.tokens import TokenBatch, TokenWindow, one_window, segment_row
from whylight.views.trace import LabelTraceView, TraceView
from whylight.views.view import View


class ChunkedClassifier:
    """A PLM-CA network with its tokenizer.

    Args:
        model: A `PlmCaForSequenceClassification`.
        tokenizer: Its fast tokenizer.
        labels: Its labels and head.
        identity: A name for receipts.
        limit: Tokens that a document may have; a longer one is cut as a long text is.
    """

    kind = "a PLM-CA classifier"
    reads = Text.kind

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def __init__(self, model: Any, tokenizer: Any, *, labels: Labels, identity: str, limit: int) -> None:  # noqa: ANN401
        self.network = TokenNetwork(model, tokenizer, limit=limit)
        self.model, self.tokenizer, self.limit = model, tokenizer, limit
        self.architecture = self.network.architecture
        self.labels = labels
        self.score_spaces: tuple[ScoreSpace, ...] = labels.score_spaces
        self.identity = identity
        self._findings = trial.Findings(self)
        self.engine = Engine(self.batch_logits, budget=self.network.token_budget, company=self._find_company)
        self._outcomes = ChunkedOutcomes(self.network, self.engine, labels.head, identity)
        self.offers: Offers = {
            Game: partial(game_of, self),
            GradientView: self.gradient_view,
            SoftGame: self.soft_game,
            TraceView: self.trace_view,
            LabelTraceView: self.trace_view,  # which says that each label has an attention of its own
            AttributedView: self.attributed_view,
        }

    @property
    def n_layers(self) -> int:
        """Layers of the encoder, below the labels' attention."""
        return int(self.model.config.encoder.num_hidden_layers)

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on it, default first."""
        return self.network.removers

    @property
    def keys(self) -> frozenset[str]:
        """What the tokenizer returns and the model takes."""
        return self.network.keys

    @property
    def company(self) -> Company:
        """Which rows may share a batch; found out by trying."""
        return self._findings.company

    def _find_company(self) -> Company:  # a method, because a copy of the classifier has its own
        return self.company

    def encode(self, example: Text, *, unit: Unit, long: Long) -> Encoded:
        """Cut an example into features and documents, which are read in chunks."""
        encoded = self.network.encode(example, unit=unit, long=long)
        size = int(self.model.config.chunk_size)
        rows = tuple(replace(one, chunk_size=size) for one in encoded.windows if isinstance(one, TokenWindow))
        count = sum(len(row.cut(size)) for row in rows)
        note = f"encoded in {count} chunks of at most {size} tokens; passes count chunks"
        return replace(encoded, windows=rows, notes=(*encoded.notes, note) if count > 1 else encoded.notes)

    def outcomes(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits; chunks that coalitions share are encoded once."""
        return self._outcomes.of(encoded, removal=removal, cache=cache, meter=meter, columns=columns)

    def soft_game(self, segment: Encoded, request: Request) -> SoftGame:
        """Look at one window as a function of how far each feature is present."""
        return soft_game_of(self.gradient_view(segment, request), segment, request)

    def gradient_view(self, segment: Encoded, request: Request) -> GradientView:
        """Look at a whole document as a function of its word embeddings."""
        document = self._document(segment, request)
        inputs = self.network.embed(one_window(segment).ids)
        return DocumentGradientView(
            document,
            inputs,
            baselines=self.network.baselines(segment, inputs),
            positions=self.network.positions(segment, request),
            rules={"rescale": rules.rescale, "frozen": frozen},
            row_limit=max(1, self.engine.budget // len(inputs)),
            meter=request.meter,
            all_labels=lambda: self.gradient_view(segment, request.of_all(self.labels)),
        )

    def attributed_view(self, encoded: Encoded, request: Request) -> AttributedView:
        """Look at an input through a network that was fitted to this model."""
        return attributed_view(self, encoded, request)

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
            positions=self.network.positions(segment, request),
            recorded=recorded,
        )

    def contents(self) -> Mapping[str, str]:
        """Return hashes of weights, configuration and tokenizer, and of how the model is asked."""
        return self.network.contents(self.labels)

    def layers_obstacle(self, *, post_norm: bool) -> str | None:
        """Return why the layers of this model cannot be recorded, or None if they can."""
        return anatomy.anatomy_obstacle(self.model, post_norm=post_norm)

    def finding(self, view: type[View]) -> str | None:
        """Return what is wrong with a kind of view of this model, or None; found out by trying, once."""
        return self._findings.about(view)

    def batch_logits(self, rows: TokenBatch) -> Floats:
        """Run one batch without gradient."""
        return self.network.label_logits(rows, head=self.labels.head, identity=self.identity)

    def with_model(self, model: Any, *, identity: str) -> "ChunkedClassifier":  # noqa: ANN401
        """Return the same classifier on another model of the same shape."""
        return ChunkedClassifier(model, self.tokenizer, labels=self.labels, identity=identity, limit=self.limit)

    def _document(self, segment: Encoded, request: Request) -> Document:
        def scores(logits: Tensor) -> Tensor:
            own = heads.scores(heads.columns(logits, self.labels.head), self.labels.head, request.space)
            return own if self._apart(request) else own[:, request.columns]

        labels = request.columns if self._apart(request) else every_label(self.network)
        budget = self.engine.budget
        row = segment_row(segment)
        types = row.types if self.network.takes_types else None
        return document_of(self.model, row.ids, types, labels=labels, scores=scores, token_budget=budget)

    def _apart(self, request: Request) -> bool:
        """Say whether the score of a target depends on one label of the network alone, and each target on another."""
        head = self.labels.head
        return head == "sigmoid" or (head == "softmax" and request.space == "logit")

    def _label_place(self, document: Document, column: int) -> int:
        """Return where the label that a column is about stands among those of a document."""
        return 0 if self.labels.head == "binary" else document.labels.tolist().index(column)
