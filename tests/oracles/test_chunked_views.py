"""Gradients and attention of a document in chunks: those of the network, whatever fits at a time."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from test_chunked import LABELS, TEXT, both, count_rows, exact
from torch import Tensor

import quick
import tiny
from tiny_plm_ca import embedded
from whylight.core.labels import Target
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining import provide
from whylight.explaining.case import open_case
from whylight.models import rules
from whylight.models.frozen import frozen
from whylight.models.load import load
from whylight.models.networks.plm_ca import cut_chunks
from whylight.perturb.binding import bound
from whylight.views.classifier import Request
from whylight.views.tokens import TokenWindow


def network_scores(clf: Any, window: TokenWindow, points: Tensor) -> Tensor:
    """Logits `[batch, labels]` of the whole network at word embeddings `[batch, tokens, dims]`."""
    ids = torch.as_tensor(window.ids)[None].repeat(len(points), 1)
    with embedded(clf.model, cut_chunks(points, size=clf.model.config.chunk_size).flatten(0, 1)):
        logits: Tensor = clf.model(ids, token_type_ids=torch.zeros_like(ids)).logits
    return logits


@both
@pytest.mark.parametrize("budget", [1, 2 * tiny.CHUNK, 1000])
@pytest.mark.parametrize("rule", ["exact", "rescale", "frozen"])
def test_gradients_a_few_chunks_at_a_time_are_those_of_the_network(architecture: str, budget: int, rule: Any) -> None:
    clf = exact(architecture)
    clf.engine.budget = budget
    encoded = quick.encode(clf, TEXT)
    (window,) = encoded.windows
    view = clf.gradient_view(encoded, quick.request(clf))
    points = torch.stack([view.inputs, view.baseline("mask")])
    found = view.gradients(points, rule=rule)
    leaf = points.detach().requires_grad_(requires_grad=True)
    with {"exact": nullcontext, "rescale": rules.rescale, "frozen": frozen}[rule]():
        scores = network_scores(clf, window, leaf)
    rows = slice(1) if rule == "rescale" else slice(None)  # references have no multipliers
    for column in range(LABELS):
        (expected,) = torch.autograd.grad(scores[:, column].sum(), leaf, retain_graph=True)
        torch.testing.assert_close(found[column, rows], expected[rows], atol=1e-9, rtol=1e-6)
    np.testing.assert_allclose(view.score(points[1]), scores[1].detach(), atol=1e-9)


@both
def test_gradients_hold_the_activations_of_a_few_chunks_only(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = quick.warm(tiny.classifier(architecture, num_labels=LABELS))
    clf.engine.budget = 2 * tiny.CHUNK
    sizes = count_rows(clf, monkeypatch)
    explanation = quick.run(clf, TEXT, "input_x_gradient", target="all")
    n_chunks = len(quick.encode(clf, TEXT).windows[0].cut(tiny.CHUNK))
    assert max(sizes) == 2
    assert sum(sizes) == 3 * n_chunks  # the prediction, the summaries, and the graph
    assert explanation.provenance.forward_passes == 2 * n_chunks
    assert explanation.provenance.backward_passes == LABELS * n_chunks


@pytest.mark.parametrize("method", ["input_x_gradient", "attingrad", "integrated_gradients"])
@pytest.mark.parametrize("architecture", ["bert", *tiny.CHUNKED])
def test_targets_whose_gradients_do_not_fit_together_are_explained_some_at_a_time(
    method: str, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = quick.classifier(architecture, num_labels=LABELS)
    together = quick.run(clf, TEXT, method, target="all")
    one = clf.gradient_view(quick.encode(clf, TEXT), quick.request(clf)).inputs.nbytes
    monkeypatch.setattr(provide, "GRADIENT_BYTES", 3 * one)
    apart = quick.run(clf, TEXT, method, target="all")
    np.testing.assert_allclose(apart.scores, together.scores, atol=1e-5 * np.abs(together.scores).max())
    assert apart.provenance.backward_passes == together.provenance.backward_passes
    assert apart.provenance.forward_passes == 2 * together.provenance.forward_passes  # three targets, then one
    gaps = [np.asarray(one.provenance.completeness_gap or ()) for one in (apart, together)]
    assert len(gaps[0]) == (LABELS if METHODS[method].facts["complete"] else 0)
    np.testing.assert_allclose(*gaps, atol=1e-4)


@both
def test_points_share_the_chunks_that_they_leave_untouched(architecture: str) -> None:
    clf = quick.classifier(architecture, num_labels=LABELS)
    explanation = quick.run(clf, TEXT, "sequential_integrated_gradients", unit="token", target="all")
    n_chunks = len(quick.encode(clf, TEXT).windows[0].cut(tiny.CHUNK))
    assert explanation.provenance.forward_passes == len(explanation.spans) + n_chunks


@both
def test_label_attention_is_the_networks_own_and_sums_to_one(architecture: str) -> None:
    clf = exact(architecture)
    encoded = quick.encode(clf, TEXT)
    ids = torch.as_tensor(encoded.windows[0].ids)[None]
    output = clf.model(ids, token_type_ids=torch.zeros_like(ids), output_label_attention=True)
    columns = (3, 1)
    request = Request(tuple(Target(i, clf.labels.names[i]) for i in columns), "logit")
    trace = clf.trace_view(encoded, request)
    assert trace.class_specific
    assert trace.rows.shape == (2, 1, len(ids[0]))
    torch.testing.assert_close(trace.start.sum(-1), torch.ones(2, dtype=torch.float64))
    torch.testing.assert_close(trace.start, output.label_attention[0, columns, :])
    for row, column in enumerate(columns):
        (gradient,) = torch.autograd.grad(output.logits[0, column], output.label_attention, retain_graph=True)
        torch.testing.assert_close(trace.row_gradient()[row, 0], gradient[0, column], atol=1e-9, rtol=1e-6)
    feature = encoded.windows[0].feature
    expected = np.zeros((2, encoded.n_features))
    for row, column in enumerate(columns):
        np.add.at(expected[row], feature[feature >= 0], output.label_attention[0, column].detach()[feature >= 0])
    found = quick.run(clf, TEXT, "attention", target=list(columns))
    np.testing.assert_allclose(found.scores, expected, atol=1e-9)
    assert found.provenance.class_specific


@both
@pytest.mark.parametrize("space", ["logit", "probability"])
def test_attgrad_and_attingrad_are_products_of_the_labels_own_attention(architecture: str, space: Any) -> None:
    clf = exact(architecture)
    options = {"unit": "token", "target": "all", "score": space}
    attention = quick.run(clf, TEXT, "attention", **options).scores
    mattered = quick.run(clf, TEXT, "input_x_gradient", pooling="l2", **options).scores
    np.testing.assert_allclose(quick.run(clf, TEXT, "attingrad", **options).scores, attention * mattered, atol=1e-9)
    encoded = quick.encode(clf, TEXT, unit="token")
    gradient = clf.trace_view(encoded, quick.request(clf, space)).row_gradient()[:, 0]
    content = encoded.windows[0].feature >= 0
    expected = attention * gradient.abs().numpy()[:, content]
    np.testing.assert_allclose(quick.run(clf, TEXT, "attgrad", **options).scores, expected, atol=1e-9)


@both
def test_rollout_is_the_label_attention_times_a_dense_block_diagonal_product(architecture: str) -> None:
    clf = exact(architecture)
    encoded = quick.encode(clf, TEXT, unit="token")
    (window,) = encoded.windows
    twin = exact(architecture).model
    twin.set_attn_implementation("eager")
    n, size = len(window.ids), tiny.CHUNK
    layers = [np.zeros((n, n)) for _ in range(2)]
    for start in range(0, n, size):
        ids = torch.as_tensor(window.ids[start : start + size])[None]
        with torch.no_grad():
            found = twin.encoder(input_ids=ids, output_attentions=True).attentions
        for layer, own in zip(layers, found, strict=True):
            layer[start : start + size, start : start + size] = own[0].mean(0)
    product = np.eye(n)
    for layer in layers:
        mixed = (layer + np.eye(n)) / 2
        product = mixed / mixed.sum(1, keepdims=True) @ product
    ids = torch.as_tensor(window.ids)[None]
    row = twin(ids, output_label_attention=True).label_attention[0].detach().numpy()
    found_scores = quick.run(clf, TEXT, "attention_rollout", unit="token", target="all").scores
    np.testing.assert_allclose(found_scores, (row @ product)[:, window.feature >= 0], atol=1e-9)


@both
@pytest.mark.parametrize("space", ["logit", "probability", "log_odds"])
@pytest.mark.parametrize(("head", "labels"), [("softmax", 3), ("binary", 1), ("sigmoid", 3)])
def test_every_head_has_every_view(architecture: str, space: Any, head: Any, labels: int) -> None:
    clf = load(
        tiny.model(architecture, num_labels=labels).double(), tiny.tokenizer(tiny.style_of(architecture)), head=head
    )
    case = open_case(clf, Text(TEXT))
    targets = tuple(Target(i, clf.labels.names[i]) for i in ((1, 0) if head == "binary" else (2, 0)))
    request = Request(targets, space)
    full = provide.game(case, request, bound("mask")).full
    view = clf.gradient_view(case.encoded, request)
    np.testing.assert_allclose(view.score(view.inputs), full, atol=1e-9)
    logits = quick.plain_logits(clf, TEXT)
    both_columns = np.concatenate([-logits, logits]) if head == "binary" else logits
    np.testing.assert_allclose(full, clf.labels.scores(both_columns, space)[[t.index for t in targets]], atol=1e-6)
    trace = clf.trace_view(case.encoded, request)
    attention = trace.start.numpy()
    assert attention.shape == trace.row_gradient()[:, 0].shape
    assert (attention[0] == attention[1]).all() == (head == "binary")
    assert bool((trace.row_gradient().abs().amax(-1) > 0).all())
