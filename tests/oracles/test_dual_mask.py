"""What AML is made of, against its formulas: alignment of two tokenizers by characters, and the terms of the loss."""

import math

import numpy as np
import pytest
import torch

from whylight.core.alignment import Alignment, align
from whylight.core.errors import InputError
from whylight.core.text import Span
from whylight.methods._dual_mask import inverse_term, prediction_term, sparsity_term
from whylight.views.attributor import Reading, aligned


def spans(*edges: tuple[int, int], part: int = 0) -> list[Span]:
    return [Span(part, start, end) for start, end in edges]


def pairs(found: Alignment) -> list[tuple[int, int]]:
    return list(zip(found.source.tolist(), found.target.tolist(), strict=True))


def test_tokens_are_aligned_by_their_characters() -> None:
    # "unbelievable film": un|believ|able| |film  ->  unbeliev|able film|!
    found = align(spans((0, 2), (2, 8), (8, 12), (13, 17)), spans((0, 8), (8, 17), (17, 18)))
    assert pairs(found) == [(0, 0), (1, 0), (2, 1), (3, 1), (3, 2)]  # the last shares nothing, and takes the nearest
    assert found.shared == 2
    split = align(spans((0, 12)), spans((0, 2), (2, 8), (8, 12)))
    assert pairs(split) == [(0, 0), (0, 1), (0, 2)]


def test_odd_tokens_are_aligned_too() -> None:
    bytes_of_one = align(spans((0, 1), (0, 1), (0, 2), (2, 3)), spans((0, 1), (1, 2), (2, 3)))
    assert pairs(bytes_of_one) == [(0, 0), (1, 0), (2, 0), (2, 1), (3, 2)]
    empty = align(spans((0, 3), (5, 8)), spans((0, 3), (4, 4), (5, 8)))
    assert pairs(empty) == [(0, 0), (0, 1), (1, 2)]
    both = [*spans((0, 3)), *spans((0, 3), part=1)]
    assert pairs(align(both, both[::-1])) == [(1, 0), (0, 1)]
    with pytest.raises(InputError, match="leaves nothing of a text"):
        align(spans((0, 3)), both)


def test_several_tokens_are_merged_and_one_is_copied() -> None:
    scores = torch.tensor([0.1, 0.5, 0.9], requires_grad=True)
    alignment = Alignment(np.asarray([0, 1, 2, 2]), np.asarray([1, 1, 2, 3]), 3)
    reading = Reading((), alignment, 5)
    assert aligned(scores, reading, "max").tolist() == pytest.approx([0, 0.5, 0.9, 0.9, 0])
    assert aligned(scores, reading, "mean").tolist() == pytest.approx([0, 0.3, 0.9, 0.9, 0])
    (slope,) = torch.autograd.grad(aligned(scores, reading, "max").sum(), scores)
    assert slope.tolist() == [0.0, 1.0, 2.0]


def test_terms_are_those_of_the_equations() -> None:
    log_p, y = torch.tensor([0.7, 0.2, 0.1]).log(), torch.tensor([0.5, 0.3, 0.2])
    expected = -(0.5 * math.log(0.7) + 0.3 * math.log(0.2) + 0.2 * math.log(0.1))
    assert float(prediction_term(log_p, y)) == pytest.approx(expected)
    assert float(inverse_term(log_p, 0, "log")) == pytest.approx(-math.log(0.3), rel=1e-6)
    assert float(inverse_term(log_p, 1, "probability")) == pytest.approx(0.2)
    entropy = -(0.7 * math.log(0.7) + 0.2 * math.log(0.2) + 0.1 * math.log(0.1))
    assert float(inverse_term(log_p, 0, "entropy")) == pytest.approx(-entropy)
    values = torch.tensor([0.25, 0.5], dtype=torch.float64)
    assert float(sparsity_term(values, "bce")) == pytest.approx(-(math.log(0.75) + math.log(0.5)) / 2)
    assert float(sparsity_term(values, "l1")) == pytest.approx(0.375)


def test_a_sure_answer_and_a_full_mask_have_finite_terms_and_slopes() -> None:
    logits = torch.tensor([80.0, -80.0], dtype=torch.float64, requires_grad=True)
    loss = inverse_term(logits.log_softmax(-1), 0, "log")
    assert float(loss.detach()) == pytest.approx(160)
    (slope,) = torch.autograd.grad(loss, logits)
    assert slope.tolist() == pytest.approx([1, -1])
    full = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(sparsity_term(full, "bce"), full)
    assert bool(torch.isfinite(slope).all())
