"""What a model must keep to be explained: its task, its weights, its labels and how much it reads.

What cannot be read off a model is tried: one short text goes through it before anyone relies on it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from whylight.core.errors import ModelError, SettingError, WhylightError
from whylight.core.labels import DEFAULT_THRESHOLD, Head, Labels
from whylight.models import networks
from whylight.models.folder import DESCRIPTIONS, description_fault, is_failure, label_fault, reason
from whylight.models.holding import word_table
from whylight.models.networks.encoders import first_position
from whylight.models.trial import OnTokens
from whylight.models.unchanged import unchanged
from whylight.views.tokens import segment_row

MINIMUM_TOKENS = 8
UNLIMITED = 1_000_000
"""No text is longer than this many tokens; tokenizers write a still larger number for "no limit"."""


def check_promises(model: Any, tokenizer: Any, *, prompted: bool = False) -> None:  # noqa: ANN401
    """Refuse a model or tokenizer that no explanation could be made with.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        prompted: Whether it is a language model that is asked by a prompt.
    """
    check_tokenizer(tokenizer)
    _check_task(model, prompted=prompted)
    parameters = list(model.parameters())
    if any(parameter.is_meta for parameter in parameters):
        raise ModelError("the model is on the device 'meta', where weights have no values; load it onto a real one.")
    if any(parameter.is_inference() for parameter in parameters):
        raise ModelError(
            "the model was made inside torch.inference_mode(), so it cannot be differentiated; "
            "load it outside, or pass copy.deepcopy(model) made outside."
        )
    rows = getattr(word_table(model), "num_embeddings", None)
    highest = max(tokenizer.get_vocab().values(), default=0)
    if rows is not None and highest >= rows:
        raise ModelError(
            f"the tokenizer has token ids up to {highest}, and the model has embeddings up to {rows - 1}; "
            "use the model's own tokenizer, or model.resize_token_embeddings(len(tokenizer))."
        )


def check_tokenizer(tokenizer: Any) -> None:  # noqa: ANN401
    """Refuse a tokenizer that does not say where its tokens stand."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"the tokenizer '{type(tokenizer).__name__}' does not say where tokens stand in the text; use a fast one, "
            "e.g. AutoTokenizer.from_pretrained(..., use_fast=True)."
        )


def _check_task(model: Any, *, prompted: bool) -> None:  # noqa: ANN401
    name, writes = type(model).__name__, model.get_output_embeddings() is not None
    if prompted and getattr(model.config, "is_encoder_decoder", False):
        raise ModelError(
            f"'{name}' writes by a decoder behind an encoder, and a prompt asks models that read and write in one row; "
            "give a causal language model."
        )
    if prompted and (not writes or not model.can_generate()):
        raise ModelError(f"'{name}' does not write text, so it cannot be asked by a prompt; leave the prompt out.")
    if not prompted and (writes or not hasattr(model.config, "id2label")):
        asked = "; a language model is asked by a prompt, e.g. prompt='sentiment'" if writes else ""
        raise ModelError(f"'{name}' is not a sequence classifier{asked}.")


def is_chunked(model: Any) -> bool:  # noqa: ANN401
    """Say whether a model reads documents in chunks of its own."""
    return isinstance(model, networks.PlmCaForSequenceClassification)


def limit(model: Any, tokenizer: Any, *, max_tokens: int | None = None) -> int:  # noqa: ANN401
    """Return how many tokens to read at once, special ones included.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        max_tokens: Read at most this many, if the model could read more.
    """
    own = model_limit(model, tokenizer)
    special = tokenizer.num_special_tokens_to_add(pair=False)
    if own <= special:
        raise ModelError(
            f"the model reads {own} tokens at once, and {special} of them are special, so no word fits; mend "
            "model_max_length of the tokenizer or max_position_embeddings of the model."
        )
    if max_tokens is None:
        return own
    least = max(MINIMUM_TOKENS, special + 1)
    if not least <= max_tokens <= own:
        raise SettingError(f"max_tokens must lie between {least} and the model's own limit, {own}.")
    return max_tokens


