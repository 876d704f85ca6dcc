"""Infill in a run, and where there is nothing that could fill blanks."""

from pathlib import Path
from typing import Any

import pytest
import torch
from test_infill import TEXT, run

import masked
import quick
import tiny
import whylight as wl
from whylight.core.errors import IncompatibleError, ModelError, SettingError
from whylight.models.infill import filler_of
from whylight.models.masked import MaskedModel


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return masked.saved(tmp_path / "mlm")


def test_what_cannot_fill_blanks_is_refused_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    clf = quick.classifier("bert")
    with pytest.raises(SettingError, match=r"^the remover 'infill' needs a masked language model: infill.model"):
        run(clf, TEXT, **{"infill.model": ""})
    tiny.model("bert").save_pretrained(tmp_path / "classifier")
    tiny.tokenizer("bert").save_pretrained(tmp_path / "classifier")
    with pytest.raises(ModelError, match="is no trained masked language model: its weights lack"):
        run(clf, TEXT, **{"infill.model": str(tmp_path / "classifier")})
    without = tiny.tokenizer("llama")
    with pytest.raises(ModelError, match="has no mask token"):
        MaskedModel(masked.network(), without, name="m")
    with pytest.raises(IncompatibleError, match="knows none of the words of the text"):
        run(clf, "日本 語", **{"infill.model": str(folder)})
    with pytest.raises(SettingError, match=r"infill\.top must be at least 1"):
        run(clf, TEXT, **{"infill.model": str(folder), "infill.top": 0})
    with pytest.raises(SettingError, match="there is no score 'logit'"):
        run(clf, TEXT, score="logit", **{"infill.model": str(folder)})


def test_metrics_take_it_and_a_folder_knows_the_masked_language_model(folder: Path, tmp_path: Path) -> None:
    clf = tiny.classifier("bert", labels=["negative", "positive"])
    data = wl.dataset("planted:", split="dev", size=4, length=7)
    asked: dict[str, Any] = {
        "methods": ["occlusion"],
        "metrics": ["deletion_auc"],
        "metric_removers": ["delete", "infill"],
    }
    settings = {"infill.model": str(folder), "infill.mode": "top1_excluding_original"}
    found = wl.evaluate(clf, data, **asked, settings=settings, out=tmp_path / "run", progress=False)
    assert {row["remover"] for row in found.scores} == {"delete", "infill"}
    with torch.no_grad():
        other = masked.network(seed=5)
    other.save_pretrained(folder)
    with pytest.raises(wl.WhylightError, match="infill weights"):
        wl.evaluate(tiny.classifier("bert", labels=["negative", "positive"]), data, **asked, settings=settings,
                    out=tmp_path / "run", progress=False)  # fmt: skip


def test_classifiers_share_a_masked_language_model_until_its_folder_changes(folder: Path) -> None:
    first, twin = (filler_of(tiny.classifier("bert"), str(folder)).masked for _ in range(2))
    assert first is twin
    masked.network(seed=5).save_pretrained(folder)
    assert filler_of(tiny.classifier("bert"), str(folder)).masked.contents != first.contents
