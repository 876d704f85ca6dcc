"""Real ONNX files: a classifier of prompt injections that others trained, and networks that are exported here."""

import importlib.util
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

import quick
import tiny
import whylight as wl
from whylight.core.errors import ModelError
from whylight.models import copies, runtimes
from whylight.models.onnx_reading import file_digest


class Later:
    """The package, imported by the first test that needs it: whoever leaves these tests out need not have it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("onnx"), name)


onnx: Any = Later()

pytestmark = pytest.mark.llm
TEXT = "This film is a gripping, moving story, though the ending drags."
LABELS = ["safe", "injection"]


@pytest.fixture(scope="module")
def guard() -> Path:
    """The folder of cloneguard's model; the package itself is not imported."""
    spec = importlib.util.find_spec("cloneguard")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


class Rebuilt(torch.nn.Module):
    """The network of cloneguard in torch, with the weights of the file: mean of MiniLM's states, two layers."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        graph = onnx.load(file).graph
        arrays = {one.name: torch.from_numpy(onnx.numpy_helper.to_array(one).copy()) for one in graph.initializer}
        for node in graph.node:  # the exporter transposed the matrices, and named them by number
            if node.op_type == "MatMul" and node.input[1] in arrays:
                name = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
                arrays[f"{name}.weight"] = arrays[node.input[1]].T
        config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
        self.encoder = BertModel(config, add_pooling_layer=False).eval()
        wanted = {name: arrays[f"encoder.{name}"] for name, _ in self.encoder.named_parameters()}
        self.encoder.load_state_dict(wanted, strict=False)
        self.arrays = arrays

    def forward(self, **inputs: Any) -> torch.Tensor:
        states = self.encoder(**inputs).last_hidden_state
        mask = inputs["attention_mask"][..., None].float()
        mean = (states * mask).sum(1) / mask.sum(1)
        inner = torch.relu(mean @ self.arrays["classifier.0.weight"].T + self.arrays["classifier.0.bias"])
        return inner @ self.arrays["classifier.3.weight"].T + self.arrays["classifier.3.bias"]


def test_a_file_says_what_its_network_says_in_torch_also_without_some_words(guard: Path) -> None:
    clf: Any = wl.load(guard, labels=LABELS)
    explained = wl.explain(clf, TEXT, method="occlusion", target="injection", remover="mask")
    network, tokenizer = Rebuilt(guard / "mini_semantic.onnx"), clf.tokenizer
    whole = tokenizer(TEXT, return_tensors="pt")
    words = [TEXT[span.start : span.end] for span in explained.spans]
    pieces = [tokenizer.tokenize(word) for word in words]
    assert sum(map(len, pieces)) + 2 == whole["input_ids"].shape[1]
    with torch.no_grad():
        full, start, expected = network(**whole)[0, 1], 1, []
        for piece in pieces:
            ids = whole["input_ids"].clone()
            ids[0, start : start + len(piece)] = tokenizer.mask_token_id
            expected.append(float(full - network(**{**whole, "input_ids": ids})[0, 1]))
            start += len(piece)
    np.testing.assert_allclose(explained.scores[0], expected, atol=1e-4 * np.abs(expected).max())


def test_the_mistake_of_a_real_model_is_explained(guard: Path) -> None:
    clf = wl.load(guard / "mini_semantic.onnx", labels=LABELS)
    for method in ("lime", "kernel_shap", "solvex", "random"):
        explained = wl.explain(clf, TEXT, method=method, **quick.cheap(method))
        assert explained.prediction.label == "injection"
        assert np.isfinite(explained.scores).all()
        for metric in ("comprehensiveness", "sufficiency", "log_odds"):
            assert np.isfinite(wl.measure(clf, explained, metric=metric)).all()


def test_several_threads_ask_one_file(guard: Path) -> None:
    clf = wl.load(guard, labels=LABELS)
    texts = [TEXT, "Ignore the plot.", "A dull film with a good ending.", "You are asked to watch this."]
    alone = [wl.explain(clf, text, method="occlusion", progress=False).scores for text in texts]
    found: dict[int, Any] = {}

    def work(number: int) -> None:
        found[number] = wl.explain(clf, texts[number], method="occlusion", progress=False).scores

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(texts))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for number, scores in enumerate(alone):
        np.testing.assert_allclose(found[number], scores, atol=1e-5)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model as an ONNX file, its tokenizer and its configuration."""
    folder = tmp_path_factory.mktemp("exported")
    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    example = dict(tokenizer(["a good film", "the film was dull"], padding=True, return_tensors="pt"))
    copies._export(model, example, folder / "model.onnx", engine="onnx", options={})
    model.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_an_exported_network_has_the_scores_of_the_network(exported: Path) -> None:
    clf = wl.load(exported)
    for remover in ("mask", "delete"):
        expected = quick.run(quick.classifier("bert"), quick.TEXT, "kernel_shap", remover=remover).scores
        found = quick.run(clf, quick.TEXT, "kernel_shap", remover=remover).scores
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def outside(exported: Path, folder: Path, location: str) -> Path:
    """Write the same network with its weights in a file of a name."""
    shutil.copytree(exported, folder, dirs_exist_ok=True)
    model = onnx.load(exported / "model.onnx")
    for one in model.graph.initializer:
        if len(one.raw_data) > 1000:
            onnx.external_data_helper.set_external_data(one, location)
    for one in folder.glob("model.onnx*"):
        one.unlink()
    onnx.save(model, folder / "model.onnx")
    return folder


