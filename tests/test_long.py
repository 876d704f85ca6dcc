"""Texts longer than the model reads: one function, the mean of the window logits."""

from typing import Any

import numpy as np
import pytest
import torch

import quick
import tiny
from whylight.core.errors import IncompatibleError, InputError
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining.provide import blend
from whylight.perturb.binding import bound
from whylight.views.game import Game
from whylight.views.gradient import GradientView
from whylight.views.meter import Meter
from whylight.views.tokens import TokenWindow
from whylight.views.trace import TraceView

LONG = (
    " ".join(f"{a} films drags {b} plot" for a in ("good", "dull", "never") for b in ("very", "not", "awful"))
    + " end" * 40
)
PAIR = "the acting was good"
some_architectures = pytest.mark.parametrize("architecture", ["bert", "roberta", "modernbert_mean", "llama"])
GRADIENT_ONLY = [
    n for n in quick.METHOD_NAMES if METHODS[n].consumes == (GradientView,) and not METHODS[n].facts["scores"]
]
TRACED = [n for n in quick.METHOD_NAMES if METHODS[n].consumes == (TraceView,) and not METHODS[n].facts["complete"]]


def forward(clf: Any, window: TokenWindow, ids: Any = None) -> Any:
    row = torch.as_tensor(window.ids if ids is None else ids)[None]
    types = {"token_type_ids": torch.as_tensor(window.types)[None]} if "token_type_ids" in clf.tokenizer("a") else {}
    return clf.model(input_ids=row, attention_mask=torch.ones_like(row), **types).logits[0]


@some_architectures
@pytest.mark.parametrize("unit", ["word", "token", "sentence"])
@pytest.mark.parametrize("pair", [None, PAIR])
def test_windows_hold_every_token_and_respect_the_limit(architecture: str, unit: Any, pair: str | None) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, LONG, pair, unit=unit)
    tokens = clf.tokenizer(LONG, add_special_tokens=False)["input_ids"]
    assert len(encoded.windows) > 1
    held = {int(i) for window in encoded.windows for i in window.features}
    assert held == set(range(encoded.n_features))
    for window in encoded.windows:
        assert len(window.ids) <= tiny.LIMIT
        assert len(window.ids) == len(window.types) == len(window.feature)
    first = quick.encode(clf, "good", pair).windows[0]
    for window in encoded.windows:
        assert window.ids[window.feature < 0].tolist() == first.ids[first.feature < 0].tolist()
        if pair is not None:
            second = {i for i, span in enumerate(encoded.places) if span.part == 1}
            assert second <= set(window.features.tolist())
    if pair is None and unit == "token":
        assert encoded.n_features == len(tokens)
        for window in encoded.windows:
            content = window.feature >= 0
            assert window.ids[content].tolist() == [tokens[i] for i in window.feature[content]]


@pytest.mark.parametrize("unit", ["word", "sentence", "token"])
def test_windows_are_the_same_whatever_the_unit(unit: Any) -> None:
    clf = quick.classifier("bert")
    expected = [window.ids.tolist() for window in quick.encode(clf, LONG).windows]
    assert [window.ids.tolist() for window in quick.encode(clf, LONG, unit=unit).windows] == expected


@some_architectures
@pytest.mark.parametrize("pair", [None, PAIR])
def test_the_logit_of_a_document_is_the_mean_of_its_window_logits(architecture: str, pair: str | None) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, LONG, pair)
    with torch.no_grad():
        expected = torch.stack([forward(clf, window) for window in encoded.windows]).double().mean(0).numpy()
    outcomes = clf.outcomes(encoded, removal=bound("unk"), cache={}, meter=Meter())
    found = outcomes(np.ones((1, encoded.n_features), dtype=bool))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    given_ = LONG if pair is None else (LONG, pair)
    prediction = quick.run(clf, given_, "random").prediction
    np.testing.assert_allclose(prediction.probabilities, torch.softmax(torch.tensor(expected), 0), rtol=1e-4)


@some_architectures
@pytest.mark.parametrize("space", ["logit", "probability"])
def test_occlusion_of_a_long_text_is_what_brute_force_finds(architecture: str, space: Any) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, LONG)
    unk = clf.tokenizer.unk_token_id

    def score(without: int | None) -> Any:
        rows = [
            np.where((window.feature == without) & (window.feature >= 0), unk, window.ids) for window in encoded.windows
        ]
        with torch.no_grad():
            logits = [forward(clf, w, ids) for w, ids in zip(encoded.windows, rows, strict=True)]
        mean = torch.stack(logits).double().mean(0)
        return (mean if space == "logit" else mean.softmax(0)).numpy()

    some = [0, 1, 20, 45, 46, encoded.n_features - 1]
    found = quick.run(clf, LONG, "occlusion", remover="unk", score=space, target="all").scores[:, some]
    expected = np.stack([score(None) - score(i) for i in some], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1.0, np.abs(expected).max()))


