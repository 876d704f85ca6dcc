"""Texts that a language model writes: scores are those of plain calls of the model on prompt and text together."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import tiny
import whylight as wl
from prompting import LIMIT, TEXT, language_model
from whylight.cli.main import app
from whylight.core.errors import InputError, SettingError
from whylight.core.labels import GENERATED, WRITTEN
from whylight.core.prompt import Prompt, Shot
from whylight.core.prompt_files import read_prompt
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.models.lookups import word_embeddings
from whylight.models.writing import NOTHING
from whylight.perturb.binding import bound
from whylight.views.classifier import Request
from whylight.views.gradient import GradientView
from whylight.views.meter import Meter

GIVEN = "very good film"
CONTEXT = "the plot drags . the acting was good ! the ending is awful ."


def free(**options: Any) -> Prompt:
    return Prompt(**{"template": "the film {text} the plot was", "length": 5, **options})


def writing(kind: str = "llama", **options: Any) -> Any:
    return wl.load(language_model(kind), deepcopy(tiny.tokenizer("llama")), prompt=free(**options))


def by_hand(model: Any, ids: list[int], text: list[int], scoring: str = "mean") -> float:
    """Score a text by one plain call of the model on everything."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids + text])).logits[0].double().log_softmax(-1)
    values = [float(logits[len(ids) - 1 + place, one]) for place, one in enumerate(text)]
    return sum(values) / (len(values) if scoring == "mean" else 1)


def generated(model: Any, ids: list[int], length: int) -> list[int]:
    """What transformers itself writes, greedily."""
    row = torch.tensor([ids])
    found = model.generate(
        row, attention_mask=torch.ones_like(row), do_sample=False, max_new_tokens=length, pad_token_id=0
    )
    return found[0, len(ids) :].tolist()


@pytest.mark.parametrize("kind", ["llama", "mistral", "gpt2"])
@pytest.mark.parametrize("text", [TEXT, "a dull plot", CONTEXT])
def test_what_is_written_is_what_transformers_writes_greedily(kind: str, text: str) -> None:
    clf = writing(kind)
    clf.model.generation_config.eos_token_id = None
    clf.model.config.eos_token_id = None
    clf.tokenizer.eos_token = None
    case = open_case(clf, Text(text))
    (window,) = case.encoded.windows
    expected = generated(clf.model, window.ids.tolist(), 5)
    assert case.classifier.network.answers[0].tolist() == expected
    assert case.prediction.label == clf.tokenizer.decode(expected, skip_special_tokens=True).strip()
    assert any("cut after 5 tokens" in note for note in case.notes)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("scoring", ["mean", "sum"])
def test_scores_are_those_of_plain_calls_under_every_coalition(kind: str, scoring: str) -> None:
    clf = writing(kind, scoring=scoring)
    case = open_case(clf, Text(TEXT), target=[GENERATED, GIVEN, "bad"])
    (window,) = case.encoded.windows
    texts = [one.tolist() for one in case.classifier.network.answers]
    assert texts[1:] == [clf.tokenizer(one, add_special_tokens=False)["input_ids"] for one in (GIVEN, "bad")]
    keep = np.random.default_rng(0).random((12, case.encoded.n_features)) < 0.6
    for remover in ("neutral", "delete"):
        outcomes = case.classifier.outcomes(case.encoded, removal=bound(remover), cache={}, meter=Meter())
        rows = bound(remover)(window, keep).batch
        plain = [rows.ids[i, : rows.lengths[i]].tolist() for i in range(len(keep))]
        expected = [[by_hand(clf.model, row, one, scoring) for one in texts] for row in plain]
        assert np.abs(outcomes(keep) - np.asarray(expected)).max() < 1e-4
    assert case.classifier.network._prefixes.proven


def test_what_rows_share_is_read_once_for_all_texts_that_are_asked_about() -> None:
    clf = writing(template=f"{'the film is good . ' * 4}the film {{text}} the plot was")
    case = open_case(clf, Text(f"{TEXT} {TEXT}"), target=GIVEN)
    network, n = case.classifier.network, case.encoded.n_features
    assert case.classifier.company == clf.company == "any"
    before = network.computed
    case.classifier.outcomes(case.encoded, removal=bound("neutral"), cache={}, meter=Meter())(~np.eye(n, dtype=bool))
    (window,) = case.encoded.windows
    texts = sum(len(one) - 1 for one in network.answers)
    plain = n * sum(len(window.ids) + len(one) - 1 for one in network.answers)
    assert network.computed - before < 0.6 * n * len(window.ids) + n * texts < 0.4 * plain


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_gradients_are_those_of_plain_autograd_on_the_embeddings(kind: str) -> None:
    clf = writing(kind)
    case = open_case(clf, Text(TEXT), target=GIVEN)
    (window,) = case.encoded.windows
    targets, _ = case.targets(GIVEN)
    view = case.classifier.offers[GradientView](case.encoded, Request(targets, "log_probability"))
    text = case.classifier.network.answers[1].tolist()
    ids = torch.tensor([[*window.ids.tolist(), *text]])
    leaf = clf.model.get_input_embeddings()(ids).detach().requires_grad_()
    with word_embeddings(clf.model, lambda _given: leaf):
        logits = clf.model(input_ids=ids).logits[0].double().log_softmax(-1)
    score = logits[range(len(window.ids) - 1, len(ids[0]) - 1), text].mean()
    expected = torch.autograd.grad(score, leaf)[0][0, : len(window.ids)]
    found = view.gradient()[0]
    assert float((found - expected).abs().max()) < 1e-4 * float(expected.abs().max())


