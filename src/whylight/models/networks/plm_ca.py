"""PLM-CA: a pretrained encoder reads a long document in chunks, label attention reads the encoded tokens.

Idea: the encoder is too short-sighted for a document of thousands of tokens, but it need not see it whole. The document
is one token sequence with special tokens at its two ends only. It is cut into chunks of 128 without overlap, position
numbers start again in each, each is encoded on its own, and the encoded tokens are laid side by side again:

    H = [encoder(t_1 .. t_128), encoder(t_129 .. t_256), ...]        y = decoder(H), one logit per label

The decoder is PLM-CA's cross-attention or PLM-ICD's label attention, see `label_attention`. Training minimises the mean
binary cross-entropy over documents and labels.

Reference: Edin et al. 2024, "An unsupervised approach to achieve supervised-level explainability in healthcare
records", appendix A; Huang et al. 2022, "PLM-ICD".

Cost: linear in the length of a document. Chunks of padding alone are not encoded.

The published code differs: a document whose length is a multiple of the chunk size got one more chunk of padding alone;
attention masks of the older PLM-ICD code were 1 at padding; padding took part in the label attention (see there).
"""

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import Module, functional
from transformers import AutoModel, PreTrainedModel
from transformers.utils import ModelOutput

from whylight.core.errors import InputError, ModelError, SettingError, unknown
from whylight.models.networks.config import PlmCaConfig
from whylight.models.networks.encoders import first_position, pretrained, without_pooler
from whylight.models.networks.label_attention import DECODERS

LabelSelection = slice | Sequence[int] | Tensor | None