@some_architectures
def test_input_times_gradient_of_a_long_text_is_that_of_the_mean(architecture: str) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, LONG)
    table = clf.model.get_input_embeddings()
    leaves = [table(torch.as_tensor(w.ids)[None]).detach().requires_grad_(requires_grad=True) for w in encoded.windows]
    logits = []
    for window, leaf in zip(encoded.windows, leaves, strict=True):
        handle = table.register_forward_hook(lambda _m, _a, _o, leaf=leaf: leaf)
        try:
            logits.append(forward(clf, window))
        finally:
            handle.remove()
    mean = torch.stack(logits).mean(0)
    expected = np.zeros((2, encoded.n_features))
    for target in range(2):
        for window, leaf in zip(encoded.windows, leaves, strict=True):
            (gradient,) = torch.autograd.grad(mean[target], leaf, retain_graph=True)
            scores = (gradient * leaf).sum(-1)[0].detach().numpy()
            for position, owner in enumerate(window.feature):
                if owner >= 0:
                    expected[target, owner] += scores[position]
    found = quick.run(clf, LONG, "input_x_gradient", target="all").scores
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1.0, np.abs(expected).max()))


def test_integrated_gradients_of_a_long_text_are_complete() -> None:
    clf = quick.classifier("bert")
    explanation = quick.run(clf, LONG, "integrated_gradients", steps=80, target="all")
    encoded = quick.encode(clf, LONG)
    outcomes = clf.outcomes(encoded, removal=bound("mask"), cache={}, meter=Meter())
    ends = outcomes(np.stack([np.ones(encoded.n_features, dtype=bool), np.zeros(encoded.n_features, dtype=bool)]))
    total = explanation.scores.sum(1)
    assert explanation.provenance.completeness_gap is not None
    np.testing.assert_allclose(total - explanation.provenance.completeness_gap, ends[0] - ends[1], atol=1e-4)
    np.testing.assert_allclose(explanation.provenance.completeness_gap, 0, atol=0.02)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "modernbert_mean"])
@pytest.mark.parametrize("bias", ["absdot", "token"])
def test_decompx_of_a_long_text_splits_the_mean_of_its_windows(architecture: str, bias: str) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, LONG)
    expected = np.zeros((2, encoded.n_features))
    for number in range(len(encoded.windows)):
        segment, held = encoded.segment(number)
        trace = clf.trace_view(segment, quick.request(clf))
        expected[:, held] += METHODS["decompx"].function(trace, bias=bias).values / len(encoded.windows)
    explanation = quick.run(clf, LONG, "decompx", target="all", bias=bias)
    np.testing.assert_allclose(explanation.scores, expected, atol=1e-6)
    assert explanation.provenance.completeness_gap is not None
    np.testing.assert_allclose(explanation.provenance.completeness_gap, 0, atol=1e-4)


@pytest.mark.parametrize("method", TRACED)
def test_traces_of_windows_are_blended_and_divided(method: str) -> None:
    clf = quick.classifier("bert")
    encoded = quick.encode(clf, LONG)
    weights = blend(encoded)
    whole = quick.run(clf, LONG, method)
    segments = quick.run(clf, LONG, method, long="segments")
    np.testing.assert_allclose(whole.scores * len(encoded.windows), segments.scores, rtol=1e-5, atol=1e-9)
    alone = [i for i in range(encoded.n_features) if (weights[:, i] == 1).any()]
    assert len(alone) > 10
    assert whole.provenance.completeness_gap is None


@pytest.mark.parametrize("method", quick.METHOD_NAMES)
def test_segments_are_explained_alone_and_blended(method: str) -> None:
    clf = quick.classifier("bert")
    encoded = quick.encode(clf, LONG)
    explanation = quick.run(clf, LONG, method, long="segments")
    assert any("one by one" in note for note in explanation.provenance.notes)
    assert explanation.scores.shape == (1, encoded.n_features)
    if method == "occlusion":
        expected = np.zeros(encoded.n_features)
        for number, weights in enumerate(blend(encoded)):
            segment, held = encoded.segment(number)
            column = explanation.targets[0].index
            outcomes = clf.outcomes(segment, removal=bound("mask"), cache={}, meter=Meter())
            drops = outcomes(np.ones((1, len(held)), dtype=bool)) - outcomes(~np.eye(len(held), dtype=bool))
            expected[held] += drops[:, column] * weights[held]
        np.testing.assert_allclose(explanation.scores[0], expected, atol=1e-5)


