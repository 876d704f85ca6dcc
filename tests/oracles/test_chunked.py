"""PLM-CA as a classifier: games, gradients and attention are those of the whole document, at the cost of its chunks."""

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
from whylight.core.text import Span, Text
from whylight.explaining import provide
from whylight.explaining.case import open_case
from whylight.explaining.evaluate import measure
from whylight.models import chunked_outcomes
from whylight.models.load import load
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
