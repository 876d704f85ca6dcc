"""Answers behind rows of a causal model, read on from the states that the model has of those rows.

    log p(answer | row) = sum over its tokens t of  log p(t | row, tokens of the answer before t)

The states are keys and values of every token, also where a layer attends to the last few alone: cut to these, the short
rows of a batch would have lost tokens to the padding behind them. Rows are moved such that each ends where its answer
begins, because such layers count the padding between. A model of other states (recurrent ones) is asked about row and
answer together, one by one, which has no gradient here.

Scores are computed in single precision at least.
"""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from whylight.core.arrays import Ints
from whylight.core.errors import IncompatibleError

OF_TOKENS = (DynamicLayer, DynamicSlidingWindowLayer)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Answers as one batch, all tokens but the last of each as what is read, and all but the first as what is wanted.

    Attributes:
        ids: What is read, `[answers, tokens]`.
        wanted: What is to follow, `[answers, tokens]`.
        real: Where there is a token, `[answers, tokens]`.
    """

    ids: Tensor
    wanted: Tensor
    real: Tensor


def keeps_tokens(model: Any) -> bool:  # noqa: ANN401  any transformers model
    """Say whether what a model keeps of a row is keys and values of its tokens, which others can go on from."""
    if "past_key_values" not in inspect.signature(model.forward).parameters:
        return False
    try:
        layers = DynamicCache(config=model.config).layers
    except (KeyError, AttributeError, TypeError, ValueError):  # a configuration that transformers cannot read so
        return False
    return all(type(layer) in OF_TOKENS for layer in layers)


def no_tokens(name: str) -> IncompatibleError:
    """Return what to say where answers would have to go on from other states."""
    return IncompatibleError(
        f"what '{name}' keeps of a row is no keys and values of tokens, so that an answer of several tokens has no "
        "gradients and traces; use answers of one token each, or scoring = 'first'."
    )


def no_states() -> DynamicCache:
    """Return what a model is to write its states into: every token's, whatever a layer attends to."""
    return DynamicCache()


def log_probabilities(logits: Tensor) -> Tensor:
    """Return the log-probability of each token, in single precision at least."""
    return single(logits).log_softmax(-1)


def single(logits: Tensor) -> Tensor:
    """Return logits in single precision at least."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def layout(answers: Sequence[Ints], device: torch.device) -> Layout:
    """Lay out answers."""
    shape = (len(answers), max(map(len, answers)) - 1)
    ids, wanted, real = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    for row, answer in enumerate(answers):
        more = len(answer) - 1
        ids[row, :more], wanted[row, :more], real[row, :more] = answer[:-1], answer[1:], True
    return Layout(*(torch.as_tensor(one, device=device) for one in (ids, wanted, real)))


def read_on(model: Any, cache: Any, lengths: Tensor, answers: Sequence[Ints]) -> Tensor:  # noqa: ANN401  transformers' own
    """Return the log-probability of what follows the first token of each answer, `[rows, answers]`.

    Args:
        model: The model.
        cache: Its states of the rows, which are used up.
        lengths: Tokens of each row that count, `[rows]`.
        answers: The answers.
    """
    own, count, rows = layout(answers, lengths.device), len(answers), len(lengths)
    before = _move_to_the_end(cache, lengths)
    there = own.real.repeat(rows, 1)
    options: dict[str, Tensor] = {}
    if "position_ids" in inspect.signature(model.forward).parameters:
        places = torch.arange(own.ids.shape[1], device=lengths.device)
        options["position_ids"] = lengths.repeat_interleave(count)[:, None] + places
    if count > 1:
        cache.batch_repeat_interleave(count)
    output = model(
        input_ids=own.ids.repeat(rows, 1),
        attention_mask=torch.cat([before.repeat_interleave(count, dim=0), there], dim=1).long(),
        past_key_values=cache,
        use_cache=True,
        **options,
    )
    follow = own.wanted.repeat(rows, 1)[..., None]
    values = log_probabilities(output.logits).gather(-1, follow)[..., 0]
    sums: Tensor = (values * there).sum(-1)
    return sums.reshape(rows, count)


def _move_to_the_end(cache: Any, lengths: Tensor) -> Tensor:  # noqa: ANN401  as above
    """Put the states of short rows behind their padding, and return where there are tokens, `[rows, tokens]`."""
    width = int(lengths.max())
    source = torch.arange(width, device=lengths.device) - (width - lengths)[:, None]
    if bool((lengths < width).any()):
        for layer in cache.layers:
            index = source.clamp(min=0).to(layer.keys.device)[:, None, :, None]
            layer.keys, layer.values = (
                one.gather(2, index.expand(-1, one.shape[1], -1, one.shape[3])) for one in (layer.keys, layer.values)
            )
    return source >= 0


def read_whole(model: Any, ids: Tensor, answers: Sequence[Ints], *, normalised: bool, summed: bool) -> Tensor:  # noqa: ANN401  as above
    """Return the score of each answer behind a row, `[answers]`, by plain calls of the model.

    Args:
        model: The model.
        ids: The row.
        answers: The answers; if each is one token, one call says it of all.
        normalised: Whether scores are log-probabilities, or the logits of tokens.
        summed: Whether those of an answer are added up, or their mean is taken.
    """
    scale = log_probabilities if normalised else single
    once = model(input_ids=ids[None]).logits[0, -1:] if max(map(len, answers)) == 1 else None
    found = []
    for answer in answers:
        own = torch.as_tensor(answer, device=ids.device)
        logits = model(input_ids=torch.cat([ids, own[:-1]])[None]).logits[0, -len(own) :] if once is None else once
        each = scale(logits)[range(len(own)), own]
        found.append(each.sum() if summed else each.mean())
    return torch.stack(found)
