"""Explanations layer by layer: the first and last are known, all of them are the single ones, and each has its row."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import quick
import tiny
import whylight as wl
from whylight.cli.main import run as command_line
from whylight.core.errors import IncompatibleError, SettingError
from whylight.core.registry import METHODS
from whylight.run import book, shards as module

TEXT = "The acting was good, but the plot drags!"
LAYERED = [name for name in METHODS.names() if "layer" in METHODS[name].settings]
LAYERS = tiny.SIZES["num_hidden_layers"]
DEEP = 4


def recorded(clf: Any) -> list[np.ndarray[Any, Any]]:
    """What Hugging Face alone says of the attention of each layer, mean over heads."""
    clf.model.set_attn_implementation("eager")
    with torch.no_grad():
        output = clf.model(**clf.tokenizer(TEXT, return_tensors="pt"), output_attentions=True)
    return [layer[0].mean(0).double().numpy() for layer in output.attentions]


def on_tokens(clf: Any, method: str, **settings: Any) -> np.ndarray[Any, Any]:
    scores: np.ndarray[Any, Any] = wl.explain(clf, TEXT, method=method, unit="token", **settings).scores[0]
    return scores


def with_residual(layer: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    mixed = layer + np.eye(len(layer))
    return np.asarray(mixed / mixed.sum(1, keepdims=True))


def test_a_layer_of_attention_is_the_row_that_the_head_reads_there() -> None:
    matrices = recorded(tiny.classifier("bert", num_hidden_layers=DEEP))
    clf = tiny.classifier("bert", num_hidden_layers=DEEP)
    assert len({tuple(matrix[0].round(6)) for matrix in matrices}) == DEEP  # four different rows to tell apart
    for number, matrix in enumerate(matrices, start=1):
        found = on_tokens(clf, "attention", layer=number)
        np.testing.assert_allclose(found, matrix[0, 1:-1], rtol=1e-5, atol=1e-7)  # CLS looks at all but the specials
    np.testing.assert_allclose(on_tokens(clf, "attention"), matrices[-1][0, 1:-1], rtol=1e-5, atol=1e-7)


def test_a_layer_of_rollout_is_the_product_up_to_there() -> None:
    matrices = recorded(tiny.classifier("bert", num_hidden_layers=DEEP))
    clf = tiny.classifier("bert", num_hidden_layers=DEEP)
    product = np.eye(len(matrices[0]))
    for number, matrix in enumerate(matrices, start=1):
        product = with_residual(matrix) @ product
        found = on_tokens(clf, "attention_rollout", layer=number)
        np.testing.assert_allclose(found, product[0, 1:-1], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("architecture", ["bert", "modernbert_mean", "llama", "plm_ca", "plm_ca_laat"])
def test_the_last_layer_of_rollout_is_the_default(architecture: str) -> None:
    clf = quick.classifier(architecture)
    whole = wl.explain(clf, TEXT, method="attention_rollout", target="all").scores
    last = wl.explain(clf, TEXT, method="attention_rollout", target="all", layer=LAYERS).scores
    first = wl.explain(clf, TEXT, method="attention_rollout", target="all", layer=1).scores
    np.testing.assert_array_equal(whole, last)
    assert not np.allclose(whole, first, rtol=1e-3)


def test_label_attention_is_followed_into_the_layer() -> None:
    """Mass is kept on the way: what the label's attention is worth is spread by rows that sum to 1."""
    clf = quick.classifier("plm_ca")
    request, encoded = quick.request(clf), quick.encode(clf, TEXT, unit="token")
    trace = clf.trace_view(encoded, request)
    matrices = [torch.block_diag(*layer) for layer in trace.layers()]
    size = trace.start.shape[1]
    for number, matrix in enumerate(matrices, start=1):
        expected = trace.to_features(trace.start @ matrix[:size, :size])
        found = wl.explain(clf, TEXT, method="attention", unit="token", target="all", layer=number)
        np.testing.assert_allclose(found.scores, expected, rtol=1e-5, atol=1e-7)
        assert found.provenance.class_specific


@pytest.mark.parametrize("architecture", ["bert", "plm_ca"])
@pytest.mark.parametrize("method", LAYERED)
def test_all_layers_are_the_single_ones_one_by_one(method: str, architecture: str) -> None:
    clf = quick.classifier(architecture)
    every = wl.explain(clf, TEXT, method=method, target="all", layer="all")
    assert [one.provenance.settings["layer"] for one in every] == list(range(1, LAYERS + 1))
    for number, one in enumerate(every, start=1):
        alone = wl.explain(clf, TEXT, method=method, target="all", layer=number)
        np.testing.assert_array_equal(one.scores, alone.scores)
        assert one.provenance.method == method
        assert one.provenance.settings == alone.provenance.settings