def test_integrated_gradients_of_what_is_written_are_complete() -> None:
    ex = wl.explain(writing(), TEXT, method="integrated_gradients", steps=300)
    assert max(ex.provenance.completeness_gap) < 1e-3
    assert ex.provenance.score == "log_probability"
    assert "mean log-probability of the tokens of a text (written by the model: 5" in ex.provenance.notes[0]


@pytest.mark.parametrize("method", ["lime", "kernel_shap", "solvex", "saliency", "deeplift", "marc", "attention"])
def test_methods_work_on_free_text(method: str) -> None:
    settings = {"marc": {"steps": 3}, "solvex": {"beam": 2}}.get(method, {})
    clf = writing()
    state = {name: value.clone() for name, value in clf.model.state_dict().items()}
    ex = wl.explain(clf, TEXT, method=method, target=GIVEN, progress=False, **settings)
    assert np.isfinite(ex.scores).all()
    assert ex.scores.any()
    assert [one.label for one in ex.targets] == [GIVEN]
    assert all(torch.equal(value, state[name]) for name, value in clf.model.state_dict().items())


def test_the_answer_is_what_the_model_writes_however_probable_others_are() -> None:
    clf = writing()
    ex = wl.explain(clf, TEXT, method="occlusion", target=["generated", "predicted", "drags", GIVEN])
    assert [one.index for one in ex.targets] == [0, 1, 2]
    assert ex.prediction.label == ex.targets[0].label
    assert ex.targets[0].description == WRITTEN
    assert ex.prediction.predicted == (0,)
    values = wl.measure(clf, ex, metric="comprehensiveness")
    alone = wl.explain(clf, TEXT, method="occlusion", target=GIVEN)
    assert wl.measure(clf, alone, metric="comprehensiveness")[0] == pytest.approx(values[2], abs=1e-6)
    assert wl.Explanation.from_dict(ex.to_dict()).targets == ex.targets


def test_an_explanation_of_what_another_model_wrote_is_not_measured_on_this_one() -> None:
    clf, other = writing(), writing("gpt2")
    ex = wl.explain(clf, TEXT, method="occlusion")
    with pytest.raises(SettingError, match="other labels"):
        wl.measure(other, ex)


def test_a_text_ends_where_the_model_ends_it_or_the_prompt_does() -> None:
    clf = writing(length=8)
    case = open_case(clf, Text(TEXT))
    written = case.classifier.network.answers[0].tolist()
    words = clf.tokenizer.convert_ids_to_tokens(written)
    stop = next(word for word in words[1:] if not word.startswith("##") and word not in words[: words.index(word)])
    shorter = open_case(writing(length=8, stop=stop), Text(TEXT))
    assert shorter.classifier.network.answers[0].tolist() == written[: words.index(stop)]
    assert not any("cut after" in note for note in shorter.notes)
    ended = writing(length=8)
    ended.model.generation_config.eos_token_id = [written[2]]
    assert open_case(ended, Text(TEXT)).classifier.network.answers[0].tolist() == written[: written.index(written[2])]
    ended.model.generation_config.eos_token_id = written[0]
    nothing = open_case(ended, Text(TEXT))
    assert nothing.classifier.network.answers[0].tolist() == written[:1]
    ended.tokenizer.add_special_tokens({"eos_token": ended.tokenizer.convert_ids_to_tokens(written[0])})
    assert open_case(ended, Text(TEXT)).prediction.label == NOTHING


def test_scores_that_a_text_does_not_have_are_refused() -> None:
    with pytest.raises(SettingError, match=r"has no score 'logit'; use log_probability, probability, log_odds"):
        wl.explain(writing(), TEXT, method="occlusion", score="logit")
    odds = wl.explain(writing(), TEXT, method="occlusion", score="log_odds")
    assert np.isfinite(odds.scores).all()
    with pytest.raises(SettingError, match="is what a language model writes"):
        wl.explain(tiny.classifier(), TEXT, method="occlusion", target="generated")