def model_limit(model: Any, tokenizer: Any) -> int:  # noqa: ANN401
    """Return how many tokens a model reads, special ones included."""
    if is_chunked(model):  # the tokenizer's limit is that of the encoder, which reads a chunk at a time
        return int(model.config.max_tokens)
    limits = [UNLIMITED, *_unchanged_positions(model.config.get_text_config())]
    if tokenizer.model_max_length is not None:
        limits.append(_checked_count("model_max_length of the tokenizer", tokenizer.model_max_length))
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if positions not in (None, 0, -1):  # written where positions have no end
        last = _checked_count("max_position_embeddings of the model", positions)
        limits.append(last - (first_position(model.base_model) or 0))
    return min(limits)


def _unchanged_positions(config: Any) -> list[int]:  # noqa: ANN401
    """Return up to where the positions of a row are the same however long it is, if a model says so.

    Beyond, all rows of a batch get those of the longest, and the states of a prefix those that it had when it was read.
    """
    given = getattr(config, "rope_parameters", None)
    if not isinstance(given, Mapping):
        return []
    each = [one for one in (given, *given.values()) if isinstance(one, Mapping)]
    changing = [one for one in each if one.get("rope_type") in ("longrope", "dynamic")]
    found = [
        one.get("original_max_position_embeddings") or getattr(config, "original_max_position_embeddings", None)
        for one in changing
    ]
    return [_checked_count("original_max_position_embeddings of the model", one) for one in found if one is not None]


def _checked_count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or value < 1:
        raise ModelError(f"{name} is {value!r}; it must be the number of tokens that can be read, at least 1.")
    return UNLIMITED if value > UNLIMITED else int(value)


def labels(config: Any, *, names: Sequence[str] | None, head: Head | None) -> Labels:  # noqa: ANN401
    """Return the labels of a model.

    Args:
        config: Its configuration.
        names: What to call them instead.
        head: What its outputs are, where the configuration does not say.
    """
    why = label_fault(config.id2label)
    if why:
        raise ModelError(f"id2label of the model must name every label by its number, and {why}.")
    own = tuple(str(name) for _, name in sorted(config.id2label.items(), key=lambda item: int(item[0])))
    head = head or _head(config)
    if head == "softmax" and len(own) == 1:
        raise SettingError("a softmax over one logit is always 1; pass head='binary'.")
    if head == "binary":
        if len(own) != 1:
            raise SettingError(f"head='binary' is for one logit; this model has {len(own)}.")
        own = (f"not {own[0]}", own[0])
    if names is not None and len(names) != len(own):
        raise SettingError(f"{len(names)} label names were given for a model with {len(own)} labels.")
    threshold = getattr(config, "decision_threshold", DEFAULT_THRESHOLD)
    return Labels(own if names is None else tuple(names), head, threshold, descriptions(config, own))


def descriptions(config: Any, names: Sequence[str]) -> tuple[str | None, ...]:  # noqa: ANN401
    """Return what a configuration says that its labels stand for, column by column; nothing, if it says nothing."""
    given = getattr(config, DESCRIPTIONS, None) or {}
    fault = description_fault(given)
    if fault:
        raise ModelError(f"{DESCRIPTIONS} of the model must give texts to labels, and {fault}.")
    found = tuple(given.get(name) or None for name in names)
    return found if any(found) else ()


def _head(config: Any) -> Head:  # noqa: ANN401
    if config.problem_type == "regression":
        return "regression"
    if config.num_labels == 1:
        raise ModelError(
            "one logit may be a yes/no score or a value; pass head='binary' if it is the former, head='regression' if "
            "it is the latter."
        )
    return "sigmoid" if config.problem_type == "multi_label_classification" else "softmax"


def try_out(classifier: OnTokens) -> None:
    """Run a short text, and refuse a model that does not answer it with one finite number per label."""
    network, name = classifier.network, classifier.network.architecture
    try:
        rows = segment_row(classifier.encode(network.example("a"), unit="word", long="truncate"))
        with unchanged(network.model), torch.inference_mode():
            logits = getattr(network.forward(rows), "logits", None)
    except WhylightError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise ModelError(f"the model '{name}' cannot be run on a text: {reason(error)}") from error
    wanted = (1, 1 if classifier.labels.head == "binary" else len(classifier.labels))
    if logits is None or tuple(logits.shape) != wanted:
        shape = "no logits" if logits is None else f"logits of shape {tuple(logits.shape)}"
        raise ModelError(f"'{name}' is not a sequence classifier: it returned {shape} for one text, not {wanted}.")
    if not bool(torch.isfinite(logits).all()):
        raise ModelError(f"the model '{classifier.identity}' returned a logit that is not a finite number.")
