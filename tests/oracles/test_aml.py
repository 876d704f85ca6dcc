"""AML in front of models: the loss, finetuning on an instance, other tokenizers, refusals and interrupts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fitted
import quick
import tiny
import whylight as wl
from whylight.core.errors import IncompatibleError, ModelError, SettingError
from whylight.core.text import Span, Text
from whylight.methods import _finetuning
from whylight.methods._dual_mask import items_of, terms_of
from whylight.models import attributor
from whylight.perturb.binding import bound
from whylight.views.attributed import AttributedView, measure_named
from whylight.views.classifier import Request

TEXTS = ["a good film, though the ending drags", "never dull!", "the plot was not very good but the acting is great"]
METRICS = ("comprehensiveness", "sufficiency", "log_odds", "aopc_comprehensiveness", "aopc_sufficiency")


def view_of(clf: Any, text: str, *, targets: Any = None, **options: Any) -> AttributedView:
    every = quick.request(clf).targets
    chosen = every if targets is None else tuple(every[i] for i in targets)
    encoded = quick.encode(clf, text, **options)
    found = clf.offers[AttributedView](encoded, Request(chosen, "probability", removal=bound(clf.removers[0])))
    assert isinstance(found, AttributedView)
    return found


@pytest.mark.parametrize("head", ["softmax", "sigmoid", "binary"])
def test_terms_of_a_model_are_those_of_its_own_answers_to_blended_embeddings(head: Any) -> None:
    clf = quick.classifier("bert", num_labels=1 if head == "binary" else 3, head=head)
    network = fitted.attributor(clf)
    view = view_of(clf, TEXTS[0])
    item = items_of(view, network)[1]
    values = torch.linspace(0.1, 0.9, len(view.token), dtype=torch.float64)
    found = terms_of([item], [values], network)
    ids = torch.as_tensor(view.encoded.windows[0].ids[None])
    table = clf.model.get_input_embeddings()
    mask = table(torch.tensor(clf.tokenizer.mask_token_id))
    answers = []
    for own in (values, 1 - values):
        share = torch.where(torch.as_tensor(view.token >= 0), own, 1.0)[:, None].float()
        with torch.no_grad():
            answers.append(clf.model(inputs_embeds=share * table(ids) + (1 - share) * mask).logits[0].double())
    if head == "softmax":
        (kept, removed), label = (one.softmax(-1) for one in answers), 1
    else:
        column = 0 if head == "binary" else 1
        kept, removed = (torch.stack([1 - p, p]) for p in (one.sigmoid()[column] for one in answers))
        label = 1
    y = torch.as_tensor(item.told.y)
    assert float(found.prediction) == pytest.approx(float(-(y * kept.log()).sum()), rel=1e-4)
    assert float(found.inverse) == pytest.approx(float(-(1 - removed[label]).log()), rel=1e-4)
    content = values[torch.as_tensor(view.content)]
    assert float(found.sparsity) == pytest.approx(float(-(1 - content).log().mean()), rel=1e-6)


def test_what_is_said_of_a_target_is_the_models_answer_unless_it_does_not_predict_it() -> None:
    clf = quick.classifier("bert", num_labels=3)
    view = view_of(clf, TEXTS[0])
    best = int(view.probabilities.argmax())
    assert view.told(best).y.tolist() == pytest.approx(
        wl.explain(clf, TEXTS[0], method="random").prediction.probabilities
    )
    other = view.told((best + 1) % 3)
    assert other.named
    assert other.y.tolist() == np.eye(3)[(best + 1) % 3].tolist()
    several = quick.classifier("bert", num_labels=3, head="sigmoid")
    own = view_of(several, TEXTS[0])
    for number, p in enumerate(own.probabilities):
        told = own.told(number)
        assert told.named == (p <= 0.5 and p < own.probabilities.max())
        assert told.classes.tolist() == pytest.approx((np.eye(3)[number] * (1 if told.named else p)).tolist())


@pytest.mark.parametrize("metric", METRICS)
def test_finetuning_is_never_worse_than_the_fitted_network_by_its_own_metric(metric: str) -> None:
    clf = quick.classifier("bert", num_labels=3)
    folder, better = fitted.folder(clf), 0
    for trainable in ("all", "head"):
        options: dict[str, Any] = {"method": "aml", "folder": folder, "metric": metric, "trainable": trainable}
        first = wl.explain(clf, TEXTS, **options)
        tuned = wl.explain(clf, TEXTS, steps=4, rate=1e-2, **options)
        for one, other, text in zip(first, tuned, TEXTS, strict=True):
            view = view_of(clf, text, targets=[one.targets[0].index])
            before, after = (view.measure(measure_named(metric), each.scores[0], 0) for each in (one, other))
            assert after >= before
            better += after > before
    assert better


def test_heads_that_are_trained_together_are_those_that_are_trained_alone() -> None:
    clf = quick.classifier("roberta", num_labels=3)
    options: dict[str, Any] = {"method": "aml", "folder": fitted.folder(clf), "steps": 5, "rate": 1e-2,
                               "trainable": "head", "target": "all"}  # fmt: skip
    together = wl.explain(clf, TEXTS, **options)
    for text, found in zip(TEXTS, together, strict=True):
        alone = wl.explain(clf, text, **options)
        np.testing.assert_allclose(found.scores, alone.scores, atol=1e-5)
        assert found.provenance.forward_passes == alone.provenance.forward_passes
    assert (
        wl.explain(clf, [TEXTS[0]], **options)[0].scores.tobytes()
        == wl.explain(clf, TEXTS[0], **options).scores.tobytes()
    )


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_a_network_with_another_tokenizer_or_fewer_tokens_reads_the_same_text(
    architecture: str, tmp_path: Path
) -> None:
    clf = quick.classifier("llama" if architecture == "bert" else "bert", num_labels=3)
    found = fitted.new_attributor(
        clf, fitted.encoder(architecture), mask=fitted.DualMask(), metric="sufficiency", seed=0
    )
    found.network.config.limit = 12
    fitted.save(found, tmp_path)
    long = " ".join(TEXTS * 4)
    explained = wl.explain(clf, long, method="aml", folder=str(tmp_path))
    assert np.isfinite(explained.scores).all()
    assert explained.scores.min() > 0
    assert any("the fitted network reads the text in" in note for note in explained.provenance.notes)
    assert explained.provenance.settings["metric"] == "sufficiency"


def test_a_prediction_changes_the_map_and_padding_does_not() -> None:
    clf = quick.classifier("bert", num_labels=3)
    network = fitted.attributor(clf)
    readings = [network.read(view_of(clf, text)) for text in TEXTS]
    told = torch.eye(3)
    with torch.no_grad():
        together = network.maps(readings, told)
        for number, reading in enumerate(readings):
            (alone,) = network.maps([reading], told[[number]])
            torch.testing.assert_close(together[number], alone, atol=1e-6, rtol=0)
            (other,) = network.maps([reading], told[[(number + 1) % 3]])
            assert float((other - alone).abs().max()) > 1e-6


def refused(says: str, clf: Any, kind: Any = SettingError, **options: Any) -> None:
    with pytest.raises(kind, match=says) as caught:
        wl.explain(clf, TEXTS[0], method="aml", **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_what_is_no_fitted_folder_of_this_model_is_refused_by_what_is_wrong(tmp_path: Path) -> None:
    clf, other = quick.classifier("bert", num_labels=3), quick.classifier("bert", num_labels=3, seed=5)
    refused("'aml' needs a fitted folder .*whylight fit aml", clf)
    refused("there is no folder", clf, folder=str(tmp_path / "none"))
    refused("is not a fitted folder: it has no config.json", clf, folder=str(tmp_path))
    refused("is not a fitted folder but a 'bert' model", clf, folder=fitted.encoder())
    refused("was fitted to another model, differing in weights; fit one", other, folder=fitted.folder(clf))
    (tmp_path / "checkpoints").mkdir()
    refused("was stopped before it was done; the same call resumes", clf, folder=str(tmp_path))
    folder = fitted.folder(clf)
    refused("Did you mean 'comprehensiveness'", clf, folder=folder, metric="comprehensivness")
    refused("'iou' is not measured on the model alone", clf, folder=folder, metric="iou")
    refused("'sensitivity_n' is of signed scores", clf, folder=folder, metric="sensitivity_n")
    refused("'steps' must be 0 or more", clf, folder=folder, steps=-1)
    refused("'rate' must be above 0", clf, folder=folder, rate=0)
    refused(
        "does not explain the score 'logit'; use --score probability",
        clf,
        IncompatibleError,
        score="logit",
        folder=folder,
    )


def test_a_model_that_was_trained_on_in_between_is_another_one() -> None:
    clf = tiny.classifier("bert", num_labels=3, seed=9)
    folder = fitted.folder(clf)
    wl.explain(clf, TEXTS[0], method="aml", folder=folder)
    with torch.no_grad():
        clf.model.classifier.weight.add_(1.0)
    refused("differing in weights", clf, folder=folder)


@pytest.mark.parametrize(
    "mask", [{"background": "learned"}, {"background": "random"}, {"published": True}, {"merge": "mean"}]
)
def test_the_alternatives_of_the_paper_give_maps_that_are_finetuned(mask: dict[str, Any], tmp_path: Path) -> None:
    clf = quick.classifier("bert", num_labels=3)
    network = fitted.attributor(clf, **mask)
    fitted.save(network, tmp_path)
    found = [wl.explain(clf, TEXTS, method="aml", folder=str(tmp_path), steps=2, rate=1e-2) for _ in range(2)]
    assert [one.scores.tobytes() for one in found[0]] == [one.scores.tobytes() for one in found[1]]
    view = view_of(clf, TEXTS[0], targets=[0])
    (item,) = items_of(view, network)
    values = torch.full((len(view.token),), 0.5, dtype=torch.float64)
    plain = terms_of([item], [values], fitted.attributor(clf))
    with torch.no_grad():
        other = terms_of([item], [values], network)
    if "published" in mask:
        assert float(other.sparsity) == pytest.approx(float(plain.sparsity) * len(view.content) / len(view.token))
    if mask.get("background") == "random":
        assert float(other.prediction) != pytest.approx(float(plain.prediction))
    if mask.get("background") == "learned":  # it starts as the mask token
        assert float(other.prediction) == pytest.approx(float(plain.prediction))


@pytest.mark.parametrize("trainable", ["all", "head"])
def test_an_interrupt_hands_over_the_best_maps_so_far(trainable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clf = tiny.classifier("bert", num_labels=3)
    options: dict[str, Any] = {"method": "aml", "folder": fitted.folder(clf), "trainable": trainable, "rate": 1e-2}
    first = wl.explain(clf, TEXTS, **options)
    tuned = wl.explain(clf, TEXTS, steps=3, **options)
    steps = []

    def advance(count: int) -> None:
        steps.append(count)
        if len(steps) == 4:  # of `all`, when the first text is done and the second has taken its first step
            raise KeyboardInterrupt

    monkeypatch.setattr(_finetuning.progress, "advance", advance)
    found = wl.explain(clf, TEXTS, steps=5 if trainable == "head" else 3, **options)
    assert len(found) == 3
    assert all(one.provenance.notes[-1].startswith("interrupted while finetuning") for one in found)
    if trainable == "all":
        assert found[0].scores.tobytes() == tuned[0].scores.tobytes()
        assert found[2].scores.tobytes() == first[2].scores.tobytes()


def test_a_finetuned_map_says_that_it_was_picked_by_a_metric() -> None:
    clf = quick.classifier("bert", num_labels=3)
    plain, tuned = (quick.run(clf, TEXTS[0], "aml", steps=steps, metric="sufficiency") for steps in (0, 2))
    assert not any("best of" in note for note in plain.provenance.notes)
    assert any(note.startswith("the best of 3 maps by sufficiency:") for note in tuned.provenance.notes)


def test_tokens_that_share_no_character_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = quick.classifier("bert", num_labels=3)
    found = fitted.new_attributor(clf, fitted.encoder("roberta"), mask=fitted.DualMask(), metric="sufficiency", seed=0)
    view = view_of(clf, TEXTS[0])
    real = attributor.token_spans
    moved = [Span(0, 900 + i, 901 + i) for i in range(64)]
    monkeypatch.setattr(
        attributor,
        "token_spans",
        lambda tokenizer, text: moved if tokenizer is found.tokenizer else real(tokenizer, text),
    )
    with pytest.raises(IncompatibleError, match="cannot be aligned with the model's"):
        found.read(view)


def test_a_fitted_folder_is_no_classifier() -> None:
    with pytest.raises(ModelError, match="is no classifier, but a network that explains one; use it with --method aml"):
        wl.load(fitted.folder(quick.classifier("bert")))


def test_one_word_is_explained_and_a_pair_too() -> None:
    clf = quick.classifier("bert", num_labels=3)
    for given in ("good", ("good film", "a dull plot")):
        found = wl.explain(clf, given, method="aml", folder=fitted.folder(clf), steps=2)
        assert np.isfinite(found.scores).all()
    text = Text("good film", "a dull plot")
    assert found.example == text
