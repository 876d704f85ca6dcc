"""PLM-CA as a classifier: games, gradients and attention are those of the whole document, at the cost of its chunks."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import quick
import tiny
from tiny_plm_ca import embedded
from whylight.core.encoded import Encoded
from whylight.core.labels import Target
from whylight.core.registry import METHODS
from whylight.core.text import Span, Text
from whylight.explaining import provide
from whylight.explaining.case import open_case
from whylight.explaining.evaluate import measure
from whylight.models import chunked_outcomes, rules
from whylight.models.frozen import frozen
from whylight.models.load import load
from whylight.models.networks.plm_ca import cut_chunks
from whylight.perturb.binding import bound
from whylight.views.cache import BoundedCache
from whylight.views.classifier import Request
from whylight.views.meter import Meter
from whylight.views.tokens import TokenWindow

both = pytest.mark.parametrize("architecture", tiny.CHUNKED)
every_remover = pytest.mark.parametrize("remover", ["mask", "unk", "delete", "pad", "zero"])
TEXT = "The acting was never dull, but the plot drags! Films and scripts nevers end, good moving endings ever"
LABELS = 4


def exact(architecture: str, **options: Any) -> Any:
    """A classifier in double precision."""
    model = tiny.model(architecture, **{"num_labels": LABELS, **options}).double()
    return load(model, tiny.tokenizer(tiny.style_of(architecture)))


def coalitions(n: int, count: int = 12) -> Any:
    drawn = np.random.default_rng(0).random((count, n)) < np.linspace(0.1, 0.9, count)[:, None]
    return np.concatenate([np.ones((1, n), dtype=bool), np.zeros((1, n), dtype=bool), ~np.eye(n, dtype=bool), drawn])


def brute_force(clf: Any, window: TokenWindow, keep: Any, remover: str) -> Any:
    """Encode what is left of each chunk alone, and read all of it at once."""
    model, size, hidden = clf.model, clf.model.config.chunk_size, []
    for start in range(0, len(window.ids), size):
        ids = torch.as_tensor(window.ids[start : start + size])
        kept = torch.tensor([owner < 0 or bool(keep[owner]) for owner in window.feature[start : start + size]])
        if remover == "delete":
            ids, kept = ids[kept], kept[kept]
        elif remover != "zero":
            ids = torch.where(kept, ids, getattr(clf.tokenizer, f"{remover}_token_id"))
        if len(ids):
            vectors = model.get_input_embeddings()(ids)[None]
            with embedded(model, vectors * kept[None, :, None] if remover == "zero" else vectors):
                hidden.append(model.encode_chunks(ids[None])[0])
    if not hidden:
        return None
    rows = torch.cat(hidden)[None]
    return model.decode(rows, torch.ones(rows.shape[:2]))[0][0].numpy()


def count_rows(clf: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Write down how many chunks each call of the encoder gets."""
    quick.tried(clf, "occlusion", "input_x_gradient")
    encode, sizes = clf.model.encode_chunks, list[int]()

    def counted(ids: Tensor, *args: Any) -> Tensor:
        sizes.append(len(ids))
        return encode(ids, *args)

    monkeypatch.setattr(clf.model, "encode_chunks", counted)
    return sizes


@both
@every_remover
@torch.no_grad()
def test_recombined_chunks_are_the_whole_document(architecture: str, remover: str) -> None:
    clf = exact(architecture)
    encoded = quick.encode(clf, TEXT)
    (window,) = encoded.windows
    keep = coalitions(encoded.n_features)
    found = clf.outcomes(encoded, removal=bound(remover), cache={}, meter=Meter())(keep)
    expected = np.stack([brute_force(clf, window, row, remover) for row in keep])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.ptp(found, axis=0).min() > 0.1
    assert len(window.ids) > 3 * tiny.CHUNK
    straddling = {int(i) for i in window.feature[tiny.CHUNK - 1 :: tiny.CHUNK]} & {
        int(i) for i in window.feature[tiny.CHUNK :: tiny.CHUNK]
    }
    assert straddling  # a word that stands in two chunks is removed in both


@both
@pytest.mark.parametrize("remover", ["mask", "pad"])
@torch.no_grad()
def test_a_document_with_overwritten_words_is_what_the_network_answers(architecture: str, remover: str) -> None:
    clf = quick.classifier(architecture, num_labels=LABELS)
    encoded = quick.encode(clf, TEXT)
    (window,) = encoded.windows
    keep = coalitions(encoded.n_features)
    found = clf.outcomes(encoded, removal=bound(remover), cache={}, meter=Meter())(keep)
    ids = torch.as_tensor(bound(remover)(window, keep).batch.ids)
    expected = clf.model(ids, token_type_ids=torch.zeros_like(ids)).logits.numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)


