"""Which model it is: hashes of weights, configuration and tokenizer, whatever folder they came from.

Cost: one pass over the weights, about a second a gigabyte.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from whylight.core.identity import digest

WHEREABOUTS = (
    *("_name_or_path", "transformers_version", "_attn_implementation", "_attn_implementation_autoset"),
    "label_descriptions",
)
"""Entries of a configuration that say where it came from, how the same numbers are computed, or what they are about."""


def model_contents(model: Any, tokenizer: Any) -> Mapping[str, str]:  # noqa: ANN401  transformers' own types
    """Return hashes of the weights as they are now, of the configuration and of the tokenizer."""
    return {
        "weights": weights_contents(model),
        "configuration": digest([type(model).__qualname__, _configuration(model.config.to_dict())]),
        "tokenizer": tokenizer_contents(tokenizer),
    }


def weights_contents(model: Any) -> str:  # noqa: ANN401
    """Return a hash of the weights of a model, or of a part of one, as they are now."""
    found = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        _add(found, name, value)
    return found.hexdigest()


def _add(found: Any, name: str, value: object) -> None:  # noqa: ANN401  hashlib's own type
    """Add one entry of a state; packed weights of quantised layers are tuples."""
    if isinstance(value, Tensor):
        plain = value.detach()
        plain = plain.dequantize() if plain.is_quantized else plain
        plain = plain.to_dense() if plain.layout is not torch.strided else plain
        found.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        found.update(plain.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    elif isinstance(value, tuple | list):
        for number, one in enumerate(value):
            _add(found, f"{name}.{number}", one)
    else:
        found.update(f"{name} {value}\n".encode())


def _configuration(entries: Any) -> Any:  # noqa: ANN401  JSON of any depth
    """Leave out whereabouts, at every depth; what JSON cannot hold is written as text."""
    if isinstance(entries, Mapping):
        return {str(key): _configuration(one) for key, one in entries.items() if key not in WHEREABOUTS}
    if isinstance(entries, tuple | list):
        return [_configuration(one) for one in entries]
    return entries if isinstance(entries, str | int | float | bool | None) else str(entries)


def tokenizer_contents(tokenizer: Any) -> str:  # noqa: ANN401
    """Return a hash of a tokenizer, whatever it was called with before."""
    # a call with truncation or padding leaves its settings behind, which the next call sets anew
    backend = {**json.loads(tokenizer.backend_tokenizer.to_str()), "truncation": None, "padding": None}
    special = json.dumps(tokenizer.special_tokens_map, sort_keys=True, default=str)
    return digest([backend, special, str(tokenizer.model_max_length), tokenizer.padding_side])
