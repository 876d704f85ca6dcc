"""A Hugging Face network with its tokenizer: what classifiers on tokens hold in common, whatever their head and views.

Ids are always passed, and the word embeddings are exchanged by a hook where a view needs them: `inputs_embeds` changes
positions or the pooled token in several architectures.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whylight.core.arrays import Floats, Ints
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import ModelError
from whylight.core.identity import digest
from whylight.core.labels import Head, Labels
from whylight.core.text import Text
from whylight.models import heads, tokenised
from whylight.models.batching import default_token_budget
from whylight.models.contents import model_contents
from whylight.models.holding import held
from whylight.models.lookups import zeroed_embeddings
from whylight.models.networks.encoders import first_position
from whylight.models.unchanged import padding_token
from whylight.perturb.binding import available
from whylight.views.classifier import Request
from whylight.views.positions import Positions
from whylight.views.tokens import TokenBatch, TokenWindow, one_window


class TokenNetwork:
    """A network that reads tokens, and its tokenizer.

    Args:
        model: A Hugging Face model.
        tokenizer: Its fast tokenizer.
        limit: Tokens that it reads at once.
    """

    kind = "a Hugging Face classifier"
    explains_blocks = False
    """Whether features are more than words of texts."""
    costs: Callable[[TokenBatch], Ints] | None = None
    """What each row takes, where that is not its length."""

    def __init__(self, model: Any, tokenizer: Any, *, limit: int) -> None:  # noqa: ANN401  transformers' own types
        self.model = model
        self.tokenizer = tokenizer
        self.limit = limit
        self.architecture = type(model).__name__
        self.config = model.config.get_text_config()
        parameters = inspect.signature(model.forward).parameters
        self._accepted = frozenset(parameters)
        self._takes_anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
        self._first_position = first_position(model.base_model)
        with held(model):  # while it runs, it may have a padding token that is not its own
            self.replacements = self._find_replacements()
        self.token_budget = default_token_budget(model.device)

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on its windows, default first."""
        return available(TokenWindow, (*self.replacements, "zero"))

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        device: torch.device = self.model.device
        return device

    @cached_property
    def keys(self) -> frozenset[str]:
        """What the tokenizer returns and the model takes."""
        with held(self.tokenizer):
            returned = list(self.tokenizer("a"))
        return frozenset(name for name in returned if self._takes_anything or name in self._accepted)

    @property
    def takes_types(self) -> bool:
        """Whether the model is told which text of a pair a token is of."""
        return "token_type_ids" in self.keys

    def encode(self, example: Text, *, unit: Unit, long: Long) -> Encoded:
        """Cut an example into features and windows."""
        with held(self.tokenizer):  # which keeps how it treats special tokens from one call to the next
            return tokenised.encode(
                self.tokenizer, example, unit=unit, long=long, limit=self.limit, replacements=self.replacements
            )

    def forward(self, rows: TokenBatch, **options: Any) -> Any:  # noqa: ANN401  a transformers output
        """Run one batch; who calls says whether there are gradients.

        Args:
            rows: The batch.
            **options: What the model is asked for besides, e.g. `output_attentions=True`.
        """
        if "use_cache" in self._accepted:
            options.setdefault("use_cache", False)
        ids = torch.as_tensor(np.ascontiguousarray(rows.ids), device=self.model.device)
        with padding_token(self.model, ids, self.tokenizer.pad_token_id) as pad:
            return self.model(**self.inputs(rows, pad=pad), **options)

    def inputs(self, rows: TokenBatch, *, pad: int) -> dict[str, Tensor]:
        """Return what the model is given for one batch, by name.

        Args:
            rows: The batch.
            pad: The id that stands behind the ends of rows.
        """
        device = self.model.device
        ids = torch.as_tensor(np.ascontiguousarray(rows.ids), device=device)
        mask = torch.arange(ids.shape[1], device=device) < torch.as_tensor(rows.lengths, device=device)[:, None]
        given = {"input_ids": ids.masked_fill(~mask, pad)}
        if "attention_mask" in self._accepted:
            given["attention_mask"] = mask.long()
        if self.takes_types:
            given["token_type_ids"] = torch.as_tensor(np.ascontiguousarray(rows.types), device=device)
        if self._first_position is not None:
            # told to find them itself, the model would skip a number at each pad token that stands for a word
            numbers = torch.arange(ids.shape[1], device=device) + self._first_position
            given["position_ids"] = numbers.where(mask, self._first_position - 1)
        return given

    def example(self, text: str) -> Text:
        """Return an input that it reads, with a text in it."""
        return Text(text)

    def plain_inputs(self, example: Text, window: TokenWindow) -> Mapping[str, Tensor]:
        """Return what the tokenizer gives for a text; of a text that is too long, what is left of it in a window."""
        with held(self.tokenizer):
            given = self.tokenizer(example.text, return_tensors="pt", verbose=False).to(self.model.device)
        if given["input_ids"].shape[1] != len(window.ids):
            row = {"input_ids": window.ids, "token_type_ids": window.types, "attention_mask": np.ones_like(window.ids)}
            given = {name: torch.as_tensor(values, device=self.model.device)[None] for name, values in row.items()}
        return {name: value for name, value in given.items() if name in self.keys}

    def plain_logits(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return what the model itself says of one text, as it is when it is called by itself."""
        logits: Tensor = self.model(**inputs).logits
        return logits

    def with_model(self, model: Any) -> "TokenNetwork":  # noqa: ANN401  transformers' own type
        """Return the same network on another model of the same shape."""
        return TokenNetwork(model, self.tokenizer, limit=self.limit)

    def label_logits(self, rows: TokenBatch, *, head: Head, identity: str) -> Floats:
        """Run one batch without gradient, where the network ends in a head for labels; one column per label."""
        with zeroed_embeddings(self.model, rows.zeroed):
            logits = self.forward(rows).logits
        values: Floats = heads.columns(logits, head).double().cpu().numpy()
        if not np.isfinite(values).all():
            raise ModelError(f"the model '{identity}' returned a logit that is not a finite number.")
        return values

    def embed(self, ids: Ints) -> Tensor:
        """Return the word embeddings of tokens, `[tokens, dims]`."""
        with held(self.model), torch.no_grad():
            embedded: Tensor = self.model.get_input_embeddings()(torch.as_tensor(ids, device=self.model.device))
            return embedded.detach()

    @property
    def embed_size(self) -> int:
        """Width of the word embeddings."""
        return int(self.model.get_input_embeddings().weight.shape[1])

    def baselines(self, segment: Encoded, inputs: Tensor) -> Mapping[str, Tensor]:
        """Return the rows of "nothing": a replacement token, or zeros, wherever a feature stands."""
        content = torch.as_tensor(one_window(segment).feature >= 0, device=inputs.device)[:, None]
        rows = {name: self.embed(np.asarray([token])) for name, token in self.replacements.items()}
        rows["zero"] = torch.zeros_like(inputs[:1])
        return {name: torch.where(content, row, inputs) for name, row in rows.items()}

    def positions(self, segment: Encoded, request: Request) -> Positions:
        """Return which feature each token of one window belongs to."""
        feature = torch.as_tensor(one_window(segment).feature, device=self.model.device)
        return Positions(feature, segment.n_features, request.pieces)

    def contents(self, labels: Labels) -> dict[str, str]:
        """Return hashes of weights, configuration and tokenizer, and of how the model is asked."""
        asked = digest([list(labels.names), labels.head, labels.threshold, self.limit])
        return {**model_contents(self.model, self.tokenizer), "labels or max_tokens": asked}

    def _find_replacements(self) -> dict[str, int]:
        """Return the ids of the replacement tokens that the tokenizer has, in the order in which they are preferred."""
        tokens = {name: getattr(self.tokenizer, f"{name}_token_id", None) for name in ("mask", "unk", "pad")}
        # padding marks the end of a text for a decoder: inside the text it would move the position that is read, as the
        # token that ends a text would in models that read where it stands
        forbidden = {self.config.pad_token_id, tokens["pad"]} if self._pools_last else set()
        if getattr(self.model.config, "is_encoder_decoder", False):
            forbidden.add(self.config.eos_token_id)
        return {name: int(token) for name, token in tokens.items() if token is not None and token not in forbidden}

    @cached_property
    def _pools_last(self) -> bool:
        """Whether this is a decoder, whose head reads the last token that is not padding."""
        return "past_key_values" in self._accepted and not getattr(self.model.config, "is_encoder_decoder", False)
