"""Whatever the architecture: views are of what a plain call computes, and claims are what really happens."""

from typing import Any

import numpy as np
import pytest
import torch

import masked
import quick
import tiny
import zoo
from whylight.core.errors import IncompatibleError
from whylight.core.registry import METHODS
from whylight.explaining.compatible import compatible, obstacle
from whylight.explaining.explain import explain
from whylight.explaining.removing import chosen_removal
from whylight.models.trial import LONG, SHORT
from whylight.perturb.binding import bound
from whylight.views.meter import Meter

PAIR = ("The plot is good", "this film was not dull")
SOME = ("gpt2", "xlnet", "t5", "bart", "funnel", "longformer", "fnet")
"""Architectures of which every method is tried in every run of the suite; the others' take longer than they tell."""
every = pytest.mark.parametrize("name", zoo.NAMES)
some = pytest.mark.parametrize(
    "name", [*SOME, *(pytest.param(n, marks=pytest.mark.slow) for n in zoo.NAMES if n not in SOME)]
)


def plain(clf: Any, ids: Any, **given: Any) -> Any:
    """Return what Hugging Face alone answers to ids."""
    with torch.no_grad():
        return clf.model(input_ids=ids, **given).logits[0].double().numpy()


def inputs(clf: Any, *texts: str) -> dict[str, Any]:
    return dict(clf.tokenizer(*texts, return_tensors="pt"))


def taken(clf: Any, *texts: str) -> dict[str, Any]:
    """What the tokenizer returns, but for a mask that a model (FNet) does not take."""
    return {name: value for name, value in inputs(clf, *texts).items() if name != "attention_mask" or name in clf.keys}


def logits(clf: Any, *texts: str) -> Any:
    encoded = quick.encode(clf, *texts)
    outcomes = clf.outcomes(encoded, removal=bound(clf.removers[0]), cache={}, meter=Meter())
    return outcomes(np.ones((1, encoded.n_features), dtype=bool))[0]


def assert_close(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


@every
def test_logits_are_those_of_a_plain_call(name: str) -> None:
    clf = zoo.classifier(name)
    for texts in ((SHORT,), (LONG,), PAIR):
        assert_close(logits(clf, *texts), plain(clf, **_renamed(taken(clf, *texts))))


@every
def test_rows_of_several_lengths_have_the_answers_that_they_have_alone(name: str) -> None:
    clf = zoo.classifier(name)
    encoded = quick.encode(clf, LONG)
    keep = np.ones((3, encoded.n_features), dtype=bool)
    keep[1, 2:20] = keep[2, ::2] = False
    found = clf.outcomes(encoded, removal=bound("delete"), cache={}, meter=Meter())(keep)
    (window,) = encoded.windows
    for row, mask in zip(found, keep, strict=True):
        kept = (window.feature < 0) | mask[window.feature]
        given = taken(clf, LONG)
        assert_close(row, plain(clf, given["input_ids"][:, kept], **_rest(given, kept)))


@some
def test_integrated_gradients_sum_to_the_difference_of_plain_logits_within_the_stated_gap(name: str) -> None:
    clf = zoo.classifier(name)
    for text in (SHORT, LONG):
        found = explain(clf, text, method="integrated_gradients", target=1, steps=3)
        token = getattr(clf.tokenizer, f"{found.provenance.settings['baseline']}_token_id")
        given = taken(clf, text)
        content = torch.as_tensor(quick.encode(clf, text).windows[0].feature >= 0)
        whole = plain(clf, **_renamed(given))
        nothing = plain(clf, given["input_ids"].masked_fill(content, token), **_rest(given))
        assert found.provenance.completeness_gap is not None
        promised = found.scores.sum() - found.provenance.completeness_gap[0]
        assert_close(promised, whole[1] - nothing[1], 2e-5 * max(1.0, np.abs(whole).max()))


@pytest.mark.parametrize("name", ["gpt2", "xlm", "ctrl", "gpt_bigcode"])
def test_types_that_a_model_takes_for_words_are_not_exchanged_with_the_words(name: str) -> None:
    """A tokenizer that does return types: the plain call looks them up in the table of words, and so do we."""
    clf = zoo.load(zoo.model(name), tiny.tokenizer("bert"))
    given = inputs(clf, *PAIR)
    assert "token_type_ids" in given
    assert_close(logits(clf, *PAIR), plain(clf, **_renamed(given)))
    without = plain(clf, given["input_ids"], attention_mask=given["attention_mask"])
    assert np.abs(without - plain(clf, **_renamed(given))).max() > 1e-2
    view = clf.gradient_view(quick.encode(clf, *PAIR), quick.request(clf))
    content = torch.as_tensor(quick.encode(clf, *PAIR).windows[0].feature >= 0)
    replaced = given["input_ids"].masked_fill(content, clf.tokenizer.mask_token_id)
    assert_close(view.score(view.baseline("mask")), plain(clf, replaced, **_rest(given)))


@pytest.mark.parametrize("name", zoo.BOTH)
def test_the_token_that_a_sequence_to_sequence_model_reads_is_never_put_in_or_taken_out(name: str) -> None:
    clf = zoo.load(zoo.model(name), zoo.tokenizer())
    ends = int((quick.encode(clf, LONG).windows[0].ids == clf.model.config.eos_token_id).sum())
    for remover in clf.removers:
        encoded = quick.encode(clf, LONG)
        removal = chosen_removal(clf, remover, masked.given(remover))
        rows = removal(encoded.windows[0], np.zeros((1, encoded.n_features), dtype=bool)).batch
        assert int((rows.ids[0, : rows.lengths[0]] == clf.model.config.eos_token_id).sum()) == ends
    clf.model.config.eos_token_id = clf.tokenizer.unk_token_id
    assert "unk" not in clf.network._find_replacements()


@some
def test_what_is_claimed_to_work_works_and_what_is_not_is_refused_in_those_words(name: str) -> None:
    clf = zoo.classifier(name)
    assert set(compatible(clf)) == set(METHODS.names())
    claims = {method: obstacle(METHODS[method], clf) for method in METHODS.names()}
    for method, reason in claims.items():
        if reason is None:
            for text in (SHORT, LONG):
                found = quick.run(clf, text, method, **({"samples": 70} if method == "kernel_shap" else {}))
                assert np.isfinite(found.scores).all()
                assert np.abs(found.scores).max() > 0
        else:
            with pytest.raises(IncompatibleError) as caught:
                quick.run(clf, SHORT, method)
            assert str(caught.value).startswith(f"{reason}. Methods that work with this model: ")
            assert "\n" not in str(caught.value)
    working = {method for method, reason in claims.items() if reason is None}
    assert {"occlusion", "kernel_shap", "lime", "shapley_sampling"} <= working
    assert ({"integrated_gradients", "saliency"} <= working) == (name not in zoo.WITHOUT_GRADIENT)
    assert explain(clf, SHORT).provenance.method in working


def _renamed(given: dict[str, Any]) -> dict[str, Any]:
    return {"ids" if name == "input_ids" else name: value for name, value in given.items()}


def _rest(given: dict[str, Any], kept: Any = slice(None)) -> dict[str, Any]:
    return {name: value[:, kept] for name, value in given.items() if name != "input_ids"}
