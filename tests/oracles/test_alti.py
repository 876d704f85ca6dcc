"""ALTI against its formulas, written out on whole tensors."""

from operator import attrgetter
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import by_hand
import quick
import tiny
from whylight.core.errors import SettingError
from whylight.methods import _transformed
from whylight.methods._transformed import transformed
from whylight.methods.alti import alti, bias, contributions

FIRST_NORM = {
    "bert": "bert.encoder.layer.{}.attention.output.LayerNorm",
    "roberta": "roberta.encoder.layer.{}.attention.output.LayerNorm",
    "xlm_roberta": "roberta.encoder.layer.{}.attention.output.LayerNorm",
    "electra": "electra.encoder.layer.{}.attention.output.LayerNorm",
    "distilbert": "distilbert.transformer.layer.{}.sa_layer_norm",
    "albert": "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.LayerNorm",
}


def seen_behind(clf: Any, architecture: str) -> list[Tensor]:
    """Return what the model itself gives out behind the first norm of each layer."""
    paths = dict.fromkeys(FIRST_NORM[architecture].format(number) for number in range(2))
    seen: list[Tensor] = []
    handles = [
        attrgetter(path)(clf.model).register_forward_hook(lambda _module, _args, out: seen.append(out[0].detach()))
        for path in paths
    ]
    quick.plain_logits(clf, quick.TEXT)
    for handle in handles:
        handle.remove()
    return seen


@pytest.mark.parametrize("architecture", FIRST_NORM)
def test_what_positions_contribute_and_biases_rebuild_the_state_behind_the_first_norm(architecture: str) -> None:
    clf = quick.classifier(architecture)
    (block,) = by_hand.trace_of(clf, quick.TEXT).recorded().blocks
    seen = seen_behind(clf, architecture)
    assert len(seen) == len(block.layers) == 2
    for layer, expected in zip(block.layers, seen, strict=True):
        parts = [part for _, part in transformed(layer, norms=(layer.after_attention,), value_bias=True)]
        torch.testing.assert_close(torch.cat(parts).sum(1) + bias(layer), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("architecture", [*FIRST_NORM, *tiny.CHUNKED])
def test_contributions_of_a_layer_are_shares_of_one(architecture: str) -> None:
    for block in by_hand.trace_of(quick.classifier(architecture), quick.TEXT).recorded().blocks:
        for layer in block.layers:
            found = contributions(layer)
            assert (found >= 0).all()
            torch.testing.assert_close(found.sum(-1), torch.ones(len(found)))


def contributions_by_hand(bert: by_hand.Bert, number: int) -> Tensor:
    layer, (value, output) = bert.layers[number], bert.value_output(number)
    v = torch.einsum("jd,hde->hje", layer.x, value)
    v = v + bert("attention.self.value.bias", number).reshape(by_hand.HEADS, 1, -1)
    f = torch.einsum("hij,hje,hed->ijd", layer.attention, v, output)
    f = f + torch.einsum("ij,jd->ijd", torch.eye(len(layer.x), dtype=torch.float64), layer.x)
    scale, shift = (bert(f"attention.output.LayerNorm.{kind}", number) for kind in ("weight", "bias"))
    t = scale * (f - f.mean(-1, keepdim=True)) / by_hand.deviation(layer.u)[:, None]
    y = by_hand.normed(layer.u, scale, shift)
    c = (y.abs().sum(-1)[:, None] - (y[:, None] - t).abs().sum(-1)).clamp(min=0)
    return c / c.sum(-1, keepdim=True)


@pytest.mark.parametrize("layer", [None, 1, 3])
def test_alti_is_the_first_row_of_the_product_of_its_contributions(layer: int | None) -> None:
    clf = by_hand.classifier(num_hidden_layers=by_hand.DEPTH)
    expected = by_hand.Bert(clf, quick.TEXT).product(contributions_by_hand, layer or by_hand.DEPTH)
    found = by_hand.of_positions(clf, quick.TEXT, alti, layer=layer)
    assert found.shape == (1, 12)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("architecture", tiny.CHUNKED)
def test_with_label_attention_each_label_follows_its_own_row_through_its_chunks(architecture: str) -> None:
    clf = by_hand.classifier(architecture, num_labels=3)
    trace = by_hand.trace_of(clf, quick.TEXT)
    recorded = trace.recorded()
    torch.testing.assert_close(recorded.reading(recorded.n_layers).rows, trace.start, atol=1e-9, rtol=0)
    whole = torch.eye(trace.start.shape[1], dtype=torch.float64)
    for number in range(recorded.n_layers):
        blocks = [contributions(block.layers[number]) for block in recorded.blocks]
        assert len(blocks) == 2
        whole = torch.block_diag(*blocks) @ whole
    found = by_hand.of_positions(clf, quick.TEXT, alti)
    torch.testing.assert_close(found, trace.start @ whole, atol=1e-9, rtol=0)
    assert not torch.allclose(found[0], found[1])
    torch.testing.assert_close(found.sum(-1), torch.ones(3, dtype=torch.float64))


def test_the_size_of_row_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = by_hand.classifier()
    whole = by_hand.of_positions(clf, quick.TEXT, alti)
    monkeypatch.setattr(_transformed, "BLOCK_BYTES", 1)
    torch.testing.assert_close(by_hand.of_positions(clf, quick.TEXT, alti), whole, atol=1e-12, rtol=0)


@pytest.mark.parametrize("layer", [0, 3, -1])
def test_a_layer_that_is_not_there_is_refused(layer: int) -> None:
    with pytest.raises(SettingError, match=f"no layer {layer}: this model has 2"):
        quick.run(quick.classifier(), quick.TEXT, "alti", layer=layer)


def test_the_last_layer_is_the_whole_depth() -> None:
    clf = quick.classifier()
    every, last, first = (quick.run(clf, quick.TEXT, "alti", layer=layer).scores for layer in (None, 2, 1))
    assert every.tobytes() == last.tobytes()
    assert np.abs(first - last).max() > 1e-3