@pytest.mark.parametrize("method", quick.METHOD_NAMES)
def test_a_text_that_fits_does_not_care_about_the_long_setting(method: str) -> None:
    clf = quick.classifier("bert")
    plain = quick.run(clf, quick.TEXT, method)
    for long in ("segments", "truncate", "refuse"):
        other = quick.run(clf, quick.TEXT, method, long=long)
        assert other.scores.tobytes() == plain.scores.tobytes()
        assert other.provenance.notes == plain.provenance.notes
        assert other.provenance.completeness_gap == plain.provenance.completeness_gap


@some_architectures
@pytest.mark.parametrize("method", ["occlusion", "integrated_gradients", "attention"])
def test_truncation_is_said_and_ends_the_features(architecture: str, method: str) -> None:
    clf = quick.classifier(architecture)
    explanation = quick.run(clf, LONG, method, long="truncate")
    whole = quick.encode(clf, LONG)
    tokens = len(clf.tokenizer(LONG)["input_ids"])
    assert explanation.provenance.notes == (f"truncated at {tiny.LIMIT} of {tokens} tokens",)
    assert 0 < len(explanation.places) < whole.n_features
    assert explanation.places == whole.places[: len(explanation.places)]
    cut = LONG[: explanation.places[-1].end]
    np.testing.assert_allclose(explanation.scores, quick.run(clf, cut, method).scores, atol=1e-6)


def test_a_truncated_pair_keeps_the_shorter_text_whole() -> None:
    clf = quick.classifier("bert")
    for given_, longer in (((LONG, PAIR), 0), ((PAIR, LONG), 1)):
        explanation = quick.run(clf, given_, "occlusion", long="truncate")
        shorter = [explanation.example.show(s) for s in explanation.places if s.part != longer]
        assert shorter == PAIR.split()
        assert max(s.end for s in explanation.places if s.part == longer) < len(LONG)
        assert list(explanation.places) == sorted(explanation.places)


def test_a_long_text_is_refused_on_request_with_what_would_work() -> None:
    with pytest.raises(
        InputError, match=r"has \d+ tokens and the model reads 64; use --long window, segments or truncate"
    ):
        quick.run(quick.classifier("bert"), LONG, "occlusion", long="refuse")


def test_two_texts_that_are_both_too_long_are_refused() -> None:
    with pytest.raises(InputError, match="both texts are too long"):
        quick.run(quick.classifier("bert"), (LONG, LONG), "occlusion")


def test_windows_are_said_in_the_receipt() -> None:
    (note,) = quick.run(quick.classifier("bert"), LONG, "occlusion").provenance.notes
    tokens = len(quick.classifier("bert").tokenizer(LONG)["input_ids"])
    assert note.startswith(f"{tokens} tokens read in ")
    assert "mean logit" in note


@pytest.mark.parametrize("method", GRADIENT_ONLY)
def test_a_score_that_is_not_a_sum_over_windows_is_refused_with_what_would_work(method: str) -> None:
    clf = quick.classifier("bert")
    with pytest.raises(IncompatibleError, match=r"--score logit or --long segments"):
        quick.run(clf, LONG, method, score="probability")
    assert np.isfinite(quick.run(clf, LONG, method, score="probability", long="segments").scores).all()


@pytest.mark.parametrize("limit", [8, 9, 16, 63])
def test_a_smaller_limit_can_be_asked_for(limit: int) -> None:
    clf = tiny.classifier("bert", max_tokens=limit)
    encoded = quick.encode(clf, quick.TEXT + " never ever")
    assert max(len(window.ids) for window in encoded.windows) <= limit
    assert {int(i) for w in encoded.windows for i in w.features} == set(range(encoded.n_features))
    assert np.isfinite(quick.run(clf, quick.TEXT + " never ever", "integrated_gradients").scores).all()


def test_the_games_of_a_long_text_know_their_blocks() -> None:
    seen = list[Game]()

    def spy(game: Game) -> Any:
        seen.append(game)
        return np.zeros((1, game.n_features))

    clf = quick.classifier("bert")
    encoded = quick.encode(clf, LONG)
    spec = METHODS["occlusion"]
    from dataclasses import replace  # noqa: PLC0415

    from whylight.explaining.case import open_case  # noqa: PLC0415
    from whylight.explaining.options import Options  # noqa: PLC0415
    from whylight.explaining.receipts import explain_case  # noqa: PLC0415

    explain_case(open_case(clf, Text(LONG)), replace(spec, function=spy), {}, Options())
    assert [block.tolist() for block in seen[0].blocks] == [window.features.tolist() for window in encoded.windows]
