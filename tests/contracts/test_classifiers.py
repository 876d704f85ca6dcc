"""Views of every architecture are views of the same function that Hugging Face computes."""

from typing import Any

import numpy as np
import pytest
import torch

import quick
import tiny
from whylight.models.load import load
from whylight.perturb.binding import bound
from whylight.testing import classifier_checks
from whylight.views.meter import Meter
from whylight.views.tokens import TokenBatch

every_architecture = pytest.mark.parametrize("architecture", tiny.EVERY)
HOSTED_ONLY = {"answers_are_those_of_a_plain_call"}
"""Checks of classifiers whose model can be called past them."""
OF_FUNCTIONS = [title for title, _ in classifier_checks(load(lambda texts: texts, labels=["a"]))]
TITLES = sorted({*OF_FUNCTIONS, *HOSTED_ONLY})
with_heads = pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
"""Those whose head reads the last layer; label attention is looked at in `oracles/test_chunked.py`."""
TEXTS = ["good", "The acting was never dull, but the plot drags!", "films, scripts and endings"]
PAIR = ("The plot is good", "this film was not dull")


def good(texts: list[str]) -> list[list[float]]:
    return [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts]


def close(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * max(1.0, np.abs(expected).max()))


def cases() -> list[tuple[str, str | None]]:
    return [*((text, None) for text in TEXTS), PAIR]


def _says_little(architecture: str, title: str) -> bool:
    """Say whether another architecture, or `test_methods_everywhere`, tells nearly as much."""
    of_methods = title == "what_is_claimed_to_work_works_and_leaves_the_model_alone"
    return architecture in tiny.RELATIVES or (of_methods and architecture not in ("bert", "deberta", "llama", "plm_ca"))


@pytest.mark.parametrize(
    ("architecture", "title"),
    [
        pytest.param(kind, title, marks=[pytest.mark.slow] if _says_little(kind, title) else [])
        for kind in tiny.EVERY
        for title in TITLES
    ],
)
def test_it_keeps_its_promise(architecture: str, title: str) -> None:
    dict(classifier_checks(quick.classifier(architecture, num_labels=3)))[title]()


@pytest.mark.parametrize("title", OF_FUNCTIONS)
def test_a_function_keeps_its_promise(title: str) -> None:
    dict(classifier_checks(load(good, labels=["yes", "no"], mask_string="[MASK]", identity="good")))[title]()


@every_architecture
def test_a_gradient_view_has_a_baseline_for_every_remover_that_keeps_the_length(architecture: str) -> None:
    clf = quick.classifier(architecture)
    view = clf.gradient_view(quick.encode(clf, "a"), quick.request(clf))
    assert set(view.baselines) == set(clf.removers) - {"delete", "infill"}
    assert {"mask", "pad"} - set(view.baselines) == ({"mask", "pad"} if architecture == "llama" else set())


@every_architecture
def test_ids_and_types_are_those_of_the_tokenizer(architecture: str) -> None:
    clf = quick.classifier(architecture)
    for text, pair in cases():
        (window,) = quick.encode(clf, text, pair).windows
        expected = clf.tokenizer(text, pair)
        assert window.ids.tolist() == expected["input_ids"]
        assert window.types.tolist() == expected.get("token_type_ids", [0] * len(window.ids))
        assert bool(window.types.any()) == (pair is not None and tiny.style_of(architecture) == "bert")
        sequence = expected.sequence_ids(0)
        assert [owner == -1 for owner in window.feature.tolist()] == [part is None for part in sequence]


@every_architecture
def test_the_gradient_is_that_of_the_model(architecture: str) -> None:
    clf = quick.classifier(architecture)
    view = clf.gradient_view(quick.encode(clf, TEXTS[1]), quick.request(clf))
    generator = torch.Generator().manual_seed(0)
    direction = torch.randn(view.inputs.shape, generator=generator)
    direction /= direction.norm()
    along = (view.gradient() * direction).sum((1, 2)).numpy()
    step = 1e-2 * float(view.inputs.norm()) ** 0.5
    estimates = []
    for width in (step, step / 2):
        ahead, behind = view.score(view.inputs + width * direction), view.score(view.inputs - width * direction)
        estimates.append((ahead - behind) / (2 * width))
    richardson = (4 * estimates[1] - estimates[0]) / 3
    np.testing.assert_allclose(along, richardson, rtol=0.05, atol=0.02 * float(view.gradient().norm()))


@every_architecture
@pytest.mark.parametrize("space", ["logit", "probability", "log_odds", "log_probability"])
def test_game_and_gradient_view_agree_on_every_score_space(architecture: str, space: Any) -> None:
    clf = quick.classifier(architecture, num_labels=3)
    encoded = quick.encode(clf, TEXTS[1])
    view = clf.gradient_view(encoded, quick.request(clf, space))
    outcomes = clf.outcomes(encoded, removal=bound("zero"), cache={}, meter=Meter())
    logits = outcomes(np.ones((1, encoded.n_features), dtype=bool))[0]
    close(view.score(view.inputs), clf.labels.scores(logits, space))


