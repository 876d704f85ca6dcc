"""Methods and metrics that say for themselves what "removed" means to them, in one table."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import masked
import quick
import tiny
import whylight as wl
from whylight.core.errors import SettingError, WhylightError
from whylight.store.tables import Row

TEXT = "the cat sat on the mat"
LIKELIEST, OTHERS = "infill[mode=top1]", "infill[mode=top1_excluding_original]"


@pytest.fixture(scope="module")
def clf() -> Any:
    return tiny.classifier("bert", labels=["negative", "positive"])


@pytest.fixture(scope="module")
def data() -> Any:
    return wl.dataset("planted:", split="dev", size=4, length=7)


def scores_of(rows: list[Row], method: str) -> dict[tuple[str, str], np.ndarray[Any, Any]]:
    return {(row["example_id"], row["label"]): np.asarray(row["scores"]) for row in rows if row["method"] == method}


def test_a_method_with_a_remover_of_its_own_is_that_method_under_that_remover(clf: Any, data: Any) -> None:
    names = ["occlusion", "occlusion[remover=delete]", f"occlusion[remover={LIKELIEST}]"]
    given = {"infill.model": masked.folder()}
    found = wl.evaluate(clf, data, methods=names, metrics=(), settings=given, progress=False)
    for name, asked, own in (
        (names[0], "mask", {}),
        (names[1], "delete", {}),
        (names[2], "infill", {**given, "infill.mode": "top1"}),
    ):
        alone = wl.evaluate(clf, data, methods=["occlusion"], metrics=(), remover=asked, settings=own, progress=False)
        expected = scores_of(list(alone.explanations), "occlusion")
        for key, values in scores_of(list(found.explanations), name).items():
            np.testing.assert_allclose(values, expected[key], rtol=0, atol=1e-9)
    assert found.asked["own_removers"] == {
        "delete": {},
        LIKELIEST: {**found.asked["own_removers"][LIKELIEST], "mode": "top1", "model": masked.folder()},  # type: ignore[index]
    }


def test_metrics_may_use_one_remover_twice_with_other_settings(clf: Any, data: Any) -> None:
    asked: dict[str, Any] = {"methods": ["occlusion"], "metrics": ["deletion_auc"], "progress": False}
    given = {"infill.model": masked.folder()}
    found = wl.evaluate(clf, data, metric_removers=[LIKELIEST, OTHERS], settings=given, **asked)
    both = {name: [row["value"] for row in found.scores if row["remover"] == name] for name in (LIKELIEST, OTHERS)}
    for name, mode in ((LIKELIEST, "top1"), (OTHERS, "top1_excluding_original")):
        alone = wl.evaluate(clf, data, metric_removers=["infill"], settings={**given, "infill.mode": mode}, **asked)
        assert both[name] == [row["value"] for row in alone.scores]


def test_the_receipt_names_the_remover_and_all_of_its_settings(clf: Any) -> None:
    name = "lime[samples=20,remover=infill[top=3,mode=top1]]"
    ex = wl.explain(clf, TEXT, method=name, **{"infill.model": masked.folder()})
    receipt = ex.provenance
    assert (receipt.method, receipt.remover, receipt.settings["samples"]) == ("lime", "infill", 20)
    assert (receipt.remover_settings["top"], receipt.remover_settings["mode"]) == (3, "top1")
    named = wl.explain(clf, TEXT, method="lime", samples=20, remover="infill",
                       **{"infill.model": masked.folder(), "infill.top": 3, "infill.mode": "top1"})  # fmt: skip
    np.testing.assert_allclose(ex.scores, named.scores, rtol=0, atol=1e-9)


def test_sanity_checks_take_removers_of_methods(clf: Any, data: Any) -> None:
    names = ["occlusion[remover=delete]", "occlusion"]
    found = wl.sanity_check(clf, data, methods=names, levels="head", draws=1)
    alone = wl.sanity_check(
        clf, data, methods=["occlusion"], levels="head", draws=1, options=wl.Options(remover="delete")
    )
    own = {line.method: line.values["mean_change"] for line in found.lines}
    np.testing.assert_allclose(own[names[0]], alone.lines[0].values["mean_change"], rtol=0, atol=1e-9)
    assert not np.allclose(own[names[0]], own[names[1]])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("saliency[remover=delete]", "unknown setting of 'saliency' 'remover'"),
        ("occlusion[remover=erase]", "unknown remover for a Hugging Face classifier 'erase'"),
        ("occlusion[remover=]", "unknown remover for a Hugging Face classifier ''"),
        ("occlusion[remover=delete[mode=top1]]", "unknown setting of 'delete' 'mode'"),
        ("occlusion[remover=infill[mode]]", r"a remover with settings is infill\[NAME=VALUE,NAME=VALUE\]"),
        ("occlusion[remover=infill[model=]]", r"the remover 'infill\[model=\]' needs a masked language model"),
    ],
)
def test_what_cannot_be_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(WhylightError, match=sentence):
        wl.explain(quick.classifier("bert"), TEXT, method=name)


def test_an_audit_tries_removers_itself(clf: Any, data: Any) -> None:
    with pytest.raises(SettingError, match="an audit tries removers itself; leave 'remover=delete' out"):
        wl.audit(clf, data, methods=["lime[remover=delete]"])


def test_a_folder_knows_every_masked_language_model(clf: Any, data: Any, tmp_path: Path) -> None:
    one, two = masked.saved(tmp_path / "one"), masked.saved(tmp_path / "two")
    asked: dict[str, Any] = {
        "methods": [f"occlusion[remover=infill[mode=top1,model={path}]]" for path in (one, two)],
        "metrics": (),
        "out": tmp_path / "run",
        "progress": False,
    }
    wl.evaluate(clf, data, **asked)
    masked.network(seed=5).save_pretrained(two)
    with pytest.raises(WhylightError, match="weights"):
        wl.evaluate(tiny.classifier("bert", labels=["negative", "positive"]), data, **asked)
