"""Summaries: what a stretch of a document contributes to each label, exact and small.

Idea: a label reads a document through a softmax over its tokens. A sum of exponentials can be taken stretch by stretch,
so that of a stretch with attention scores s_n and values v_n three things are enough, whatever the other stretches are:

    m = max over n of s_n        Z = sum over n of exp(s_n - m)        U = sum over n of exp(s_n - m) v_n

and several stretches c are read together by

    M = max over c of m_c        r = sum over c of exp(m_c - M) U_c / sum over c of exp(m_c - M) Z_c.

A summary is one row `[m, Z, U]` a label, `[..., labels, 2 + width]`. Nothing read is `[lowest, 0, 0]`, and reads as 0.

Reference: the online softmax of Milakov and Gimelshein 2018. Cost: 2 + D numbers per label instead of D per token.
"""

import torch
from torch import Tensor
from torch.nn import functional

HEADER = 2
"""The maximum and the sum of weights, before what is read."""


def of_scores(scores: Tensor, values: Tensor) -> Tensor:
    """Summarise attention scores `[batch, labels, tokens]`, lowest at padding, and values `[batch, tokens, size]`."""
    # no gradient by the maximum: it cancels, whatever it is
    top = scores.detach().amax(dim=-1, keepdim=True)
    weights = (scores - top).exp()
    return torch.cat([top, weights.sum(dim=-1, keepdim=True), weights @ values], dim=-1)


def merge(parts: Tensor) -> Tensor:
    """Put stretches together, `[..., parts, labels, 2 + width]` to a summary `[..., labels, 2 + width]`."""
    tops = parts[..., :1]
    top = tops.detach().amax(dim=-3)
    weighted = (tops - top.unsqueeze(-3)).exp() * parts[..., 1:]
    return torch.cat([top, weighted.sum(dim=-3)], dim=-1)


def merge_rows(table: Tensor, rows: Tensor) -> Tensor:
    """Put stretches together that are named by their row, without a copy of them for each document.

    Args:
        table: Summaries `[rows, labels, 2 + width]`.
        rows: The stretches of each document, `[documents, parts]`; -1 stands for none.

    Returns:
        Summaries `[documents, labels, 2 + width]`.
    """
    n_labels, width = table.shape[1:]
    present = rows >= 0
    index = rows.clamp(min=0)
    lowest = torch.finfo(table.dtype).min
    tops = table[..., 0][index].masked_fill(~present[..., None], lowest)  # [documents, parts, labels]
    top = tops.amax(dim=1)
    weights = (tops - top[:, None]).exp() * present[..., None]
    bags = (index[:, None] * n_labels + torch.arange(n_labels, device=rows.device)[:, None]).flatten(0, 1)
    read = functional.embedding_bag(
        bags, table.flatten(0, 1), mode="sum", per_sample_weights=weights.transpose(1, 2).flatten(0, 1)
    )
    merged = read.reshape(len(rows), n_labels, width)
    merged[..., 0] = top
    return merged


def reading(summary: Tensor) -> Tensor:
    """Return what labels have read, `[..., labels, width]`; 0 where there was nothing to read."""
    mass = summary[..., 1:HEADER]
    return summary[..., HEADER:] / torch.where(mass > 0, mass, torch.ones_like(mass))
