"""Prompted language models: scores are those of plain calls of the model on the whole prompt, however rows are read."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

import whylight as wl
from prompting import ONE, SEVERAL, TEXT, asked, prompted, written
from whylight.core.errors import WhylightError
from whylight.core.text import Text
from whylight.models.prefixes import Prefixes
from whylight.perturb.binding import bound
from whylight.views.meter import Meter


def by_hand(model: Any, ids: list[int], answers: list[list[int]], scoring: str) -> list[float]:
    """Score answers by one plain call of the model each."""
    found = []
    for answer in answers:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids + answer])).logits[0].double()
        after = zip(logits[len(ids) - 1 :], answer, strict=False)
        values = [float((row.log_softmax(-1) if scoring != "logit" else row)[one]) for row, one in after]
        found.append(sum(values) / (len(values) if scoring == "mean" else 1))
    return found


@pytest.mark.parametrize("kind", ["llama", "mistral", "gpt2"])
@pytest.mark.parametrize(
    ("answers", "scoring"), [(ONE, "mean"), (SEVERAL, "mean"), (SEVERAL, "sum"), (SEVERAL, "first")]
)
def test_scores_are_those_of_plain_calls_under_every_coalition(
    kind: str, answers: dict[str, str], scoring: str
) -> None:
    if scoring == "first":
        answers = {**answers, "neither": "awful"}
    clf = prompted(kind, answers, scoring=scoring)
    tokenizer = clf.tokenizer
    ids = [tokenizer(one, add_special_tokens=False)["input_ids"] for one in answers.values()]
    ids = [one[:1] for one in ids] if scoring == "first" else ids
    encoded = clf.encode(Text(TEXT), unit="word", long="refuse")
    keep = np.random.default_rng(0).random((12, encoded.n_features)) < 0.6
    keep[0] = True
    for remover in ("neutral", "delete"):
        outcomes = clf.outcomes(encoded, removal=bound(remover), cache={}, meter=Meter())
        outcomes(keep[:1])  # the states of the untouched text are there for the others
        found = outcomes(keep)
        (window,) = encoded.windows
        rows = bound(remover)(window, keep).batch
        how = "logit" if max(map(len, ids)) == 1 else scoring
        expected = [by_hand(clf.model, rows.ids[i, : rows.lengths[i]].tolist(), ids, how) for i in range(len(keep))]
        assert np.abs(found - np.asarray(expected)).max() < 1e-4
    assert clf.network._prefixes.usable


def test_the_row_is_what_the_tokenizer_makes_of_the_whole_prompt() -> None:
    clf = prompted()
    (window,) = clf.encode(Text(TEXT), unit="word", long="refuse").windows
    assert window.ids.tolist() == clf.tokenizer(written(clf.network.prompt, TEXT))["input_ids"][: len(window.ids)]
    inside = np.flatnonzero(window.feature >= 0)
    assert all(second == first + 1 for first, second in pairwise(inside.tolist()))
    assert clf.tokenizer.decode(window.ids[inside]).split()[:3] == ["the", "acting", "was"]


def test_what_rows_share_is_read_once() -> None:
    clf = prompted()
    encoded = clf.encode(Text(f"{TEXT} {TEXT} {TEXT}"), unit="word", long="refuse")
    n = encoded.n_features
    without_each = ~np.eye(n, dtype=bool)
    assert clf.company == "any"
    before = clf.network.computed
    outcomes = clf.outcomes(encoded, removal=bound("neutral"), cache={}, meter=Meter())
    outcomes(np.ones((1, n), dtype=bool))
    outcomes(without_each)
    (window,) = encoded.windows
    plain = (n + 1) * len(window.ids)
    assert clf.network.computed - before < 0.6 * plain


def test_states_that_do_not_give_the_plain_answer_are_not_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = prompted()
    keep = Prefixes.keep

    def wrong(self: Prefixes, ids: Any, cache: Any) -> None:
        keep(self, ids, cache)
        for root in self._roots:
            for keys, _ in root.states:
                keys.mul_(1.5)

    expected = wl.explain(prompted(), TEXT, method="occlusion").scores
    monkeypatch.setattr(Prefixes, "keep", wrong)
    assert np.abs(wl.explain(clf, TEXT, method="occlusion").scores - expected).max() < 1e-5
    assert not clf.network._prefixes.usable


@pytest.mark.parametrize("calibration", ["none", "contextual"])
def test_a_model_that_is_trained_on_between_two_texts_is_read_anew(calibration: str) -> None:
    clf = prompted(calibration=calibration)
    wl.explain(clf, TEXT, method="occlusion")
    with torch.no_grad():
        clf.model.model.layers[0].mlp.up_proj.weight.data.mul_(1.5)
    fresh = wl.load(clf.model, clf.tokenizer, prompt=asked(calibration=calibration))
    found, expected = (wl.explain(one, TEXT, method="occlusion", score="probability").scores for one in (clf, fresh))
    assert np.abs(found - expected).max() < 1e-5


def test_contextual_calibration_makes_empty_texts_even() -> None:
    plain, clf = prompted(), prompted(calibration="contextual")
    tokenizer, prompt = clf.tokenizer, clf.network.prompt
    ids = [tokenizer(one, add_special_tokens=False)["input_ids"] for one in ONE.values()]
    shares = []
    for empty in ("N/A", "[MASK]", ""):
        row = tokenizer(written(prompt, empty))["input_ids"]
        shares.append(torch.tensor(by_hand(clf.model, row, ids, "logit")).softmax(-1))
    offset = torch.stack(shares).mean(0).log().numpy()
    found, without = (wl.explain(one, TEXT, method="occlusion", target="all") for one in (clf, plain))
    encoded = [one.encode(Text(TEXT), unit="word", long="refuse") for one in (clf, plain)]
    logits = [
        one.outcomes(each, removal=bound("neutral"), cache={}, meter=Meter())(np.ones((1, each.n_features), bool))[0]
        for one, each in zip((clf, plain), encoded, strict=True)
    ]
    assert np.abs(logits[0] - (logits[1] - offset)).max() < 1e-4
    assert np.abs(found.scores - without.scores).max() < 1e-4


METHODS = [
    *("occlusion", "lime", "kernel_shap", "solvex", "saliency", "input_x_gradient", "integrated_gradients"),
    *("sequential_integrated_gradients", "deeplift", "marc", "attention", "attention_rollout", "attgrad", "attingrad"),
]


@pytest.mark.parametrize("answers", [ONE, SEVERAL], ids=["one token", "several tokens"])
@pytest.mark.parametrize("method", METHODS)
def test_methods_work_on_prompts_as_on_classifiers(method: str, answers: dict[str, str]) -> None:
    clf = prompted(answers=answers)
    state = {name: value.clone() for name, value in clf.model.state_dict().items()}
    settings = {"marc": {"steps": 3}, "solvex": {"beam": 2}}.get(method, {})
    ex = wl.explain(clf, TEXT, method=method, progress=False, **settings)
    assert ex.scores.shape == (1, 10)
    assert np.isfinite(ex.scores).all()
    assert all(torch.equal(value, state[name]) for name, value in clf.model.state_dict().items())


def test_decompx_linear_splits_the_logit_of_an_answer_and_refuses_several_tokens() -> None:
    ex = wl.explain(prompted(), TEXT, method="decompx_linear")
    assert max(ex.provenance.completeness_gap) < 1e-4
    with pytest.raises(WhylightError, match="splits a logit"):
        wl.explain(prompted(answers=SEVERAL), TEXT, method="decompx_linear")


def test_integrated_gradients_are_complete_through_continuations() -> None:
    ex = wl.explain(prompted(answers=SEVERAL), TEXT, method="integrated_gradients", steps=300)
    assert max(ex.provenance.completeness_gap) < 1e-3