@every_architecture
def test_batch_padding_is_masked(architecture: str) -> None:
    clf = quick.classifier(architecture)
    windows = [quick.encode(clf, text).windows[0] for text in TEXTS]
    lengths = np.asarray([len(window.ids) for window in windows])
    ids = np.full((len(windows), lengths.max()), 7)  # what stands in the padding must not matter
    types = np.zeros_like(ids)
    for row, window in enumerate(windows):
        ids[row, : lengths[row]] = window.ids
    with torch.no_grad():
        together = clf.batch_logits(TokenBatch(ids, types, lengths))
    for row, text in enumerate(TEXTS):
        close(together[row], quick.plain_logits(clf, text))


@with_heads
def test_the_attention_of_a_trace_is_a_distribution_that_the_model_used(architecture: str) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, TEXTS[1])
    trace = clf.trace_view(encoded, quick.request(clf))
    n = len(encoded.windows[0].ids)
    assert len(trace.attention) == 2
    for layer in trace.attention:
        assert layer.shape == (2, n, n)
        assert bool((layer >= 0).all())
        np.testing.assert_allclose(layer.sum(-1), 1, atol=1e-5)
    row = trace.pool @ trace.attention[-1].mean(0)
    np.testing.assert_allclose(row.sum(), 1, atol=1e-5)
    eager = quick.classifier(architecture).model
    before = eager.config._attn_implementation
    model = tiny.model(architecture)  # a twin with the same weights
    model.set_attn_implementation("eager")
    inputs = {"input_ids": torch.as_tensor(encoded.windows[0].ids)[None]}
    with torch.no_grad():
        expected = model(**inputs, attention_mask=torch.ones(1, n), output_attentions=True).attentions
    for layer, other in zip(trace.attention, expected, strict=True):
        np.testing.assert_allclose(layer, other[0], atol=1e-5)
    assert eager.config._attn_implementation == before


@with_heads
def test_the_pooled_row_is_the_one_that_the_head_reads(architecture: str) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, TEXTS[1])
    n = len(encoded.windows[0].ids)
    expected = np.zeros(n)
    if architecture == "llama":
        expected[-1] = 1
    elif architecture == "modernbert_mean":
        expected[:] = 1 / n
    else:
        expected[0] = 1
    np.testing.assert_allclose(clf.trace_view(encoded, quick.request(clf)).pool.numpy(), expected, atol=1e-7)


@with_heads
def test_attention_gradients_agree_with_the_model_run_by_hand(architecture: str) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, TEXTS[1])
    found = clf.trace_view(encoded, quick.request(clf)).attention_gradient()
    model = tiny.model(architecture)
    model.set_attn_implementation("eager")
    ids = torch.as_tensor(encoded.windows[0].ids)[None]
    output = model(input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True)
    for column in range(2):
        (expected,) = torch.autograd.grad(output.logits[0, column], output.attentions[-1], retain_graph=True)
        np.testing.assert_allclose(found[column], expected[0], atol=1e-5 * float(expected.abs().max()))


def test_a_decoder_is_never_masked_with_the_token_that_marks_the_end_of_a_text() -> None:
    """The head reads the last token that is not padding; a removed last word must not move it."""
    model = tiny.model("llama")
    model.config.pad_token_id = tiny.tokenizer("llama").unk_token_id  # as many published decoders have it
    clf = load(model, tiny.tokenizer("llama"))
    encoded = quick.encode(clf, "good plot")
    keep = np.asarray([[True, False]])
    for remover in set(clf.removers) - {"delete", "infill"}:
        view = clf.gradient_view(encoded, quick.request(clf))
        point = view.inputs.clone()
        point[-1] = view.baseline(remover)[-1]  # type: ignore[arg-type]  # removers and baselines share names
        removed = clf.outcomes(encoded, removal=bound(remover), cache={}, meter=Meter())(keep)[0]
        close(removed, view.score(point))


def test_sparse_attention_does_not_depend_on_the_batch() -> None:
    from test_untouched import sparse_bigbird  # noqa: PLC0415  built there, used once more

    clf = load(sparse_bigbird(), tiny.tokenizer())
    text = " ".join(["the films were never dull but the plot drags"] * 4)  # words of one to four pieces
    found = []
    for budget in (1, 100_000):
        clf.engine.budget = budget
        found.append(quick.run(clf, text, "occlusion", remover="delete").scores)
    np.testing.assert_allclose(found[0], found[1], atol=1e-5 * np.abs(found[0]).max())


def test_running_out_of_memory_halves_the_batch_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = tiny.classifier("bert")
    expected = quick.run(clf, quick.TEXT, "occlusion").scores
    forward, sizes = clf.engine._forward, []

    def small(rows: TokenBatch) -> Any:
        sizes.append(len(rows))
        if len(rows) > 2:
            raise torch.OutOfMemoryError("not enough memory")
        return forward(rows)

    monkeypatch.setattr(clf.engine, "_forward", small)
    np.testing.assert_allclose(quick.run(clf, quick.TEXT, "occlusion").scores, expected, rtol=1e-5, atol=1e-6)
    assert max(sizes) > 2
    assert sizes.count(1) + sizes.count(2) >= 5


def test_one_row_that_does_not_fit_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = tiny.classifier("bert")

    def never(_rows: TokenBatch) -> Any:
        raise torch.OutOfMemoryError("not enough memory")

    monkeypatch.setattr(clf.engine, "_forward", never)
    with pytest.raises(torch.OutOfMemoryError):
        quick.run(clf, quick.TEXT, "occlusion")