def test_all_layers_of_several_texts_and_methods_come_in_order() -> None:
    clf = quick.classifier("bert")
    found = wl.explain(clf, ["good film", "bad plot"], method=["attention", "saliency"], layer="all")
    seen = [(one.example.text, one.provenance.method, one.provenance.settings.get("layer")) for one in found]
    assert seen == [
        (text, *own)
        for text in ("good film", "bad plot")
        for own in (("attention", 1), ("attention", 2), ("saliency", None))
    ]


@pytest.mark.parametrize("method", LAYERED)
@pytest.mark.parametrize("layer", [0, -1, LAYERS + 1])
def test_a_layer_that_is_not_there_is_refused_with_how_many_there_are(method: str, layer: int) -> None:
    with pytest.raises(SettingError, match=f"no layer {layer}.* {LAYERS}"):
        wl.explain(quick.classifier("bert"), TEXT, method=method, layer=layer)


def test_other_refusals() -> None:
    clf = quick.classifier("bert")
    with pytest.raises(SettingError, match=r"unknown setting of 'saliency' 'layer'"):
        wl.explain(clf, TEXT, method="saliency", layer="all")
    with pytest.raises(SettingError, match=r"'layer' takes a whole number, not 'every'"):
        wl.explain(clf, TEXT, method="attention", layer="every")
    callable_ = wl.load(lambda texts: np.full((len(texts), 2), 0.5), labels=["a", "b"])
    with pytest.raises(IncompatibleError, match=r"needs attention and inner states, and a callable gives none"):
        wl.explain(callable_, TEXT, method="attention", layer="all")


def test_a_model_that_does_not_say_how_deep_it_is_is_refused() -> None:
    clf = tiny.classifier("bert")
    clf.network.config = object()
    with pytest.raises(IncompatibleError, match=r"how many layers .*, which a Hugging Face classifier does not say"):
        wl.explain(clf, TEXT, method="attention", layer="all")


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["whylight", *arguments])
    with pytest.raises(SystemExit) as stopped:
        command_line()
    return int(stopped.value.code or 0)


def test_the_command_line_explains_every_layer(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    asked = ("explain", TEXT, "--method", "attention", "--set", "layer=all")
    assert call(monkeypatch, *asked, "--format", "json") == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    layers = [one["settings"]["layer"] for one in objects]
    assert layers == list(range(1, len(layers) + 1))
    assert len(layers) == wl.load().n_layers  # type: ignore[attr-defined]
    assert call(monkeypatch, *asked) == 0
    printed = capsys.readouterr().out
    assert all(f"attention (layer {layer})" in printed for layer in layers)
    assert call(monkeypatch, "explain", TEXT, "--method", "attention", "--set", "layer=99") == 2
    assert "no layer 99" in capsys.readouterr().err


def test_every_layer_has_its_row_in_the_tables_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clf = tiny.classifier("bert", labels=["negative", "positive"])
    data = wl.dataset("planted:", split="test", size=4, length=8)
    question: dict[str, Any] = {"methods": ["attention", "attention_rollout"], "metrics": ["comprehensiveness", "iou"]}
    found = wl.evaluate(clf, data, **question, settings={"layer": "all"}, out=tmp_path / "all", progress=False)
    names = ["attention@1", "attention@2", "attention_rollout@1", "attention_rollout@2"]
    assert [line.method for line in found.summary.lines] == [*names, "random", "human"]
    rows = pq.read_table(tmp_path / "all" / "explanations").to_pylist()
    for layer in (1, 2):
        alone = wl.evaluate(clf, data, **question, settings={"layer": layer}, progress=False)
        for line in alone.summary.lines[:2]:
            twin = next(one for one in found.summary.lines if one.method == f"{line.method}@{layer}")
            for metric, cell in line.cells.items():
                assert twin.cells[metric].mean == pytest.approx(cell.mean, rel=1e-5)
        assert {json.loads(row["settings"])["layer"] for row in rows if row["method"] == f"attention@{layer}"} == {
            layer
        }
    real, seen = module.work_together, []

    def failing(*arguments: Any, **options: Any) -> Any:
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(book, "WRITE_EVERY", 0.0)
    monkeypatch.setattr(module, "work_together", failing)
    with pytest.raises(KeyboardInterrupt):
        wl.evaluate(clf, data, **question, settings={"layer": "all"}, out=tmp_path / "part", progress=False)
    again = wl.evaluate(clf, data, **question, settings={"layer": "all"}, out=tmp_path / "part", progress=False)
    assert len(seen) == 3 + 2
    assert [line.cells for line in again.summary.lines] == [line.cells for line in found.summary.lines]