def test_bad_input_is_told_in_one_sentence() -> None:
    with pytest.raises(SettingError, match="is empty"):
        wl.explain(writing(), TEXT, method="occlusion", target=" ")
    with pytest.raises(InputError, match="behind several windows of a text is not one answer"):
        wl.explain(writing(), f"{TEXT} " * 12, method="occlusion")
    with pytest.raises(InputError, match=r"tokens, and .* fit behind the prompt"):
        wl.explain(writing(), TEXT, method="occlusion", target="good " * LIMIT)
    wl.explain(writing(), f"{TEXT} " * 12, method="occlusion", long="truncate")
    with pytest.raises(SettingError, match="two labels at least, or of none"):
        free(answers={"yes": "yes"})
    with pytest.raises(SettingError, match="scoring is mean or sum"):
        free(scoring="first")
    with pytest.raises(SettingError, match="calibration none"):
        free(calibration="contextual")
    with pytest.raises(SettingError, match="'length' of the prompt"):
        free(length=0)
    with pytest.raises(SettingError, match="'features' of the prompt"):
        free(features=("pair",))


def test_studies_that_compare_labels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "a dull plot"}', encoding="utf-8")
    data = wl.dataset(path, unlabelled=True)
    for work in (lambda: wl.audit(writing(), data), lambda: wl.sanity_check(writing(), data, methods=["occlusion"])):
        with pytest.raises(SettingError, match="needs labels that are the same for all texts"):
            work()


def test_shots_of_free_prompts_show_their_own_answers() -> None:
    shots = (Shot(text="is dull", label="very bad"),)
    prompt = free(template="{shots}the film {text} the plot was", shot="the film {text} : {answer} . ", shots=shots)
    assert prompt.pieces[0] == "the film is dull : very bad . the film "


def test_a_question_about_a_text_is_no_feature() -> None:
    prompt = read_prompt("question")
    assert prompt.free
    model, tokenizer = language_model(), deepcopy(tiny.tokenizer("llama"))
    model.config.max_position_embeddings = tokenizer.model_max_length = 512
    clf = wl.load(model, tokenizer, prompt=prompt)
    ex = wl.explain(clf, Text(CONTEXT, "was the acting good"), method="occlusion", unit="sentence", target="good")
    assert [ex.example.show(one) for one in ex.places] == [
        "the plot drags .",
        "the acting was good !",
        "the ending is awful .",
    ]
    (window,) = clf.encode(ex.example, unit="sentence", long="refuse").windows
    whole = clf.network.reader.written(CONTEXT, "was the acting good")
    assert window.ids.tolist() == clf.tokenizer(whole)["input_ids"][: len(window.ids)]
    assert all(reason is None for name, reason in wl.compatible(clf).items() if name in ("attention", "lime", "ig"))


def test_a_table_of_questions_is_evaluated_with_its_gold_answers(tmp_path: Path) -> None:
    clf = writing(template="the film {text} , but {pair} the plot was", features=("text",))
    written = wl.explain(clf, Text(CONTEXT, "it is"), method="occlusion").prediction.label
    path = tmp_path / "data.jsonl"
    lines = [
        f'{{"text": "{CONTEXT}", "pair": "it is", "label": "good", "rationale": [[16, 37]]}}',
        f'{{"text": "{CONTEXT} ", "pair": "it is", "label": "{written}"}}',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = wl.evaluate(
        clf,
        wl.dataset(path),
        methods=["occlusion", "input_x_gradient"],
        metrics=["comprehensiveness", "aopc_sufficiency", "average_precision"],
        options=wl.Options(unit="sentence", target="generated"),
        out=tmp_path / "run",
        progress=False,
    )
    assert all(np.isfinite(row["value"]) for row in found.scores)
    labels = {(row["example_id"], row["label"], row["correct"]) for row in found.scores if row["method"] == "occlusion"}
    assert len({one for one, _, _ in labels}) == 2
    assert sorted(right for _, label, right in labels if label == written) == [False, True]
    marked = [row for row in found.scores if row["metric"] == "average_precision"]
    assert {row["label"] for row in marked} == {"good"}
    assert {row["method"] for row in marked} == {"occlusion", "input_x_gradient", "random", "human"}


def test_the_command_line_asks_why(tmp_path: Path) -> None:
    runner, folder = CliRunner(), tmp_path / "model"
    language_model().save_pretrained(folder)
    tiny.tokenizer("llama").save_pretrained(folder)
    (tmp_path / "free.toml").write_text("template = 'the film {text} the plot was'\nlength = 4\n", encoding="utf-8")
    options = ["--model", str(folder), "--prompt", str(tmp_path / "free.toml"), "--method", "occlusion"]
    done = runner.invoke(app, ["explain", TEXT, *options, "--target", "generated", "--target", GIVEN])
    assert done.exit_code == 0, done.output
    assert "written by the model" in done.stdout
    assert f"why {GIVEN}" in done.stdout
    page = tmp_path / "page.html"
    runner.invoke(app, ["explain", TEXT, *options, "--format", "html", "--out", str(page)])
    assert "written by the model" in page.read_text(encoding="utf-8")
    refused = runner.invoke(app, ["explain", TEXT, *options, "--score", "logit"])
    assert isinstance(refused.exception, SettingError)
    assert "question" in runner.invoke(app, ["prompts"]).stdout
    assert "free text" in runner.invoke(app, ["prompts", "question"]).stdout
