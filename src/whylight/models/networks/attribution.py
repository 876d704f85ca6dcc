"""The attribution network of AML: an encoder that reads a text and a prediction, and scores each token.

    z = z_0 + sum over classes j of y_j z_j            the prediction, as one more token behind the last one of the text
    h = encoder(x_1, ..., x_n, z)
    a_i = sigmoid(w . tanh(W h_i + b) + c)             the same head for every token

The prediction token goes in among the word embeddings, so that it gets a position and the encoder's own norm. Ids are
passed as always, with the last token's in its place, and its embedding is exchanged by a hook (see `lookups`).

Reference: Barkan et al. 2024, section 3.3. Cost: one pass of the encoder. The published code divides z by the number of
classes (`published`), and puts dropout before the head; the encoder's own dropout is all that there is here.
"""

import copy
import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel

from whylight.core.errors import ModelError
from whylight.models.folder import ATTRIBUTION
from whylight.models.lookups import word_embeddings
from whylight.models.networks.encoders import first_position, without_pooler


class AttributionConfig(PreTrainedConfig):  # type: ignore[misc]  # transformers is untyped for us
    """The settings of an attribution network, and whose it is.

    Args:
        encoder: The encoder's configuration, or the dictionary of one with its `model_type`.
        n_classes: Labels of the model that is explained.
        mask_size: Width of the learned mask embedding; 0 where none is learned.
        limit: Tokens that it reads at once, the prediction token not counted.
        mask: What it is asked to be good at, as in `DualMask`.
        metric: The metric that it was fitted for.
        explains: Hashes of the model that it was fitted to, by what they are of.
        interrupted: Where the fit was stopped, in words; empty if it was not.
        **options: Whatever every configuration of transformers takes.
    """

    model_type = ATTRIBUTION
    sub_configs: ClassVar[dict[str, Any]] = {"encoder": AutoConfig}

    def __init__(  # noqa: PLR0913  every argument is optional and named
        self,
        *,
        encoder: PreTrainedConfig | Mapping[str, Any] | None = None,
        n_classes: int = 2,
        mask_size: int = 0,
        limit: int = 512,
        mask: Mapping[str, Any] | None = None,
        metric: str = "",
        explains: Mapping[str, str] | None = None,
        interrupted: str = "",
        **options: Any,  # noqa: ANN401  transformers' own
    ) -> None:
        if not isinstance(encoder, PreTrainedConfig):
            # transformers compares every configuration with the one made without arguments
            encoder = AutoConfig.for_model(**({"model_type": "bert"} if encoder is None else encoder))
        self.encoder: Any = encoder
        self.n_classes = n_classes
        self.mask_size = mask_size
        self.limit = limit
        self.mask = dict(mask or {})
        self.metric = metric
        self.explains = dict(explains or {})
        self.interrupted = interrupted
        super().__init__(**options)


