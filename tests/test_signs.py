"""The sign of evidence: a method without one never calls a word evidence that speaks against the label."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from transformers import BertConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

import planted_model
import quick
import tiny
import whylight as wl
from pages import Document, explanation, terminal
from whylight.core.errors import SettingError
from whylight.core.evidence import evidence, speaks
from whylight.core.explanation import Explanation, Signs
from whylight.explaining import signs
from whylight.models.load import load
from whylight.report.page import page
from whylight.report.renderers import with_evidence

UNSIGNED = ("saliency", "input_x_gradient[pooling=l2]")
BOTH = "good awful film great plot " * 10


class Linear(PreTrainedModel):  # type: ignore[misc]  # transformers is untyped for us
    """A bag of words: the logits are the sum of what each token gives."""

    config_class = BertConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.words = torch.nn.Embedding(config.vocab_size, 6)
        self.given = torch.nn.Linear(6, config.num_labels, bias=False)
        self.post_init()

    def get_input_embeddings(self) -> Any:
        return self.words

    def forward(self, input_ids: Any, attention_mask: Any, **_: Any) -> Any:
        present = self.words(input_ids) * attention_mask[..., None]
        return SequenceClassifierOutput(logits=self.given(present).sum(1))


@pytest.fixture(scope="module")
def linear() -> Any:
    torch.manual_seed(0)
    network = Linear(BertConfig(vocab_size=len(tiny.tokenizer()), num_labels=3)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_()
    return load(network, tiny.tokenizer())


def contributions(clf: Any, one: Explanation) -> Any:
    """What each feature gives to each target, from the weights alone, `[targets, features]`."""
    encoded = quick.encode(clf, one.example.text)
    (window,) = encoded.windows
    given_by = (clf.model.words.weight @ clf.model.given.weight.T).detach().numpy()[window.ids]
    each = np.zeros((len(one.places), given_by.shape[1]))
    for feature, row in zip(window.feature, given_by, strict=True):
        if feature >= 0:
            each[feature] += row
    return each.T[[target.index for target in one.targets]]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([word for word in tiny.WORDS if word.isalpha()]), min_size=1, max_size=12))
def test_evidence_on_a_linear_model_never_holds_a_word_that_speaks_against(linear: Any, words: list[str]) -> None:
    for one in wl.explain(linear, " ".join(words), method=list(UNSIGNED), target="all", progress=False):
        truth = contributions(linear, one)
        assert one.provenance.signed is False
        for target, own in zip(one.targets, truth, strict=True):
            covered = [e.span for e in evidence(one, target, share=1, spans=99)]
            inside = [any(s.start <= p.start and p.end <= s.end for s in covered) for p in one.places]
            assert inside == list((own > 0) & (one.row(target) > 0))


def test_without_a_sign_such_words_are_among_what_mattered(linear: Any) -> None:
    one = wl.explain(linear, "good awful film great plot", method="saliency", target=0, evidence_sign="none")
    assert (contributions(linear, one) < 0).any()
    assert not speaks(one)
    assert len(evidence(one, one.targets[0], share=1)) == 1  # all of the text


def test_scores_and_receipts_are_those_of_the_method_alone() -> None:
    clf = quick.classifier("bert")
    for method in ("attention", "attingrad"):
        lent, alone = (quick.run(clf, quick.TEXT, method, evidence_sign=sign) for sign in ("auto", "none"))
        assert lent.signs is not None
        assert alone.signs is None
        assert lent.scores.tobytes() == alone.scores.tobytes()
        assert replace(lent.provenance, seconds=0.0) == replace(alone.provenance, seconds=0.0)


def test_a_source_is_asked_once_per_text_and_not_for_methods_with_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(case: Any, spec: Any, *rest: Any) -> Explanation:
        asked.append(spec.name)
        return explain_case(case, spec, *rest)

    explain_case = signs.explain_case
    monkeypatch.setattr(signs, "explain_case", counted)
    clf = quick.classifier("bert")
    methods = ["attention", "saliency", "attingrad", "occlusion"]
    found = wl.explain(clf, ["good film", "bad plot"], method=methods, progress=False)
    assert asked == ["decompx_linear"] * 2
    first, second = found[:3], found[4:7]
    for own in (first, second):
        assert len({id(one.signs) for one in own}) == 1
        assert own[0].signs.cost | {"seconds": 0} == {
            "method": "decompx_linear", "forward_passes": 1, "backward_passes": 1, "seconds": 0,
        }  # fmt: skip
    assert found[3].signs is None
    wl.explain(clf, "good film", method=["occlusion", "input_x_gradient"], progress=False)
    assert len(asked) == 2


@pytest.mark.parametrize("method", ["saliency", "attention"])
def test_a_word_that_decides_against_a_label_is_evidence_for_the_other_one_alone(method: str) -> None:
    one = wl.explain(planted_model.classifier(), BOTH, method=method, target="all", evidence_sign="auto")
    shown = [{one.example.show(e.span) for e in evidence(one, target, share=1, spans=99)} for target in one.targets]
    for own, (for_it, against) in zip(shown, (("awful", "great"), ("great", "awful")), strict=True):
        said = " ".join(own).split()
        assert for_it in said
        assert against not in said


def test_a_score_that_the_first_source_does_not_explain_gets_its_sign_from_the_second() -> None:
    clf = quick.classifier("bert")
    own = wl.explain(clf, "good film", method="saliency", score="probability").signs
    assert own is not None
    assert own.method == "input_x_gradient"


def test_a_source_that_fails_on_a_text_gives_way_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    explain_case = signs.explain_case

    def failing(case: Any, spec: Any, *rest: Any) -> Explanation:
        if spec.name == "decompx_linear":
            raise signs.IncompatibleError("it does not add up.")
        return explain_case(case, spec, *rest)

    monkeypatch.setattr(signs, "explain_case", failing)
    one = wl.explain(quick.classifier("bert"), "good film", method="saliency")
    assert one.signs is not None
    assert one.signs.method == "input_x_gradient"


def test_a_method_that_is_named_is_asked_and_one_without_a_sign_is_refused() -> None:
    clf = quick.classifier("bert")
    one = wl.explain(clf, "good film", method="saliency", evidence_sign="occlusion")
    by_itself = wl.explain(clf, "good film", method="occlusion")
    assert one.signs is not None
    assert one.signs.method == "occlusion"
    assert (one.signs.supports == (by_itself.scores > 0)).all()
    with pytest.raises(SettingError, match="'attention' has no sign; the sign of evidence is auto, none or one of"):
        wl.explain(clf, "good film", method="saliency", evidence_sign="attention")
    with pytest.raises(SettingError, match="has no sign with these settings"):
        wl.explain(clf, "good film", method="saliency", evidence_sign="input_x_gradient[pooling=l2]")
    with pytest.raises(SettingError, match="Did you mean 'occlusion'"):
        wl.explain(clf, "good film", method="saliency", evidence_sign="oclusion")


def unsigned(**more: Any) -> Explanation:
    """Scores without a sign for two labels, in a text that is too long to take in at a glance."""
    return explanation(BOTH, np.tile([1.0, 9.0, 2.0, 8.0, 3.0], (2, 10)), targets=(0, 1), signed=False, **more)


def lent(one: Explanation) -> Explanation:
    """The same, and another method says that one word speaks for the first label, and the next for the second."""
    every = np.arange(len(one.places)) % 2 == 1
    return replace(one, signs=Signs("decompx_linear", np.array([every, ~every]), 1, 2, 0.5))


def test_a_model_that_gives_no_sign_has_words_that_mattered_and_no_evidence() -> None:
    one = unsigned()
    for row in with_evidence(one):
        assert row["evidence"] is None
        assert row["evidence_sign"] is None
        assert row["mattered"][0]["text"] == "awful"
    document = Document(page([one]))
    assert "Mattered for a label or against it" in " ".join(document.visible.split())
    assert "Evidence" not in document.visible
    assert "sign of evidencenone" in " ".join(document.visible.split())
    printed = terminal(one)
    assert printed.count("mattered (for a label or against it):") == 2
    assert "evidence" not in printed


def test_pages_terminals_and_json_say_whose_sign_it_is_and_what_it_took() -> None:
    one = lent(unsigned())
    first, second = with_evidence(one, spans=99)
    assert first["mattered"] is None
    took = {"method": "decompx_linear", "forward_passes": 1, "backward_passes": 2, "seconds": 0.5}
    assert first["evidence_sign"] == second["evidence_sign"] == took
    starts = [{e["start"] for e in row["evidence"]} for row in (first, second)]
    assert starts[0].isdisjoint(starts[1])
    said = " ".join(Document(page([one])).visible.split())
    assert said.count("Evidence sign by decompx_linear") == 2
    assert "sign of evidencedecompx_linear, asked once: 1 forward, 2 backward, 0.5 s" in said
    assert terminal(one).count("evidence (sign by decompx_linear):") == 2


def test_where_nothing_that_matters_speaks_for_the_label_that_is_said() -> None:
    one = unsigned()
    none = replace(one, signs=Signs("decompx_linear", np.zeros((2, len(one.places)), dtype=bool), 1, 1, 0.1))
    assert [row["evidence"] for row in with_evidence(none)] == [[], []]
    assert "None: no word that matters speaks for the label." in Document(page([none])).visible
    assert "evidence: none, no word that matters speaks for the label" in terminal(none)


def test_what_holds_for_every_label_alike_has_no_sign_on_a_page_and_one_per_label_in_json() -> None:
    every = explanation("good bad", [0.2, 0.8], targets=(0, 1), signed=False, class_specific=False)
    one = replace(every, signs=Signs("decompx_linear", np.array([[False, True], [True, False]]), 1, 2, 0.5))
    assert "Mattered for a label or against it" in " ".join(Document(page([one])).visible.split())
    assert [[e["text"] for e in row["evidence"]] for row in with_evidence(one)] == [["bad"], ["good"]]


def test_a_dictionary_keeps_the_signs() -> None:
    one = lent(unsigned())
    again = Explanation.from_dict(json.loads(json.dumps(one.to_dict())))
    assert again.to_dict() == one.to_dict()
    assert again.signs is not None
    assert again.signs.supports.dtype == bool


def test_a_callable_says_what_mattered_under_a_method_without_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    from whylight.core.registry import METHODS  # noqa: PLC0415

    clf = planted_model.ruled()
    spec = METHODS["occlusion"]
    monkeypatch.setitem(METHODS._specs, "occlusion", replace(spec, facts={**spec.facts, "signed": False}))
    one = wl.explain(clf, "a great film but awful", method="occlusion")
    assert one.signs is None
    assert not speaks(one)
    by_lime = wl.explain(clf, "a great film but awful", method="occlusion", evidence_sign="shapley_sampling")
    assert by_lime.signs is not None
    assert speaks(by_lime)
