"""A setting goes to every method that has it, and one with a dot to that method alone."""

import json
from pathlib import Path
from typing import Any

import pytest

import quick
import whylight as wl
from whylight.core.errors import SettingError, WhylightError
from whylight.core.registry import METHODS, METRICS, OBJECTIVES
from whylight.explaining.variants import share_settings
from whylight.run.evaluate import Question
from whylight.study.several import evaluate_several

TEXT = "a good film"


@pytest.fixture
def clf() -> Any:
    return quick.classifier("bert", labels=("negative", "positive"))


def samples(explanations: Any) -> dict[str, Any]:
    return {one.provenance.method: one.provenance.settings.get("samples") for one in explanations}


def test_a_setting_with_a_dot_is_for_one_method_and_wins_whatever_the_order(clf: Any) -> None:
    methods = ["lime", "gradient_shap", "occlusion"]
    for given in ({"samples": 30, "lime.samples": 20}, {"lime.samples": "20", "samples": "30"}):
        found = wl.explain(clf, TEXT, method=methods, **given)
        assert samples(found) == {"lime": 20, "gradient_shap": 30, "occlusion": None}
        assert found[0].provenance.forward_passes <= 21
    alone = wl.explain(clf, TEXT, method=["lime", "gradient_shap"], **{"lime.samples": 20})
    assert samples(alone) == {"lime": 20, "gradient_shap": METHODS["gradient_shap"].settings["samples"].default}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kernel_shap.samples", "'kernel_shap', which is not asked for; asked for: lime, occlusion"),
        ("lim.samples", "'lim', which is not asked for"),
        ("lime.sample", "unknown setting of 'lime' 'sample'. Did you mean 'samples'?"),
        ("occlusion.samples", "unknown setting of 'occlusion' 'samples'"),
        (".samples", "'', which is not asked for"),
        ("lime.", "unknown setting of 'lime' ''"),
        ("a.lime.samples", "'a.lime', which is not asked for"),
    ],
)
def test_what_a_dot_cannot_mean_is_refused_with_what_exists(clf: Any, name: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        wl.explain(clf, TEXT, method=["lime", "occlusion"], **{name: 20})


def test_a_setting_of_a_method_does_not_change_a_metric_of_the_same_word() -> None:
    both = [METHODS["integrated_gradients"], METHODS["marc"], METRICS["aopc_sufficiency"]]
    with pytest.raises(
        SettingError, match=r"'marc' and the metric 'aopc_sufficiency': say which, marc.steps=... or aop"
    ):
        share_settings(both, {"steps": 8})
    addressed = share_settings(both, {"integrated_gradients.steps": 8})
    assert [own["steps"] for own in addressed] == [8, *(one.settings["steps"].default for one in both[1:])]
    assert [own["steps"] for own in share_settings(both[:2], {"steps": 8})] == [8, 8]
    assert share_settings(both[2:], {"steps": 8})[0]["steps"] == 8


def test_values_of_one_method_are_checked_like_any_other(clf: Any) -> None:
    with pytest.raises(SettingError, match="whole number"):
        wl.explain(clf, TEXT, method="lime", **{"lime.samples": "many"})


def test_one_method_alone_may_be_asked_for_every_layer(clf: Any) -> None:
    found = wl.explain(clf, TEXT, method=["attention", "alti"], **{"attention.layer": "all", "alti.layer": 1})
    layers = [(one.provenance.method, one.provenance.settings["layer"]) for one in found]
    assert layers == [*(("attention", n + 1) for n in range(clf.n_layers)), ("alti", 1)]
    one_layer = wl.explain(clf, TEXT, method=["attention", "alti"], layer="all", **{"alti.layer": 2})
    assert [one.provenance.settings["layer"] for one in one_layer] == [*range(1, clf.n_layers + 1), 2]
    assert isinstance(wl.explain(clf, TEXT, method="attention", **{"attention.layer": "all"}), list)


def test_metrics_and_objectives_are_addressed_alike(clf: Any) -> None:
    specs = [METRICS["precision_at_k"], METRICS["recall_at_k"]]
    first, second = share_settings(specs, {"k": 3, "recall_at_k.k": 7})
    assert (first["k"], second["k"]) == (3, 7)
    (noise,) = share_settings([OBJECTIVES["adversarial_noise"]], {"adversarial_noise.epsilon": "0.5"})
    assert noise["epsilon"] == 0.5
    explained = wl.explain(clf, TEXT, method="occlusion")
    named, plain = (
        wl.measure(clf, explained, metric="comprehensiveness", **{name: 0.9})
        for name in ("comprehensiveness.share", "share")
    )
    assert (named == plain).all()


def test_runs_take_them_and_their_rows_show_them(clf: Any) -> None:
    data = wl.dataset("planted:", split="dev", size=2, length=7)
    found = wl.evaluate(
        clf, data, methods=["lime", "gradient_shap"], metrics=["comprehensiveness", "sufficiency"], progress=False,
        settings={"samples": 30, "lime.samples": 20, "sufficiency.share": 0.5},
    )  # fmt: skip
    used = {row["method"]: json.loads(row["settings"]).get("samples") for row in found.explanations}
    assert (used["lime"], used["gradient_shap"]) == (20, 30)
    shares = {row["metric"]: json.loads(row["settings"])["share"] for row in found.scores}
    assert shares["sufficiency"] == 0.5
    assert shares["comprehensiveness"] == METRICS["comprehensiveness"].settings["share"].default
    twice = {"lime.samples": 20, "mean_change.scale": "none"}
    assert wl.sanity_check(clf, data, methods=["lime"], levels="head", draws=1, progress=False, settings=twice).lines
    with pytest.raises(SettingError, match="'attention', which is not asked for"):
        wl.sanity_check(clf, data, methods=["lime"], progress=False, settings={"attention.layer": 1})


def test_a_seed_of_one_method_would_make_variants_alike(clf: Any) -> None:
    data = wl.dataset("planted:", split="dev", size=2, length=7)
    for settings, said in (({"lime.seed": 1}, "'lime.seed'"), ({"seed": "x"}, "whole number")):
        question = Question(methods=["lime"], settings=settings)
        with pytest.raises(SettingError, match=said):
            evaluate_several({"tiny": lambda: clf}, data, question, seeds=2, progress=False)


def test_the_command_line_takes_them(cli: Any) -> None:
    methods = ("--method", "lime", "--method", "gradient_shap")
    asked = (*methods, "--set", "samples=30", "--set", "lime.samples=20", "--format", "json")
    rows = [json.loads(line) for line in cli("explain", TEXT, *asked)[1].splitlines()]
    assert [row["settings"]["samples"] for row in rows] == [20, 30]
    code, _, err = cli("explain", TEXT, *methods, "--set", "kernel_shap.samples=20")
    assert code == 2
    assert "asked for: lime, gradient_shap" in err


def test_one_method_may_be_asked_for_twice_with_settings_in_its_name(clf: Any) -> None:
    names = ["lime[samples=20, seed=1]", "lime", "lime[samples=20,seed=1]"]
    found = wl.explain(clf, TEXT, method=names, samples=30)
    assert [(one.provenance.method, one.provenance.settings["samples"]) for one in found] == [
        ("lime", 20), ("lime", 30), ("lime", 20)
    ]  # fmt: skip
    alone = wl.explain(clf, TEXT, method="lime", samples=20, seed=1)
    assert found[0].scores.tobytes() == alone.scores.tobytes() != found[1].scores.tobytes()
    named = wl.explain(clf, TEXT, method=["lime[samples=20]", "lime"], **{"samples": 30, "lime.samples": 25})
    assert [one.provenance.settings["samples"] for one in named] == [20, 25]
    layers = wl.explain(clf, TEXT, method="attention[layer=all]")
    assert [one.provenance.settings["layer"] for one in layers] == [*range(1, clf.n_layers + 1)]


def test_a_run_has_a_row_for_each_name(clf: Any, tmp_path: Path) -> None:
    data = wl.dataset("planted:", split="dev", size=2, length=7)
    names = ["occlusion", "occlusion[window=2]", "attention[layer=all]"]
    found = wl.evaluate(
        clf, data, methods=names, metrics=["comprehensiveness"], progress=False, out=tmp_path / "run"
    )  # fmt: skip
    layers = [f"attention[layer=all]@{n + 1}" for n in range(clf.n_layers)]
    assert [line.method for line in found.summary.lines if line.method != "human"] == [*names[:2], *layers, "random"]
    window = {row["method"]: json.loads(row["settings"]).get("window") for row in found.explanations}
    assert (window["occlusion"], window["occlusion[window=2]"]) == (1, 2)
    again = wl.evaluate(clf, data, methods=["occlusion"], settings={"window": 2}, progress=False)
    of_two = [list(row["scores"]) for row in found.explanations if row["method"] == "occlusion[window=2]"]
    assert of_two == [list(row["scores"]) for row in again.explanations if row["method"] == "occlusion"]


def test_random_scores_with_a_seed_in_their_name_differ_from_text_to_text(clf: Any, tmp_path: Path) -> None:
    (tmp_path / "two.jsonl").write_text('{"text": "a good film"}\n{"text": "a dull plot"}\n')
    data = wl.dataset(tmp_path / "two.jsonl", unlabelled=True)
    found = wl.evaluate(clf, data, methods=["random[seed=3]"], metrics=["comprehensiveness"], progress=False)
    first, second = ([*row["scores"]] for row in found.explanations if row["method"] == "random[seed=3]")
    assert len(first) == len(second)
    assert first != second


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("lime[samples]", r"is lime\[NAME=VALUE,NAME=VALUE\], each once, not 'lime\[samples\]'"),
        ("lime[samples=2,samples=3]", "each once, not"),
        ("lime[]", r"a method with settings is lime\[NAME=VALUE"),
        ("lime[sample=3]", "unknown setting of 'lime'.*samples"),
        ("lime[samples=many]", "samples"),
        ("lima[samples=3]", "unknown method 'lima'.*lime"),
        ("lime[samples=3", "unknown method"),
    ],
)
def test_a_name_with_settings_that_make_none_is_refused(clf: Any, name: str, sentence: str) -> None:
    with pytest.raises(WhylightError, match=sentence):
        wl.explain(clf, TEXT, method=name)
