"""Heads of differentiable models: the torch side of `core.labels`."""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from whylight.core.labels import CLIP, MIXTURE, Head, ScoreSpace
from whylight.views.classifier import Request


def columns(logits: Tensor, head: Head) -> Tensor:
    """Return one column per label; a binary head's single logit z is read as -z and z."""
    return torch.cat([-logits, logits], dim=-1) if head == "binary" else logits


def scores(logits: Tensor, head: Head, space: ScoreSpace) -> Tensor:
    """Turn logits `[..., labels]` into scores of the given space, differentiably."""
    if space == "logit":
        return logits
    logits = logits.double()  # 1 - p of a sure prediction needs the digits
    log_probability = _log_probability(logits, head)
    if space == "log_probability":
        return log_probability
    if space == "log_sigmoid":
        return logsigmoid(logits)
    if space == "log_mixture":
        return torch.logaddexp(math.log(MIXTURE) + log_probability, math.log(1 - MIXTURE) + logsigmoid(logits))
    probability = log_probability.exp()
    if space == "probability":
        return probability
    clipped = probability.clamp(CLIP, 1 - CLIP)
    return clipped.log() - (-clipped).log1p()


def _log_probability(logits: Tensor, head: Head) -> Tensor:
    if head == "likelihood":
        return logits
    return logits.log_softmax(-1) if head == "softmax" else logsigmoid(logits)


def wanted_scores(logits: Tensor, head: Head, request: Request) -> Tensor:
    """Turn what a network returns into the scores `[rows, targets]` that are asked for."""
    return scores(columns(logits, head), head, request.space)[:, request.columns]
