"""DecompX against its formulas, written out on whole tensors, and what its parts promise to sum to."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from torch import Tensor, nn

import by_hand
import quick
import tiny
from whylight.core.errors import IncompatibleError, InputError, SettingError
from whylight.methods.decompx import decompx
from whylight.models.load import load
from whylight.views.layers import slope

SUPPORTED = [kind for kind in tiny.EVERY if kind not in {"deberta", "bigbird", "llama"}]
every_split = pytest.mark.parametrize("bias", by_hand.SPLITS)


def shared(parts: Tensor, bias: Tensor, split: str) -> Tensor:
    """Share a bias out among the parts `[rows, sources, D]`; under `token` the last source is that of biases."""
    if split in {"cls", "token"}:
        parts[:, 0 if split == "cls" else -1] += bias
        return parts
    weights = {
        "absdot": (parts * bias).sum(-1).abs(),
        "norm": parts.norm(dim=-1),
        "equal": (parts.norm(dim=-1) > 0).double(),
    }[split]
    return parts + (weights / weights.sum(-1, keepdim=True))[..., None] * bias


def through_norm(bert: by_hand.Bert, name: str, layer: int, parts: Tensor, whole: Tensor, split: str) -> Tensor:
    centred = (parts - parts.mean(-1, keepdim=True)) / by_hand.deviation(whole)[:, None]
    return shared(bert(f"{name}.weight", layer) * centred, bert(f"{name}.bias", layer), split)


def parts_by_hand(bert: by_hand.Bert, depth: int, split: str) -> Tensor:
    """Return the parts of every state after so many layers, `[positions, sources, D]`."""
    size, width = bert.layers[0].x.shape
    parts = torch.zeros(size, size + (split == "token"), width, dtype=torch.float64)
    for position, state in enumerate(bert.layers[0].x):
        parts[position, position] = state
    for number in range(depth):
        layer, (value, output) = bert.layers[number], bert.value_output(number)
        v = torch.einsum("jkd,hde->hjke", parts, value)
        b_value, b_output = bert("attention.self.value.bias", number), bert("attention.output.dense.bias", number)
        if number == 0 and split != "token":  # the true value vectors, one per token
            v = v + torch.einsum(
                "jk,he->hjke", torch.eye(size, dtype=torch.float64), b_value.reshape(by_hand.HEADS, -1)
            )
            bias = b_output
        else:
            bias = bert("attention.output.dense.weight", number) @ b_value + b_output
        parts = parts + torch.einsum("hij,hjke,hed->ikd", layer.attention, v, output)
        parts = through_norm(bert, "attention.output.LayerNorm", number, shared(parts, bias, split), layer.u, split)
        inner = parts @ bert("intermediate.dense.weight", number).T
        inner = shared(inner, bert("intermediate.dense.bias", number), split) * by_hand.phi(layer.z)[:, None]
        inner = shared(inner @ bert("output.dense.weight", number).T, bert("output.dense.bias", number), split)
        parts = through_norm(bert, "output.LayerNorm", number, parts + inner, layer.w, split)
    return parts


def pooled_by_hand(bert: by_hand.Bert, depth: int, split: str) -> Tensor:
    parts = parts_by_hand(bert, depth, split)[:1]
    weight, bias = bert("bert.pooler.dense.weight"), bert("bert.pooler.dense.bias")
    z = weight @ bert.states[depth][0] + bias
    return shared(parts @ weight.T, bias, split) * (torch.tanh(z) / z)


@pytest.fixture(scope="module", name="deep")
def deep_classifier() -> Any:
    return by_hand.classifier(num_hidden_layers=by_hand.DEPTH, num_labels=3)


@every_split
@pytest.mark.parametrize("layer", [None, 1, 2])
def test_parts_of_the_logits_are_those_of_the_formulas(deep: Any, bias: str, layer: int | None) -> None:
    bert = by_hand.Bert(deep, quick.TEXT)
    pooled = pooled_by_hand(bert, layer or by_hand.DEPTH, bias)
    expected = shared(pooled @ bert("classifier.weight").T, bert("classifier.bias"), bias)[0].T
    found = by_hand.of_positions(deep, quick.TEXT, decompx, bias=bias, layer=layer)
    assert found.shape == (3, 12)
    torch.testing.assert_close(found, expected[:, :12], atol=1e-6, rtol=0)
    assert found.abs().max() > 1e-2


@every_split
@pytest.mark.parametrize("layer", [None, 1])
def test_the_vector_output_is_the_length_of_what_the_classifier_reads(deep: Any, bias: str, layer: int | None) -> None:
    parts = pooled_by_hand(by_hand.Bert(deep, quick.TEXT), layer or by_hand.DEPTH, bias)[0]
    found = by_hand.of_positions(deep, quick.TEXT, decompx, bias=bias, output="vector", layer=layer)
    assert found.shape == (3, 12)
    for row in found:
        torch.testing.assert_close(row, parts.norm(dim=-1)[:12], atol=1e-6, rtol=0)


@every_split
@pytest.mark.parametrize("architecture", SUPPORTED)
def test_sources_sum_to_the_logits(architecture: str, bias: str) -> None:
    clf = quick.classifier(architecture, num_labels=3)
    explanation = quick.run(clf, quick.TEXT, "decompx", target="all", bias=bias)
    assert explanation.provenance.completeness_gap is not None
    np.testing.assert_allclose(explanation.provenance.completeness_gap, 0, atol=1e-4)
    if bias != "token":  # then positions are all the sources there are
        total = by_hand.of_positions(clf, quick.TEXT, decompx, bias=bias).sum(-1)
        np.testing.assert_allclose(total, quick.plain_logits(clf, quick.TEXT), atol=1e-4)


@pytest.mark.parametrize("architecture", SUPPORTED)
def test_with_norms_of_any_scale_they_still_do(architecture: str) -> None:
    clf = by_hand.classifier(architecture)
    total = by_hand.of_positions(clf, quick.TEXT, decompx).sum(-1)
    within = 1e-6 if architecture.startswith("modernbert") else 1e-9  # its softmax is in single precision
    np.testing.assert_allclose(total, quick.plain_logits(clf, quick.TEXT), atol=within)


def test_the_gap_is_of_the_models_own_logits_and_not_of_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = by_hand.classifier()
    trace = by_hand.trace_of(clf, quick.TEXT)
    true = trace.recorded().logits.clone()
    np.testing.assert_allclose(true, quick.plain_logits(clf, quick.TEXT))
    forward = clf.model.classifier.forward
    monkeypatch.setattr(clf.model.classifier, "forward", lambda states: forward(states) + 0.5)
    trace = by_hand.trace_of(clf, quick.TEXT)
    np.testing.assert_allclose(decompx(trace).gap, -0.5, atol=1e-9)


@every_split
def test_biases_of_a_model_that_norms_first_are_shared_out_too(bias: str) -> None:
    options = {"norm_bias": True, "attention_bias": True, "mlp_bias": True}
    clf = by_hand.classifier("modernbert", num_hidden_layers=3, **options)
    trace = by_hand.trace_of(clf, quick.TEXT)
    assert trace.recorded().blocks[0].layers[1].before_attention.shift.abs().max() > 0
    np.testing.assert_allclose(decompx(trace, bias=bias).gap, 0, atol=1e-6)  # its softmax is in single precision


def test_a_binary_head_is_read_from_both_sides() -> None:
    clf = quick.classifier("bert", num_labels=1, head="binary")
    explanation = quick.run(clf, quick.TEXT, "decompx", target="all")
    np.testing.assert_allclose(explanation.scores[0], -explanation.scores[1])
    np.testing.assert_allclose(explanation.provenance.completeness_gap, 0, atol=1e-4)


@pytest.mark.parametrize("architecture", ["bert", "modernbert", "modernbert_mean", "plm_ca", "plm_ca_laat"])
def test_up_to_a_layer_the_parts_sum_to_the_logits_of_the_model_cut_off_there(architecture: str) -> None:
    clf = by_hand.classifier(architecture)
    cut = copy.deepcopy(clf.model)
    encoder = cut.encoder if architecture in tiny.CHUNKED else cut.base_model
    stack, name = (encoder, "layers") if architecture.startswith("modernbert") else (encoder.encoder, "layer")
    setattr(stack, name, nn.ModuleList(list(getattr(stack, name))[:1]))
    expected = quick.plain_logits(load(cut, clf.tokenizer), quick.TEXT)
    found = by_hand.of_positions(clf, quick.TEXT, decompx, layer=1).sum(-1)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(expected - quick.plain_logits(clf, quick.TEXT)).max() > 1e-2


@every_split
@pytest.mark.parametrize("architecture", ["bert", "modernbert_mean", "plm_ca"])
def test_the_memory_that_is_allowed_does_not_change_the_parts(architecture: str, bias: str) -> None:
    clf = by_hand.classifier(architecture)
    plenty, little = (
        by_hand.of_positions(clf, quick.TEXT, decompx, bias=bias, memory=memory) for memory in (None, "68KB")
    )
    torch.testing.assert_close(little, plenty, atol=1e-12, rtol=0)


def test_too_little_memory_is_refused_with_what_would_work() -> None:
    with pytest.raises(InputError, match=r"'decompx' needs 1MB for 12 tokens at once.*use 'decompx_linear'"):
        quick.run(quick.classifier(), quick.TEXT, "decompx", memory="20KB")
    with pytest.raises(SettingError, match="such as 500MB or 2GB, not 'plenty'"):
        quick.run(quick.classifier(), quick.TEXT, "decompx", memory="plenty")


def test_lengths_have_no_sign_and_promise_no_sum() -> None:
    lengths = quick.run(quick.classifier(), quick.TEXT, "decompx", output="vector")
    assert not lengths.provenance.signed
    assert lengths.provenance.completeness_gap is None
    assert (lengths.scores >= 0).all()
    assert quick.run(quick.classifier(), quick.TEXT, "decompx").provenance.signed
    assert quick.run(quick.classifier(), quick.TEXT, "decompx", layer=1).provenance.completeness_gap is None


def test_slopes_go_through_the_origin_and_have_their_limit_there() -> None:
    values = torch.tensor([0.0, -2.0, 0.5, 1e-30], dtype=torch.float64)
    for function, limit in ((F.gelu, 0.5), (torch.tanh, 1.0), (F.silu, 0.5)):
        factor = slope(function, values).factor
        torch.testing.assert_close(factor * values, function(values), atol=0, rtol=1e-12)
        assert factor[0].item() == pytest.approx(limit)
        assert factor[3].item() == pytest.approx(limit)
    with pytest.raises(IncompatibleError, match="not 0 at 0"):
        slope(torch.sigmoid, values)


@pytest.mark.parametrize("method", ["alti", "globenc", "decompx"])
@pytest.mark.parametrize("architecture", ["bert", "albert", "plm_ca"])
def test_a_model_is_left_as_it_was_when_a_layer_fails_as_it_is_recorded(
    method: str, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny.model(architecture).train()
    clf = quick.warm(load(model, tiny.tokenizer(tiny.style_of(architecture))))
    before = quick.snapshot(model)
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
    last = norms[-2 if architecture == "plm_ca" else -1]  # behind a layer's MLP
    calls, forward = [0], last.forward
    at = {"bert": 3, "albert": 6, "plm_ca": 6}[architecture]

    def failing(states: Tensor) -> Tensor:
        calls[0] += 1
        if calls[0] == at:
            assert any(module._forward_pre_hooks for module in norms)  # its layer is being recorded
            raise RuntimeError("interrupted midway")
        return forward(states)

    with monkeypatch.context() as patch:
        patch.setattr(last, "forward", failing)
        with pytest.raises(RuntimeError, match="interrupted midway"):
            quick.run(clf, quick.TEXT, method)
    vars(last).pop("forward", None)  # monkeypatch leaves the bound method behind as an attribute
    after = quick.snapshot(model)
    assert {name for name in before if before[name] != after[name]} == set()