@dataclass
class PlmCaOutput(ModelOutput):  # type: ignore[misc]  # transformers is untyped for us
    """What a PLM-CA network answers.

    Attributes:
        loss: Mean binary cross-entropy over documents and labels, if labels were given.
        logits: `[batch, labels]`.
        label_attention: `[batch, labels, tokens]`, each row sums to 1, padding has 0; if asked for.
        hidden_states: The encoder's, a layer each `[chunks, chunk_size, size]`; if asked for.
        attentions: The encoder's, a layer each `[chunks, heads, chunk_size, chunk_size]`; if asked for.

    Chunks are those with a real token, document by document: document b has ceil(length_b / chunk_size) of them.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    label_attention: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None
    attentions: tuple[Tensor, ...] | None = None


class PlmCaForSequenceClassification(PreTrainedModel):  # type: ignore[misc]  # transformers is untyped for us
    """A multi-label classifier of long documents.

    `get_input_embeddings` is the encoder's word-embedding module. A hook on it is called once in a forward pass and
    sees `[chunks, chunk_size, width]`: the chunks that hold a real token, document by document, padded to `chunk_size`.
    To exchange the embeddings of flat documents `[batch, length, width]`, cut them with `cut_chunks` first.
    """

    config_class = PlmCaConfig
    base_model_prefix = "plm_ca"
    main_input_name = "input_ids"
    supports_gradient_checkpointing = True
    accepts_loss_kwargs = False  # the loss is a mean: the trainer itself must divide it among accumulation steps
    _supports_sdpa = True
    _supports_flash_attn = True

    def __init__(self, config: PlmCaConfig) -> None:
        super().__init__(config)
        if config.encoder.is_encoder_decoder:
            raise ModelError(f"'{config.encoder.model_type}' is an encoder with a decoder; PLM-CA needs an encoder.")
        self.encoder = AutoModel.from_config(config.encoder, **without_pooler(config.encoder))
        # from_config made a copy, which is the one that the encoder's layers look at
        config.encoder = self.encoder.config
        config._attn_implementation = self.encoder.config._attn_implementation  # noqa: SLF001  no public name
        self.decoder = DECODERS[config.attention](config.hidden_size, config.num_labels)
        self._first_position = first_position(self.encoder)
        self._takes_types = "token_type_ids" in inspect.signature(self.encoder.forward).parameters
        self._check_chunk_size()
        self.post_init()

    @classmethod
    def from_encoder(
        cls,
        encoder: str | Path | PreTrainedModel,
        *,
        labels: Sequence[str],
        allow_pickle: bool = False,
        **settings: Any,  # noqa: ANN401  those of `PlmCaConfig`
    ) -> Self:
        """Put a fresh decoder on a pretrained encoder.

        Args:
            encoder: Folder or hub id of an encoder, or a loaded model, of which the weights are copied.
            labels: Names of the labels.
            allow_pickle: Also load pickled weights (they can run code: only from a source that you trust).
            **settings: Settings of `PlmCaConfig`, or `attn_implementation`.

        Returns:
            The network, in evaluation mode.
        """
        _check_settings(settings)
        names = list(labels)
        if not names or len(set(names)) != len(names):
            raise SettingError("labels must be at least one name, and each name may occur only once.")
        if isinstance(encoder, PreTrainedModel):
            source = encoder.base_model
        else:
            source = pretrained(str(encoder), allow_pickle=allow_pickle)
        settings.setdefault("attn_implementation", source.config._attn_implementation)  # noqa: SLF001  no public name
        config = PlmCaConfig(encoder=copy.deepcopy(source.config), id2label=dict(enumerate(names)), **settings)
        model = cls(config)
        model.to(device=source.device, dtype=source.dtype)
        absent = model.encoder.load_state_dict(source.state_dict(), strict=False).missing_keys
        if absent:
            raise ModelError(f"'{type(source).__name__}' does not fit its own configuration: it lacks {absent[0]}.")
        model.eval()
        return model

    def forward(  # noqa: PLR0913  the signature of every classifier of transformers
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        labels: Tensor | None = None,
        *,
        output_attentions: bool = False,
        output_hidden_states: bool = False,
        output_label_attention: bool = False,
    ) -> PlmCaOutput:
        """Classify documents.

        Args:
            input_ids: `[batch, length]`, padded on the right.
            attention_mask: `[batch, length]`, 1 at real tokens; without it all are real.
            token_type_ids: `[batch, length]`; ignored by encoders that have none.
            labels: `[batch, labels]`, 1 where a label applies; asks for the loss.
            output_attentions: Also return the attention inside the encoder (needs `eager` attention).
            output_hidden_states: Also return the hidden states of the encoder.
            output_label_attention: Also return the attention of labels over tokens. The logits depend on this very
                tensor, so that they can be differentiated by it.
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        self._check_mask(mask)
        size, length = self.config.chunk_size, input_ids.shape[1]
        chunk_mask = cut_chunks(mask, size=size)
        real = chunk_mask.any(dim=-1)
        encoded = self._encode(
            cut_chunks(input_ids, size=size, fill=self.config.pad_token_id or 0)[real],
            chunk_mask[real],
            None if token_type_ids is None else cut_chunks(token_type_ids, size=size)[real],
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
        )
        hidden = join_chunks(encoded.last_hidden_state, real)[:, :length]
        logits, label_attention = self.decode(hidden, mask, output_label_attention=output_label_attention)
        loss = None
        if labels is not None:
            loss = functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
        states, attentions = encoded.get("hidden_states"), encoded.get("attentions")
        return PlmCaOutput(loss, logits, label_attention, hidden_states=states, attentions=attentions)

    def encode_chunks(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Tensor:
        """Encode chunks, each on its own: ids `[chunks, chunk_size]` to hidden states `[chunks, chunk_size, size]`.

        Every chunk must hold a real token: what an encoder makes of padding alone depends on its kind of attention.
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        if not mask.any(dim=-1).all():
            raise InputError("a chunk of padding alone cannot be encoded; leave it out.")
        hidden: Tensor = self._encode(input_ids, mask, token_type_ids).last_hidden_state
        return hidden

    def chunk_attention(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """Return the attention inside chunks, a layer each `[chunks, heads, tokens, tokens]` (needs `eager` attention).

        Empty where the encoder does not give it out.
        """
        encoded = self._encode(input_ids, attention_mask, token_type_ids, output_attentions=True)
        return tuple(encoded.get("attentions") or ())

    def decode(
        self, hidden: Tensor, mask: Tensor, *, labels: LabelSelection = None, output_label_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Read encoded documents `[batch, tokens, size]` with their mask `[batch, tokens]`, for all labels or some.

        Returns:
            Logits `[batch, labels]`; label attention `[batch, labels, tokens]` if asked for, else None.
        """
        every = torch.arange(self.config.num_labels, device=hidden.device)
        chosen = every if labels is None else every[labels]
        answer: tuple[Tensor, Tensor | None] = self.decoder(
            hidden, mask, labels=chosen, block=self.config.label_block, output_attention=output_label_attention
        )
        return answer

    def get_input_embeddings(self) -> Module:
        """Return the encoder's word-embedding module."""
        embeddings: Module = self.encoder.get_input_embeddings()
        return embeddings

    def set_input_embeddings(self, value: Module) -> None:
        """Exchange the encoder's word-embedding module."""
        self.encoder.set_input_embeddings(value)

    def resize_token_embeddings(self, *args: Any, **options: Any) -> Module:  # noqa: ANN401  transformers' own
        """Change the size of the vocabulary, where its size is written: in the encoder's configuration."""
        embeddings: Module = self.encoder.resize_token_embeddings(*args, **options)
        return embeddings

    def _encode(self, ids: Tensor, mask: Tensor, types: Tensor | None, **flags: bool) -> Any:  # noqa: ANN401
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask.long(), **flags}
        if types is not None and self._takes_types:
            inputs["token_type_ids"] = types
        if self._first_position is not None:
            # told to find them itself, the encoder would skip a number at each pad token that stands for a word
            numbers = torch.arange(ids.shape[1], device=ids.device) + self._first_position
            inputs["position_ids"] = numbers.where(mask.bool(), self._first_position - 1)
        return self.encoder(**inputs)

    def _check_mask(self, mask: Tensor) -> None:
        """Refuse documents that would be cut in the wrong places, or are not there."""
        lengths = mask.bool().sum(dim=1)
        if not torch.equal(mask.bool(), torch.arange(mask.shape[1], device=mask.device) < lengths[:, None]):
            raise InputError("documents must be padded on the right, because chunks are cut from the left.")
        if not lengths.all():
            raise InputError("a document has no token; a tokenizer gives special tokens even to an empty text.")
        longest, limit = int(lengths.max()), self.config.max_tokens
        if longest > limit:
            raise InputError(f"a document has {longest} tokens and the model reads {limit}; truncate it.")

    def _check_chunk_size(self) -> None:
        positions = getattr(self.config.encoder, "max_position_embeddings", None)
        limit = (positions or 0) - (self._first_position or 0)
        if positions and self.config.chunk_size > limit:
            raise InputError(
                f"chunk_size is {self.config.chunk_size} and the encoder reads {limit} tokens at once; "
                f"use a chunk_size of at most {limit}."
            )