@both
@torch.no_grad()
def test_a_chunk_of_which_nothing_is_left_contributes_nothing(architecture: str) -> None:
    clf = exact(architecture)
    encoded = quick.encode(clf, TEXT)
    (window,) = encoded.windows
    keep = np.ones((1, encoded.n_features), dtype=bool)
    second = slice(tiny.CHUNK, 2 * tiny.CHUNK)
    keep[0, window.feature[second]] = False
    found = clf.outcomes(encoded, removal=bound("delete"), cache={}, meter=Meter())(keep)[0]
    np.testing.assert_allclose(found, brute_force(clf, window, keep[0], "delete"), atol=1e-9)


@both
def test_with_no_token_left_at_all_the_labels_read_zeros(architecture: str) -> None:
    clf = exact(architecture)
    feature = np.arange(12)  # no special tokens
    spans = tuple(Span(0, i, i + 1) for i in feature)
    encoded = Encoded(
        Text("x" * 12), "word", spans, (TokenWindow(feature + 20, feature * 0, feature, feature, chunk_size=8),)
    )
    outcomes = clf.outcomes(encoded, removal=bound("delete"), cache={}, meter=Meter())
    keep = np.stack([np.zeros(12, dtype=bool), feature < 3])
    together, alone = outcomes(keep), outcomes(keep[:1])
    with torch.no_grad():
        nothing = clf.model.decoder.answer(torch.zeros(LABELS, clf.model.decoder.width).double(), torch.arange(LABELS))
    np.testing.assert_allclose(together[0], nothing)
    np.testing.assert_allclose(alone[0], nothing)


@both
@pytest.mark.parametrize("columns", [[2], [3, 0], [1, 1, 2]])
def test_wanted_columns_are_those_of_all(architecture: str, columns: list[int]) -> None:
    clf = exact(architecture)
    encoded = quick.encode(clf, TEXT)
    keep = coalitions(encoded.n_features, 3)
    every = clf.outcomes(encoded, removal=bound("mask"), cache={}, meter=Meter())(keep)
    some = clf.outcomes(encoded, removal=bound("mask"), cache={}, meter=Meter(), columns=columns)(keep)
    np.testing.assert_allclose(some, every[:, columns], atol=1e-12)
    assert clf.outcomes(encoded, removal=bound("mask"), cache={}, meter=Meter(), columns=columns)(keep[:0]).shape == (
        0,
        len(columns),
    )


