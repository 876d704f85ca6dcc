"""Attention methods on traces small enough to work out by hand, and against finite differences."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

import quick
import tiny
from whylight.methods.attention import attention
from whylight.methods.attention_rollout import attention_rollout
from whylight.methods.attgrad import attgrad
from whylight.methods.attingrad import attingrad
from whylight.views.gradient import GradientView
from whylight.views.positions import Positions
from whylight.views.trace import TraceView

TEXT = "good films but dull"


def make_trace(
    layers: list[Any], pool: list[float], gradient: Any = None, feature: list[int] | None = None
) -> TraceView:
    """A trace from nested lists `[heads][positions][positions]`, one per layer."""
    feature = feature or list(range(len(pool)))
    return TraceView(
        tuple(torch.tensor(layer, dtype=torch.float64) for layer in layers),
        torch.tensor(pool, dtype=torch.float64),
        attention_gradient=lambda: torch.as_tensor(gradient, dtype=torch.float64),
        positions=Positions(torch.tensor(feature), max(feature) + 1),
    )


FIRST, SECOND = [[0.8, 0.2], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]  # with the identity mixed in they do not commute


def test_attention_is_the_pooled_row_of_the_last_layer_averaged_over_heads() -> None:
    other = [[0.1, 0.9], [0.3, 0.7]]
    trace = make_trace([[FIRST, FIRST], [SECOND, other]], [1.0, 0.0])
    np.testing.assert_allclose(attention(trace), [[0.3, 0.7]])
    trace = make_trace([[FIRST, FIRST], [SECOND, other]], [0.5, 0.5])
    np.testing.assert_allclose(attention(trace), [[(0.3 + 0.25) / 2, (0.7 + 0.75) / 2]])


def test_rollout_of_two_layers_worked_out_by_hand() -> None:
    # (A1 + I) / 2 = [[.9, .1], [.2, .8]];  (A2 + I) / 2 = [[.75, .25], [.1, .9]]
    # first row of B2 B1:  .75 [.9, .1] + .25 [.2, .8] = [.725, .275];  second: .1 [.9, .1] + .9 [.2, .8] = [.27, .73]
    np.testing.assert_allclose(attention_rollout(make_trace([[FIRST], [SECOND]], [1.0, 0.0])), [[0.725, 0.275]])
    np.testing.assert_allclose(attention_rollout(make_trace([[FIRST], [SECOND]], [0.0, 1.0])), [[0.27, 0.73]])
    np.testing.assert_allclose(attention_rollout(make_trace([[FIRST], [SECOND]], [0.5, 0.5])), [[0.4975, 0.5025]])


def test_rollout_averages_heads_before_it_multiplies() -> None:
    trace = make_trace([[FIRST, SECOND], [SECOND, SECOND]], [1.0, 0.0])
    first = (np.asarray(FIRST) + SECOND) / 2
    expected = ((np.asarray(SECOND) + np.eye(2)) / 2 @ ((first + np.eye(2)) / 2))[0]
    np.testing.assert_allclose(attention_rollout(trace)[0], expected)


def test_rollout_normalises_rows_that_do_not_sum_to_one() -> None:
    trace = make_trace([[[[0.5, 0.0], [0.0, 0.25]]]], [1.0, 0.0])
    np.testing.assert_allclose(attention_rollout(trace), [[1.0, 0.0]])


def test_attgrad_is_the_mean_over_heads_of_attention_times_absolute_gradient() -> None:
    gradient = [[[[1.0, -2.0], [9.0, 9.0]], [[-3.0, 0.5], [9.0, 9.0]]]]  # one target, two heads
    trace = make_trace([[FIRST, SECOND]], [1.0, 0.0], gradient)
    np.testing.assert_allclose(attgrad(trace), [[(0.8 * 1 + 0.5 * 3) / 2, (0.2 * 2 + 0.5 * 0.5) / 2]])


def test_attgrad_has_a_row_for_each_target() -> None:
    gradient = [[[[1.0, -2.0], [0.0, 0.0]]], [[[0.0, 4.0], [0.0, 0.0]]]]
    np.testing.assert_allclose(attgrad(make_trace([[FIRST]], [1.0, 0.0], gradient)), [[0.8, 0.4], [0.0, 0.8]])


def test_attingrad_is_attention_times_the_norm_of_input_times_gradient() -> None:
    feature = [-1, 0, 1, 1]
    rows = [[[0.1, 0.2, 0.3, 0.4], [0.25] * 4, [0.25] * 4, [0.25] * 4]]
    weights = torch.tensor([[9.0, 9.0], [1.0, 2.0], [-3.0, 0.0], [2.0, -2.0]], dtype=torch.float64)
    inputs = torch.tensor([[5.0, 5.0], [3.0, 2.0], [1.0, 7.0], [2.0, 1.5]], dtype=torch.float64)
    view = GradientView(
        lambda points: (points * weights).sum((1, 2))[:, None],
        inputs,
        baselines={"zero": torch.zeros_like(inputs)},
        positions=Positions(torch.tensor(feature), 2),
    )
    # norms of x * gradient: [3, 4] -> 5;  [-3, 0] -> 3;  [4, -3] -> 5
    expected = [[0.2 * 5, 0.3 * 3 + 0.4 * 5]]
    np.testing.assert_allclose(attingrad(make_trace([rows], [1.0, 0, 0, 0], feature=feature), view), expected)


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_attingrad_of_a_model_is_the_product_of_its_two_factors(architecture: str) -> None:
    clf = quick.classifier(architecture)
    looked_at = quick.run(clf, TEXT, "attention", unit="token").scores
    mattered = quick.run(clf, TEXT, "input_x_gradient", pooling="l2", unit="token").scores
    found = quick.run(clf, TEXT, "attingrad", unit="token").scores
    np.testing.assert_allclose(found, looked_at * mattered, rtol=1e-4, atol=1e-5 * found.max())


@pytest.mark.parametrize("architecture", ["bert", "roberta", "electra", "distilbert", "modernbert_mean", "llama"])
def test_attention_gradients_agree_with_finite_differences(architecture: str) -> None:
    """The last layer's probabilities are moved one by one, through an attention function of the test's own."""
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, TEXT)
    trace = clf.trace_view(encoded, quick.request(clf))
    gradient = trace.attention_gradient()
    model = tiny.model(architecture).double()
    ids = torch.as_tensor(encoded.windows[0].ids)[None]
    nudge: dict[str, Any] = {"call": 0, "at": None, "by": 0.0}

    def nudged(
        _module: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Any = None,
        scaling: Any = None,
        **_: Any,
    ) -> tuple[Tensor, Tensor]:
        scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
        scores = scores if attention_mask is None else scores + attention_mask[..., : key.shape[-2]]
        probabilities = F.softmax(scores, dim=-1)
        nudge["call"] += 1
        if nudge["call"] == 2:  # the second of two layers
            head, row, column = nudge["at"]
            probabilities[0, head, row, column] += nudge["by"]
        return (probabilities @ value).transpose(1, 2).contiguous(), probabilities

    AttentionInterface.register("nudged", nudged)
    AttentionMaskInterface.register("nudged", eager_mask)
    try:
        model.set_attn_implementation("nudged")
        row = int(trace.pool.argmax())
        for at in [(0, row, 1), (1, row, 2), (0, row, len(ids[0]) - 1)]:
            values = []
            for by in (1e-4, -1e-4):
                nudge.update(call=0, at=at, by=by)
                with torch.no_grad():
                    values.append(model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0].double())
            expected = (values[0] - values[1]) / 2e-4
            found = gradient[:, at[0], at[1], at[2]].double()
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3 * float(gradient.abs().max()))
    finally:
        AttentionInterface._global_mapping.pop("nudged")
        AttentionMaskInterface._global_mapping.pop("nudged")


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
@pytest.mark.parametrize("method", ["attention", "attention_rollout"])
def test_class_agnostic_scores_are_shares_of_one(architecture: str, method: str) -> None:
    clf = quick.classifier(architecture)
    explanation = quick.run(clf, TEXT, method, target="all")
    assert explanation.provenance.class_specific is False
    assert explanation.scores.shape[0] == 1
    assert 0 < explanation.scores.sum() <= 1 + 1e-5  # the rest is on special tokens
    first, second = (explanation.row(target) for target in explanation.targets)
    assert (first == second).all()