def cut_chunks(values: Tensor, *, size: int, fill: int = 0) -> Tensor:
    """Cut `[batch, length, ...]` into `[batch, chunks, size, ...]`, filled up at the end where the length needs it."""
    missing = -values.shape[1] % size
    filler = values.new_full((values.shape[0], missing, *values.shape[2:]), fill)
    return torch.cat([values, filler], dim=1).reshape(values.shape[0], -1, size, *values.shape[2:])


def join_chunks(encoded: Tensor, real: Tensor) -> Tensor:
    """Lay encoded chunks side by side again, with zeros where a document has no chunk.

    Args:
        encoded: `[chunks, size, width]`, document by document.
        real: `[batch, n]`, true where a document has its n-th chunk.

    Returns:
        `[batch, n * size, width]`.
    """
    places = encoded.new_zeros(*real.shape, *encoded.shape[1:])
    return places.index_put((real,), encoded).flatten(1, 2)


def _check_settings(settings: dict[str, Any]) -> None:
    """Refuse a setting that does not exist; a configuration would keep it without a word."""
    known = {*inspect.signature(PlmCaConfig).parameters, "attn_implementation"}
    known -= {"encoder", "id2label", "label2id", "options"}
    for name in sorted(set(settings) - known):
        raise unknown("setting", name, sorted(known))
