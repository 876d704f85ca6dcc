"""What a network must know of an encoder that it is built on: how to load it, and how it counts positions."""

import inspect
from typing import Any

import torch
from transformers import MODEL_MAPPING, AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel

from whylight.core.errors import ModelError


def first_position(encoder: PreTrainedModel) -> int | None:
    """Return the number of the first position in encoders that count from behind their padding index (RoBERTa)."""
    table = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return None if padding is None else int(padding) + 1


def pretrained(path: str, *, allow_pickle: bool) -> Any:  # noqa: ANN401  transformers' own type
    """Read an encoder, or say in one sentence why not."""
    try:
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        model, report = AutoModel.from_pretrained(
            path,
            config=config,
            use_safetensors=None if allow_pickle else True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
            **without_pooler(config),
        )
    except Exception as error:  # whatever the loaders raise, it is about what the user named
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(f"cannot load '{path}' as an encoder: {reason}") from error
    if report["missing_keys"]:
        raise ModelError(f"'{path}' is not a pretrained encoder: its weights lack {min(report['missing_keys'])}.")
    return model


def without_pooler(config: PreTrainedConfig) -> dict[str, bool]:
    """Return the option that leaves out the pooler, which nothing reads here, where an encoder has one."""
    kind = MODEL_MAPPING.get(type(config), None)
    accepts = isinstance(kind, type) and "add_pooling_layer" in inspect.signature(kind).parameters
    return {"add_pooling_layer": False} if accepts else {}
