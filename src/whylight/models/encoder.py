"""Hugging Face sequence classifiers, encoders and decoders alike, as views.

Ids are always passed, and the word embeddings are exchanged by a hook where a view needs them: `inputs_embeds` changes
positions or the pooled token in several architectures.
"""

import inspect
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Bools, Floats
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import IncompatibleError, ModelError
from whylight.core.identity import digest
from whylight.core.labels import SCORE_SPACES, Labels, ScoreSpace
from whylight.core.text import Text
from whylight.models import anatomy, heads, readings, rules, tokenised, tracing, trial
from whylight.models.batching import Company, Engine, default_token_budget
from whylight.models.contents import model_contents
from whylight.models.frozen import frozen
from whylight.models.holding import held
from whylight.models.leaves import leaves
from whylight.models.lookups import word_embeddings, zeroed_embeddings
from whylight.models.networks.encoders import first_position
from whylight.models.outcomes import outcomes_of
from whylight.models.unchanged import padding_token, unchanged
from whylight.perturb.binding import available
from whylight.views.batch import Removal
from whylight.views.cache import Cache
from whylight.views.classifier import Offers, Outcomes, Request, game_of
from whylight.views.game import Game
from whylight.views.gradient import GradientView, Graph, Level
from whylight.views.layers import Recorded
from whylight.views.meter import Meter
from whylight.views.positions import Positions
from whylight.views.soft import SoftGame
from whylight.views.tokens import TokenBatch, TokenWindow, one_window
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
    """

    kind = "a Hugging Face classifier"
    reads = Text.kind
    score_spaces: tuple[ScoreSpace, ...] = SCORE_SPACES

    def __init__(self, model: Any, tokenizer: Any, *, labels: Labels, identity: str, limit: int) -> None:  # noqa: ANN401
        self.model = model
        self.tokenizer = tokenizer
        self.labels = labels
        self.identity = identity
        self.architecture = type(model).__name__
        self.limit = limit
        parameters = inspect.signature(model.forward).parameters
        self._accepted = frozenset(parameters)
        self._takes_anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
        self._config = model.config.get_text_config()
        self._first_position = first_position(model.base_model)
        with held(model):  # while it runs, it may have a padding token that is not its own
            self.replacements = self._find_replacements()
        budget = default_token_budget(model.device)
        self.engine = Engine(self.batch_logits, budget=budget, company=self._find_company)
        self.offers: Offers = {
            Game: partial(game_of, self),
            GradientView: self.gradient_view,
            SoftGame: self.soft_game,
            TraceView: self.trace_view,
        }
        self._findings: dict[type[View], str | None] = {}

    @property
    def n_layers(self) -> int:
        """Layers of the encoder; a configuration that does not say how many makes it an attribute that is missing."""
        return int(self._config.num_hidden_layers)

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on it, default first."""
        return available(TokenWindow, self.replacements)

    def encode(self, example: Text, *, unit: Unit, long: Long) -> Encoded:
        """Cut an example into features and windows."""
        with held(self.tokenizer):  # which keeps how it treats special tokens from one call to the next
            return tokenised.encode(
                self.tokenizer, example, unit=unit, long=long, limit=self.limit, replacements=self.replacements
            )

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
        positions = segment.example.coordinates(segment.places)
        return SoftGame(self.gradient_view(segment, request), remover=request.removing.name, positions=positions)

    def gradient_view(self, segment: Encoded, request: Request) -> GradientView:
        """Look at one window as a function of its word embeddings."""
        rows = one_row(segment)
        inputs = self._embed(rows.ids[0])

        def score(points: Tensor) -> Tensor:
            with unchanged(self.model), word_embeddings(self.model, lambda _embeddings: points):
                logits = self._forward(rows.take([0] * len(points))).logits
            return self._scores(logits, request)

        def graph(level: Level) -> Graph:
            with leaves(self.model, level) as sources:
                scores = self._scores(self._forward(rows).logits, request)
            if not sources.tokens:
                raise IncompatibleError(f"'{self.architecture}' does not show what its embedding module gives out.")
            return Graph(scores, sources.tokens[0], sources.others)

        return GradientView(
            score,
            inputs,
            baselines=self._baselines(segment, inputs),
            positions=self._positions(segment, request),
            rules={"rescale": rules.rescale, "frozen": frozen},
            graph=graph,
            row_limit=max(1, self.engine.budget // len(inputs)),
            meter=request.meter,
        )

    def trace_view(self, segment: Encoded, request: Request) -> TraceView:
        """Look at the attention and the layers of one window."""
        rows = one_row(segment)

        @cache
        def passed() -> Any:  # noqa: ANN401  a transformers output
            request.meter.forward += 1
            with unchanged(self.model), tracing.leaf_embeddings(self.model), tracing.recording(self.model):
                output = self._forward(rows, output_attentions=True, output_hidden_states=True)
            tracing.check_rows(output.get("attentions"), self.model, size=rows.ids.shape[1])
            return output

        def attention_gradient() -> Tensor:
            request.meter.backward += len(request.targets)
            with torch.enable_grad():
                scores = self._scores(passed().logits, request)[0]
                return tracing.last_layer_gradient(passed().attentions[-1], scores)

        def recorded() -> Recorded:
            request.meter.forward += readings.PASSES
            return readings.record_row(
                self.model, lambda: self._forward(rows).logits, columns=request.columns, head=self.labels.head
            )

        return LazyTraceView(
            lambda: (tuple(layer[0].detach() for layer in passed().attentions), tracing.pooled_rows(passed())),
            attention_gradient=attention_gradient,
            positions=self._positions(segment, request),
            recorded=recorded,
        )

    def contents(self) -> Mapping[str, str]:
        """Return hashes of weights, configuration and tokenizer, and of how the model is asked."""
        asked = digest([list(self.labels.names), self.labels.head, self.labels.threshold, self.limit])
        return {**model_contents(self.model, self.tokenizer), "labels or max_tokens": asked}

    def layers_obstacle(self, *, post_norm: bool) -> str | None:
        """Return why the layers of this model cannot be recorded, or None if they can."""
        return anatomy.anatomy_obstacle(self.model, post_norm=post_norm)

    def finding(self, view: type[View]) -> str | None:
        """Return what is wrong with a kind of view of this model, or None; found out by trying, once."""
        if view not in self._findings:
            attempt = trial.TRIALS.get(view)
            wrong = None if attempt is None else trial.outcome(lambda: attempt(self))
            self._findings[view] = None if wrong is None else f"that of '{self.architecture}' is not right: {wrong}"
        return self._findings[view]

    @cached_property
    def keys(self) -> frozenset[str]:
        """What the tokenizer returns and the model takes."""
        with held(self.tokenizer):
            returned = list(self.tokenizer("a"))
        return frozenset(name for name in returned if self._takes_anything or name in self._accepted)

    @cached_property
    def company(self) -> Company:
        """Which rows may share a batch; found out by trying."""
        return trial.company(self)

    def _find_company(self) -> Company:
        return self.company

    def batch_logits(self, rows: TokenBatch) -> Floats:
        """Run one batch without gradient."""
        with zeroed_embeddings(self.model, rows.zeroed):
            logits = self._forward(rows).logits
        values: Floats = heads.columns(logits, self.labels.head).double().cpu().numpy()
        if not np.isfinite(values).all():
            raise ModelError(f"the model '{self.identity}' returned a logit that is not a finite number.")
        return values

    def _forward(self, rows: TokenBatch, **options: bool | Tensor) -> Any:  # noqa: ANN401  a transformers output
        device = self.model.device
        lengths = torch.as_tensor(rows.lengths, device=device)
        ids = torch.as_tensor(np.ascontiguousarray(rows.ids), device=device)
        mask = torch.arange(ids.shape[1], device=device) < lengths[:, None]
        if "token_type_ids" in self.keys:
            options["token_type_ids"] = torch.as_tensor(np.ascontiguousarray(rows.types), device=device)
        if "use_cache" in self._accepted:
            options["use_cache"] = False
        if self._first_position is not None:
            # told to find them itself, the model would skip a number at each pad token that stands for a word
            numbers = torch.arange(ids.shape[1], device=device) + self._first_position
            options["position_ids"] = numbers.where(mask, self._first_position - 1)
        if "attention_mask" in self._accepted:
            options["attention_mask"] = mask.long()
        with padding_token(self.model, ids, self.tokenizer.pad_token_id) as pad:
            return self.model(input_ids=ids.masked_fill(~mask, pad), **options)

    def _scores(self, logits: Tensor, request: Request) -> Tensor:
        columns = heads.columns(logits, self.labels.head)
        return heads.scores(columns, self.labels.head, request.space)[:, request.columns]

    def _embed(self, ids: np.ndarray[Any, np.dtype[np.int64]]) -> Tensor:
        with held(self.model), torch.no_grad():
            embedded: Tensor = self.model.get_input_embeddings()(torch.as_tensor(ids, device=self.model.device))
            return embedded.detach()

    def _baselines(self, segment: Encoded, inputs: Tensor) -> Mapping[str, Tensor]:
        """Return the rows of "nothing": a replacement token, or zeros, wherever a feature stands."""
        content = torch.as_tensor(one_window(segment).feature >= 0, device=inputs.device)[:, None]
        rows = {name: self._embed(np.asarray([token])) for name, token in self.replacements.items()}
        rows["zero"] = torch.zeros_like(inputs[:1])
        return {name: torch.where(content, row, inputs) for name, row in rows.items()}

    def _positions(self, segment: Encoded, request: Request) -> Positions:
        feature = torch.as_tensor(one_window(segment).feature, device=self.model.device)
        return Positions(feature, segment.n_features, request.pieces)

    def _find_replacements(self) -> dict[str, int]:
        """Return the ids of the replacement tokens that the tokenizer has, in the order in which they are preferred."""
        tokens = {name: getattr(self.tokenizer, f"{name}_token_id", None) for name in ("mask", "unk", "pad")}
        # padding marks the end of a text for a decoder: inside the text it would move the position that is read, as the
        # token that ends a text would in models that read where it stands
        forbidden = {self._config.pad_token_id, tokens["pad"]} if self._pools_last else set()
        if getattr(self.model.config, "is_encoder_decoder", False):
            forbidden.add(self._config.eos_token_id)
        return {name: int(token) for name, token in tokens.items() if token is not None and token not in forbidden}

    @cached_property
    def _pools_last(self) -> bool:
        """Whether this is a decoder, whose head reads the last token that is not padding."""
        return "past_key_values" in self._accepted and not getattr(self.model.config, "is_encoder_decoder", False)


def one_row(segment: Encoded) -> TokenBatch:
    """Return the one window of a segment as a row."""
    window = one_window(segment)
    return TokenBatch(window.ids[None], window.types[None], np.asarray([len(window.ids)]))
