"""The settings of a PLM-CA network, with its encoder's configuration inside."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from transformers import AutoConfig, PreTrainedConfig

from whylight.core.errors import SettingError, unknown
from whylight.core.labels import DEFAULT_THRESHOLD, check_threshold
from whylight.models.networks.label_attention import DECODERS


class PlmCaConfig(PreTrainedConfig):  # type: ignore[misc]  # transformers is untyped for us
    """The settings of a PLM-CA network.

    Args:
        encoder: The encoder's configuration, or the dictionary of one with its `model_type`.
        attention: The decoder: `cross` (PLM-CA) or `laat` (PLM-ICD).
        chunk_size: Tokens that are encoded together.
        max_tokens: Tokens that a document may have; also known as `max_position_embeddings`.
        label_block: Labels that are decoded at once, where their attention is not asked for.
        decision_threshold: Probability from which on a label is predicted.
        initializer_range: Standard deviation of the decoder's first weights.
        pad_token_id: Filler of the last chunk; the encoder's own, if not given.
        id2label: Names of the labels.
        label2id: The inverse of it; derived, if not given.
        problem_type: Each label applies or not.
        **options: Whatever every configuration of transformers takes.
    """

    model_type = "plm_ca"
    sub_configs: ClassVar[dict[str, Any]] = {"encoder": AutoConfig}
    attribute_map: ClassVar[dict[str, str]] = {"max_position_embeddings": "max_tokens"}

    def __init__(  # noqa: PLR0913  every argument is optional and named
        self,
        *,
        encoder: PreTrainedConfig | Mapping[str, Any] | None = None,
        attention: Literal["cross", "laat"] = "cross",
        chunk_size: int = 128,
        max_tokens: int = 6000,
        label_block: int = 512,
        decision_threshold: float = DEFAULT_THRESHOLD,
        initializer_range: float = 0.03,
        pad_token_id: int | None = None,
        id2label: Mapping[Any, str] | None = None,
        label2id: Mapping[str, int] | None = None,
        problem_type: str = "multi_label_classification",
        **options: Any,  # noqa: ANN401  transformers' own
    ) -> None:
        if attention not in DECODERS:
            raise unknown("attention", attention, DECODERS)
        for name, value in {"chunk_size": chunk_size, "max_tokens": max_tokens, "label_block": label_block}.items():
            if value < 1:
                raise SettingError(f"{name} is {value}; it must be at least 1.")
        check_threshold(decision_threshold)
        if not isinstance(encoder, PreTrainedConfig):
            # transformers compares every configuration with the one made without arguments
            encoder = AutoConfig.for_model(**({"model_type": "roberta"} if encoder is None else encoder))
        self.encoder: Any = encoder
        self.attention = attention
        self.chunk_size = chunk_size
        self.max_tokens = max_tokens
        self.label_block = label_block
        self.decision_threshold = decision_threshold
        self.initializer_range = initializer_range
        self.pad_token_id = getattr(encoder, "pad_token_id", None) if pad_token_id is None else pad_token_id
        if id2label is not None and label2id is None:
            label2id = {name: int(index) for index, name in id2label.items()}
        # after the encoder's configuration, on which it sets the kind of attention too
        super().__init__(id2label=id2label, label2id=label2id, problem_type=problem_type, **options)

    @property
    def hidden_size(self) -> int:
        """Width of the encoded tokens."""
        return int(self.encoder.hidden_size)