class AttributionNetwork(PreTrainedModel):  # type: ignore[misc]  # transformers is untyped for us
    """An encoder with class embeddings and a head for tokens."""

    config_class = AttributionConfig
    base_model_prefix = "attribution"
    main_input_name = "input_ids"
    accepts_loss_kwargs = False  # losses are means: the trainer itself must divide them among accumulation steps
    _supports_sdpa = True
    _supports_flash_attn = True

    def __init__(self, config: AttributionConfig) -> None:
        super().__init__(config)
        if config.encoder.is_encoder_decoder:
            raise ModelError(f"'{config.encoder.model_type}' is an encoder with a decoder; AML needs an encoder.")
        self.encoder = AutoModel.from_config(config.encoder, **without_pooler(config.encoder))
        config.encoder = self.encoder.config  # from_config made a copy, which is the one that the layers look at
        config._attn_implementation = self.encoder.config._attn_implementation  # noqa: SLF001  no public name
        width, size = self.encoder.get_input_embeddings().embedding_dim, _hidden_size(self.encoder.config)
        self.classes = nn.Embedding(1 + config.n_classes, width)
        self.hidden = nn.Linear(size, size)
        self.output = nn.Linear(size, 1)
        self.mask = nn.Parameter(torch.zeros(config.mask_size)) if config.mask_size else None
        self._first_position = first_position(self.encoder)
        self._takes_types = "token_type_ids" in inspect.signature(self.encoder.forward).parameters
        self.post_init()

    @classmethod
    def from_encoder(cls, source: Any, config: AttributionConfig) -> Self:  # noqa: ANN401  a transformers encoder
        """Put class embeddings and a fresh head on the weights of an encoder, which are copied.

        Args:
            source: The encoder.
            config: The network's own configuration; the encoder's is taken from the source.
        """
        config.encoder = copy.deepcopy(source.config)
        network = cls(config)
        network.to(device=source.device, dtype=torch.float32)
        absent = network.encoder.load_state_dict(source.state_dict(), strict=False).missing_keys
        if absent:
            raise ModelError(f"'{type(source).__name__}' does not fit its own configuration: it lacks {absent[0]}.")
        network.eval()
        return network

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, classes: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Return the states of tokens, `[rows, tokens, size]`.

        Args:
            input_ids: `[rows, tokens]`, padded on the right.
            attention_mask: `[rows, tokens]`, 1 at real tokens.
            classes: How much of each class the prediction is, `[rows, classes]`.
            token_type_ids: `[rows, tokens]`; ignored by encoders that have none.
        """
        rows, lengths = torch.arange(len(input_ids), device=input_ids.device), attention_mask.sum(1)

        def appended(values: Tensor) -> Tensor:
            longer = torch.cat([values, values[:, -1:]], dim=1)
            longer[rows, lengths] = values[rows, lengths - 1]
            return longer

        mask = appended(attention_mask)
        mask[rows, lengths] = 1
        mask[:, -1] = (lengths == input_ids.shape[1]).to(mask.dtype)
        inputs: dict[str, Any] = {"input_ids": appended(input_ids), "attention_mask": mask}
        if token_type_ids is not None and self._takes_types:
            inputs["token_type_ids"] = appended(token_type_ids)
        if self._first_position is not None:
            numbers = torch.arange(mask.shape[1], device=mask.device) + self._first_position
            inputs["position_ids"] = numbers.where(mask.bool(), self._first_position - 1)
        told = self.prediction(classes)

        def put(embeddings: Tensor) -> Tensor:
            new = embeddings.clone()
            new[rows, lengths] = told.to(new.dtype)
            return new

        with word_embeddings(self.encoder, put):
            states: Tensor = self.encoder(**inputs).last_hidden_state
        return states[:, : input_ids.shape[1]]

    def prediction(self, classes: Tensor) -> Tensor:
        """Return the embeddings of predictions `[rows, classes]`, `[rows, width]`."""
        table = self.classes.weight
        told = table[0] + classes.to(table) @ table[1:]
        return told / self.config.n_classes if self.config.mask.get("published") else told

    def head(self) -> dict[str, Tensor]:
        """Return the weights of the head."""
        return {
            "hidden.weight": self.hidden.weight,
            "hidden.bias": self.hidden.bias,
            "output.weight": self.output.weight,
            "output.bias": self.output.bias,
        }

    def embedding_parameters(self) -> list[nn.Parameter]:
        """Return the weights of the encoder's embedding module: words, positions and what norms them."""
        module = getattr(self.encoder, "embeddings", None)
        own = module if isinstance(module, nn.Module) else self.encoder.get_input_embeddings()
        return list(own.parameters())

    def get_input_embeddings(self) -> nn.Module:
        """Return the encoder's word-embedding module."""
        embeddings: nn.Module = self.encoder.get_input_embeddings()
        return embeddings


def head_scores(states: Tensor, head: Mapping[str, Tensor]) -> Tensor:
    """Score states `[..., tokens, size]` by a head, or by a head each, `[..., tokens]`; in double precision at the end.

    There a sure token is told from a surer one, and log(1 - a) is finite.
    """
    inner = torch.tanh(states @ head["hidden.weight"].mT + head["hidden.bias"].unsqueeze(-2))
    outer = inner @ head["output.weight"].mT + head["output.bias"].unsqueeze(-2)
    return outer.squeeze(-1).double().sigmoid()


def _hidden_size(config: PreTrainedConfig) -> int:
    return int(config.hidden_size)
