"""Hugging Face sequence classifiers, encoders and decoders alike, as views.

A document is cut into windows, which are looked at one by one; its logits are the mean over them.
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from whylight.core import showing
from whylight.core.arrays import Bools, Floats
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import IncompatibleError
from whylight.core.labels import Labels, ScoreSpace
from whylight.core.text import Text
from whylight.models import anatomy, heads, readings, rules, tracing, trial
from whylight.models.asking import text_view
from whylight.models.attributed import attributed_view
from whylight.models.batching import Company, Engine
from whylight.models.frozen import frozen
from whylight.models.leaves import leaves
from whylight.models.lookups import word_embeddings
from whylight.models.outcomes import outcomes_of
from whylight.models.prompted import PromptedNetwork
from whylight.models.token_network import TokenNetwork
from whylight.models.unchanged import unchanged
from whylight.models.writing import WritingNetwork
from whylight.views.asking import TextView
from whylight.views.attributed import AttributedView
from whylight.views.batch import Removal
from whylight.views.cache import Cache
from whylight.views.classifier import Offers, Outcomes, Request, game_of
from whylight.views.game import Game
from whylight.views.gradient import GradientView, Graph, Level
from whylight.views.joint import Joint
from whylight.views.layers import Recorded
from whylight.views.meter import Meter
from whylight.views.soft import SoftGame, soft_game_of
from whylight.views.tokens import TokenBatch, segment_row, stacked
from whylight.views.trace import LazyTraceView, TraceView
from whylight.views.view import View


class TransformerClassifier:
    """A sequence classifier with its tokenizer.

    Args:
        model: A Hugging Face model with a sequence classification head.
        tokenizer: Its fast tokenizer.
        labels: Its labels and head.
        identity: A name for receipts.
        limit: Tokens that it reads at once.
        network: What stands between rows and labels, where that is more than the model: a prompt.
    """

    reads = Text.kind

    __repr__ = showing.as_text
    _repr_html_ = showing.as_html
    to_frame = showing.to_frame
    save = showing.save

    def __init__(
        self,
        model: Any,  # noqa: ANN401
        tokenizer: Any,  # noqa: ANN401
        *,
        labels: Labels,
        identity: str,
        limit: int,
        network: TokenNetwork | None = None,
    ) -> None:
        self.network = TokenNetwork(model, tokenizer, limit=limit) if network is None else network
        self.kind = self.network.kind
        self.model, self.tokenizer, self.limit = model, tokenizer, self.network.limit
        self.architecture = self.network.architecture
        self.labels = labels
        self.score_spaces: tuple[ScoreSpace, ...] = labels.score_spaces
        self.identity = identity
        self._findings = trial.Findings(self)
        self.engine = Engine(
            self.batch_logits,
            budget=self.network.token_budget,
            company=self._find_company,
            costs=self.network.costs,
        )
        self._joint = Joint(self._answers_together, self._room)
        self.offers: Offers = {
            Game: partial(game_of, self),
            GradientView: self.gradient_view,
            SoftGame: self.soft_game,
            TraceView: self.trace_view,
        }
        words = not self.network.explains_blocks  # these two look at words of texts alone
        if isinstance(self.network, PromptedNetwork) and words:
            self.offers[TextView] = partial(text_view, self.network)
        if not labels.open and words:  # a network is fitted to labels that are always the same
            self.offers[AttributedView] = self.attributed_view

    @property
    def n_layers(self) -> int:
        """Layers of the encoder; a configuration that does not say how many makes it an attribute that is missing."""
        return int(self.network.config.num_hidden_layers)

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
        """Cut an example into features and windows."""
        return self.network.encode(example, unit=unit, long=long)

    def about(self, encoded: Encoded, asked: Sequence[str]) -> tuple["TransformerClassifier", tuple[str, ...]]:
        """Return the classifier in front of one input, and notes: one whose labels are texts has others for each."""
        if not isinstance(self.network, WritingNetwork):
            return self, ()
        network, labels, notes = self.network.about(encoded, asked)
        own = TransformerClassifier(
            self.model, self.tokenizer, labels=labels, identity=self.identity, limit=self.limit, network=network
        )
        own._findings = self._findings
        return own, notes

    def outcomes(
        self, encoded: Encoded, *, removal: Removal, cache: Cache, meter: Meter, columns: Sequence[int] | None = None
    ) -> Outcomes:
        """Return the function from coalitions to logits; the logits of a document are the mean over its windows."""
        answers = partial(self.engine.logits, cache=cache, meter=meter)
        ask = outcomes_of(encoded, removal, answers, labels=self.labels, columns=columns)

        def outcomes(keep: Bools) -> Floats:
            with unchanged(self.model), torch.inference_mode():
                return ask(keep)

        return outcomes

    def soft_game(self, segment: Encoded, request: Request) -> SoftGame:
        """Look at one window as a function of how far each feature is present."""
        return soft_game_of(self.gradient_view(segment, request), segment, request)

    def gradient_view(self, segment: Encoded, request: Request) -> GradientView:
        """Look at one window as a function of its word embeddings."""
        rows = segment_row(segment)
        inputs = self.network.embed(rows.ids[0])

        def score(points: Tensor) -> Tensor:
            with unchanged(self.model), word_embeddings(self.model, lambda _embeddings: points):
                logits = self.network.forward(rows.take([0] * len(points))).logits
            return heads.wanted_scores(logits, self.labels.head, request)

        def graph(level: Level) -> Graph:
            with leaves(self.model, level) as sources:
                scores = heads.wanted_scores(self.network.forward(rows).logits, self.labels.head, request)
            if not sources.tokens:
                raise IncompatibleError(f"'{self.architecture}' does not show what its embedding module gives out.")
            return Graph(scores, sources.tokens[0], sources.others)

        return GradientView(
            score,
            inputs,
            baselines=self.network.baselines(segment, inputs),
            positions=self.network.positions(segment, request),
            rules={"rescale": rules.rescale, "frozen": frozen},
            graph=graph,
            row_limit=max(1, self.engine.budget // len(inputs)),
            meter=request.meter,
            joint=self._joint,
            row=(rows, request),
            all_labels=lambda: self.gradient_view(segment, request.of_all(self.labels)),
        )

    def _answers_together(self, asked: Sequence[tuple[tuple[TokenBatch, Request], Tensor]]) -> list[Tensor]:
        """Run points of several rows in one batch; the word embeddings of padding are 0, and nobody attends to them."""
        rows = stacked([row.take([0] * len(points)) for (row, _), points in asked])
        width = rows.ids.shape[1]
        every = torch.cat([pad(points, (0, 0, 0, width - points.shape[1])) for _, points in asked])
        with unchanged(self.model), word_embeddings(self.model, lambda _embeddings: every):
            logits = self.network.forward(rows).logits
        each = logits.split([len(points) for _, points in asked])
        return [heads.wanted_scores(own, self.labels.head, one) for own, ((_, one), _) in zip(each, asked, strict=True)]

    def _room(self, lengths: Sequence[int]) -> int:
        """Return how many tokens a batch of rows of these lengths may hold; 0 if they must not share one."""
        shared = self.company == "any" or (self.company == "alike" and len(set(lengths)) == 1)
        return self.engine.budget if shared else 0

    def attributed_view(self, encoded: Encoded, request: Request) -> AttributedView:
        """Look at an input through a network that was fitted to this model."""
        return attributed_view(self, encoded, request)

    def trace_view(self, segment: Encoded, request: Request) -> TraceView:
        """Look at the attention and the layers of one window."""
        rows = segment_row(segment)

        @cache
        def passed() -> Any:  # noqa: ANN401  a transformers output
            request.meter.forward += 1
            with unchanged(self.model), tracing.leaf_embeddings(self.model), tracing.recording(self.model):
                output = self.network.forward(rows, output_attentions=True, output_hidden_states=True)
            tracing.check_rows(output.get("attentions"), self.model, size=rows.ids.shape[1])
            return output

        def attention_gradient() -> Tensor:
            request.meter.backward += len(request.targets)
            with torch.enable_grad():
                scores = heads.wanted_scores(passed().logits, self.labels.head, request)[0]
                return tracing.last_layer_gradient(passed().attentions[-1], scores)

        def recorded() -> Recorded:
            request.meter.forward += readings.PASSES
            return readings.record_row(
                self.model, lambda: self.network.forward(rows).logits, columns=request.columns, head=self.labels.head
            )

        return LazyTraceView(
            lambda: (tuple(layer[0].detach() for layer in passed().attentions), tracing.pooled_rows(passed())),
            attention_gradient=attention_gradient,
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

    def with_model(self, model: Any, *, identity: str) -> "TransformerClassifier":  # noqa: ANN401
        """Return the same classifier on another model of the same shape."""
        network = self.network.with_model(model)
        return TransformerClassifier(
            model, self.tokenizer, labels=self.labels, identity=identity, limit=self.limit, network=network
        )