@both
@pytest.mark.parametrize("memory", [1, 700, 20_000])
def test_little_memory_changes_no_number(architecture: str, memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few coalitions at once, labels in blocks, and a cache that forgets."""
    clf = exact(architecture)
    encoded = quick.encode(clf, TEXT)
    keep = coalitions(encoded.n_features)
    expected = clf.outcomes(encoded, removal=bound("delete"), cache={}, meter=Meter())(keep)
    monkeypatch.setattr(chunked_outcomes, "SUMMARY_BYTES", memory)
    cache = BoundedCache(limit=memory)
    outcomes = clf.outcomes(encoded, removal=bound("delete"), cache=cache, meter=Meter())
    np.testing.assert_allclose(outcomes(keep), expected, atol=1e-12)
    np.testing.assert_allclose(outcomes(keep[::-1]), expected[::-1], atol=1e-12)
    assert cache.size <= memory or len(cache) == 1


@both
def test_methods_and_metrics_of_a_case_encode_each_distinct_chunk_once(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = quick.warm(tiny.classifier(architecture, num_labels=LABELS))
    sizes = count_rows(clf, monkeypatch)
    case = open_case(clf, Text(TEXT))
    n_chunks = len(case.encoded.windows[0].cut(tiny.CHUNK))
    assert sum(sizes) == n_chunks
    targets = tuple(Target(i, clf.labels.names[i]) for i in (0, 2))
    keep = coalitions(case.encoded.n_features)
    first = provide.game(case, Request(targets, "logit"), bound("mask"))
    values = first(keep)
    known = sum(sizes)
    request = Request(targets[1:], "logit")
    again = provide.game(case, request, bound("mask"))
    np.testing.assert_allclose(again(keep), values[:, 1:], atol=1e-6)
    assert sum(sizes) == known
    assert request.meter.forward_passes == len({*case.cache})  # as if nothing had been known
    other = tuple(Target(i, clf.labels.names[i]) for i in (1,))
    provide.game(case, Request(other, "logit"), bound("mask"))(keep)
    assert sum(sizes) == 2 * known - n_chunks  # of the untouched chunks all labels were known
    provide.game(case, Request((*targets, *other), "logit"), bound("mask"))(keep)
    assert sum(sizes) == 2 * known - n_chunks  # what others had wanted was kept


@both
def test_occlusion_encodes_a_chunk_a_word_and_the_document_once(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = quick.warm(tiny.classifier(architecture, num_labels=LABELS))
    sizes = count_rows(clf, monkeypatch)
    explanation = quick.run(clf, TEXT, "occlusion", target="all")
    blocks = quick.encode(clf, TEXT).blocks
    words_in_chunks = sum(map(len, blocks))  # a word that stands in two chunks counts twice
    distinct = sum(sizes)
    assert distinct == explanation.provenance.forward_passes
    assert words_in_chunks <= distinct <= words_in_chunks + len(blocks) + 1
    assert len(explanation.spans) <= words_in_chunks <= len(explanation.spans) + len(blocks)


def test_the_games_of_a_document_know_its_chunks() -> None:
    clf = quick.classifier("plm_ca")
    case = open_case(clf, Text(TEXT))
    game = provide.game(case, quick.request(clf), bound("mask"))
    (window,) = case.encoded.windows
    pieces = [window.feature[start : start + tiny.CHUNK] for start in range(0, len(window.ids), tiny.CHUNK)]
    assert [set(block.tolist()) for block in game.blocks] == [set(piece[piece >= 0].tolist()) for piece in pieces]
    assert len(provide.game(open_case(clf, Text("good")), quick.request(clf), bound("mask")).blocks) == 1


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


def long_text() -> str:
    return " ".join(f"{a} films drags {b} plot" for a in ("good", "dull", "never") for b in ("very", "not", "awful"))


@both
def test_a_document_beyond_the_limit_is_the_mean_of_its_windows(architecture: str) -> None:
    clf = exact(architecture, max_tokens=30)
    assert clf.limit == 30
    encoded = quick.encode(clf, long_text())
    assert len(encoded.windows) > 1
    assert max(len(window.ids) for window in encoded.windows) <= 30
    keep = coalitions(encoded.n_features, 4)
    found = clf.outcomes(encoded, removal=bound("delete"), cache={}, meter=Meter())(keep)
    with torch.no_grad():
        expected = [
            np.mean([brute_force(clf, window, row, "delete") for window in encoded.windows], axis=0) for row in keep
        ]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    pieces = [piece for window in encoded.windows for piece in window.cut(tiny.CHUNK)]
    assert [block.tolist() for block in encoded.blocks] == [
        piece.features.tolist() for piece in pieces if len(piece.features)
    ]


@both
@pytest.mark.parametrize("long", ["window", "segments", "truncate"])
@pytest.mark.parametrize("method", ["occlusion", "input_x_gradient", "attention", "attingrad", "attention_rollout"])
def test_every_way_with_long_documents_works(architecture: str, long: str, method: str) -> None:
    clf = tiny.classifier(architecture, num_labels=LABELS, max_tokens=30)
    explanation = quick.run(clf, long_text(), method, target="all", long=long)
    assert np.isfinite(explanation.scores).all()
    assert explanation.scores.shape == (LABELS, len(explanation.spans))
    assert any("chunks" in note for note in explanation.provenance.notes)


def test_a_document_is_one_row_whatever_its_tokenizer_says() -> None:
    model = tiny.model("plm_ca", max_tokens=6000)
    clf = load(model, tiny.tokenizer())
    assert tiny.tokenizer().model_max_length == tiny.LIMIT < clf.limit == 6000
    encoded = quick.encode(clf, "good plot " * 200)
    assert len(encoded.windows) == 1
    assert encoded.notes == ("encoded in 51 chunks of at most 8 tokens; passes count chunks",)
    assert quick.encode(clf, "good plot").notes == ()


@both
def test_running_out_of_memory_halves_the_chunks_and_changes_nothing(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = tiny.classifier(architecture, num_labels=LABELS)
    expected = quick.run(clf, TEXT, "occlusion", target="all").scores
    encode, sizes = clf.model.encode_chunks, list[int]()

    def small(ids: Tensor, *args: Any) -> Tensor:
        sizes.append(len(ids))
        if len(ids) > 2:
            raise torch.OutOfMemoryError("not enough memory")
        found: Tensor = encode(ids, *args)
        return found

    monkeypatch.setattr(clf.model, "encode_chunks", small)
    np.testing.assert_allclose(quick.run(clf, TEXT, "occlusion", target="all").scores, expected, atol=1e-5)
    assert max(sizes) > 2


@both
def test_metrics_measure_the_same_document(architecture: str) -> None:
    clf = quick.classifier(architecture, num_labels=LABELS)
    explanation = quick.run(clf, TEXT, "occlusion", target="all")
    found = measure(clf, explanation, metric="comprehensiveness", remover="delete", share=0.5)
    encoded = quick.encode(clf, TEXT)
    n = encoded.n_features
    outcomes = clf.outcomes(encoded, removal=bound("delete"), cache={}, meter=Meter())
    full = clf.labels.probabilities(outcomes(np.ones((1, n), dtype=bool)))[0]
    for row, target in enumerate(explanation.targets):
        keep = np.ones((1, n), dtype=bool)
        keep[0, np.argsort(-explanation.scores[row], kind="stable")[: int(n / 2 + 0.5)]] = False
        expected = full[target.index] - clf.labels.probabilities(outcomes(keep))[0, target.index]
        assert found[row] == pytest.approx(expected, abs=1e-6)