def test_weights_beside_the_file_belong_to_it(exported: Path, tmp_path: Path) -> None:
    folder = outside(exported, tmp_path / "model", "numbers.bin")
    clf = wl.load(folder)
    expected = quick.run(quick.classifier("bert"), quick.TEXT, "occlusion").scores
    np.testing.assert_allclose(quick.run(clf, quick.TEXT, "occlusion").scores, expected, atol=1e-4)
    before = file_digest(folder / "model.onnx")
    (folder / "numbers.bin").write_bytes((folder / "numbers.bin").read_bytes()[::-1])
    assert file_digest(folder / "model.onnx") != before


def test_weights_out_of_the_folder_are_refused(exported: Path, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    inside = outside(exported, tmp_path / "inside", "numbers.bin")
    shutil.copy(inside / "numbers.bin", tmp_path / "numbers.bin")
    model = onnx.load(inside / "model.onnx", load_external_data=False)
    for one in model.graph.initializer:
        for entry in one.external_data:
            if entry.key == "location":
                entry.value = "../numbers.bin"
    (inside / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=r"cannot read .* as an ONNX file"):
        wl.load(inside)


def test_a_broken_file_is_refused_in_one_sentence(exported: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(exported, tmp_path / "model"))
    for content in (b"garbage", (exported / "model.onnx").read_bytes()[:500], b""):
        (folder / "model.onnx").write_bytes(content)
        with pytest.raises(ModelError, match=r"cannot read .* as an ONNX file") as caught:
            wl.load(folder)
        assert "\n" not in str(caught.value)


def test_a_file_of_another_kind_is_refused(exported: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(exported, tmp_path / "model"))
    port = onnx.helper.make_tensor_value_info("pixel_values", onnx.TensorProto.FLOAT, [None, 3, 8, 8])
    out = onnx.helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, [None, 3, 8, 8])
    node = onnx.helper.make_node("Identity", ["pixel_values"], ["logits"])
    graph = onnx.helper.make_graph([node], "picture", [port], [out])
    opset = [onnx.helper.make_opsetid("", 18)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "model.onnx")
    with pytest.raises(ModelError, match="wants the inputs pixel_values; the tokenizer gives input_ids"):
        wl.load(folder)
    assert runtimes.OnnxRuntime(folder / "model.onnx").outputs == {"logits": (None, 3, 8, 8)}
