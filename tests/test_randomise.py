"""Randomised twins: exactly the named weights are new, drawn as the library draws them, and the model stays itself."""

from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import quick
import tiny
from whylight.core.errors import IncompatibleError, SettingError
from whylight.models.chunked import ChunkedClassifier
from whylight.models.encoder import TransformerClassifier
from whylight.models.load import load
from whylight.models.randomise import levels_of, randomise
from whylight.models.unchanged import unchanged

every_architecture = pytest.mark.parametrize(
    "architecture",
    [pytest.param(name, marks=[pytest.mark.slow] if name in tiny.RELATIVES else []) for name in tiny.ARCHITECTURES],
)


def weights(clf: Any) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in clf.model.named_parameters()}


def changed(one: Any, other: Any) -> set[str]:
    mine, theirs = weights(one), weights(other)
    assert list(mine) == list(theirs)
    return {name for name in mine if not torch.equal(mine[name], theirs[name])}


def names_of(clf: Any) -> list[str]:
    return [level.name for level in levels_of(clf)]


@every_architecture
def test_every_weight_is_in_one_level(architecture: str) -> None:
    clf = quick.classifier(architecture)
    found = [name for level in levels_of(clf) for name in level.parameters]
    assert sorted(found) == sorted(weights(clf))
    layers = ["shared layers"] if architecture == "albert" else ["layer 2", "layer 1"]
    assert names_of(clf) == ["head", *layers, "embeddings"]


@every_architecture
def test_levels_hold_what_their_names_say(architecture: str) -> None:
    head, *layers, embeddings = levels_of(quick.classifier(architecture))
    prefix = f"{quick.classifier(architecture).model.base_model_prefix}."
    inside = [name for name in head.parameters if name.startswith(prefix)]
    assert {name.split(".")[1] for name in inside} <= {"pooler"}
    assert any(not name.startswith(prefix) for name in head.parameters)
    for number, level in zip(range(len(layers), 0, -1), layers, strict=True):
        own = {name for name in level.parameters if "norm" not in name.removeprefix(prefix).split(".")[0]}
        assert own  # what is left out here is a final norm, which goes with the uppermost layer
        assert all(f".{number - 1}." in name for name in own), own
    word_embeddings = quick.classifier(architecture).model.get_input_embeddings().weight
    inner = dict(quick.classifier(architecture).model.named_parameters())
    assert any(inner[name] is word_embeddings for name in embeddings.parameters)


def test_poolers_are_part_of_the_head_and_final_norms_of_the_top_layer() -> None:
    assert "bert.pooler.dense.weight" in levels_of(quick.classifier("bert"))[0].parameters
    assert "albert.pooler.weight" in levels_of(quick.classifier("albert"))[0].parameters
    assert "model.final_norm.weight" in levels_of(quick.classifier("modernbert"))[1].parameters
    assert "model.norm.weight" in levels_of(quick.classifier("llama"))[1].parameters
    assert "deberta.encoder.rel_embeddings.weight" in levels_of(quick.classifier("deberta"))[-1].parameters


def test_groups_of_shared_layers_are_levels() -> None:
    clf = tiny.classifier("albert", num_hidden_layers=4, num_hidden_groups=2)
    assert names_of(clf) == ["head", "layer group 2", "layer group 1", "embeddings"]


@every_architecture
def test_exactly_the_upper_levels_are_new_and_the_cascade_is_nested(architecture: str) -> None:
    clf, above = quick.classifier(architecture), None
    levels = levels_of(clf)
    for depth in range(1, len(levels) + 1):
        twin = randomise(clf, depth=depth)
        allowed = {name for level in levels[:depth] for name in level.parameters}
        new = changed(clf, twin)
        assert new <= allowed
        matrices = {name for name in allowed if weights(clf)[name].dim() > 1}
        assert matrices <= new  # a bias may be 0 before and after
        if above is not None:
            assert changed(above, twin) <= set(levels[depth - 1].parameters)
        above = twin


@every_architecture
@pytest.mark.parametrize("depth", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_the_model_and_the_process_stay_as_they_were(architecture: str, depth: int) -> None:
    model = tiny.model(architecture).train()
    next(iter(model.parameters())).requires_grad_(requires_grad=False)
    model.get_input_embeddings().register_forward_hook(lambda _module, _args, _output: None)
    clf = load(model, tiny.tokenizer(tiny.style_of(architecture)))
    before = quick.snapshot(model)
    twin = randomise(clf, depth=depth)
    quick.run(twin, quick.TEXT, "attingrad")
    after = quick.snapshot(model)
    assert {name for name in before if before[name] != after[name]} == set()
    mine = {tensor.data_ptr() for tensor in model.parameters()}
    assert not mine & {tensor.data_ptr() for tensor in twin.model.parameters()}
    assert twin.model.config is not model.config


def test_the_seed_alone_decides() -> None:
    clf = quick.classifier("bert")
    torch.manual_seed(1)
    first = randomise(clf, depth=4, seed=7)
    torch.manual_seed(2)
    assert changed(first, randomise(clf, depth=4, seed=7)) == set()
    other = changed(first, randomise(clf, depth=4, seed=8))
    assert {name for name, tensor in weights(clf).items() if tensor.dim() > 1} <= other


def test_weights_are_drawn_as_the_library_draws_them() -> None:
    clf = quick.classifier("bert")  # whose weights are eight times as large as fresh ones
    twin = randomise(clf, depth=4)
    for name, tensor in weights(twin).items():
        if "LayerNorm.weight" in name:
            assert bool((tensor == 1).all())
        elif name.endswith("bias"):
            assert not bool(tensor.any())
        elif tensor.numel() > 500:
            assert float(tensor.std()) == pytest.approx(clf.model.config.initializer_range, rel=0.15), name


@every_architecture
def test_a_model_from_a_checkpoint_is_randomised_too(architecture: str, tmp_path: Path) -> None:
    """Its weights are marked as loaded, and the library's initialiser passes over marked ones."""
    tiny.model(architecture).save_pretrained(tmp_path)
    tiny.tokenizer(tiny.style_of(architecture)).save_pretrained(tmp_path)
    clf = load(tmp_path)
    assert isinstance(clf, TransformerClassifier | ChunkedClassifier)
    assert any(getattr(parameter, "_is_hf_initialized", False) for parameter in clf.model.parameters())
    twin = randomise(clf, depth=len(levels_of(clf)))
    assert {name for name, tensor in weights(clf).items() if tensor.dim() > 1} <= changed(clf, twin)
    assert all(getattr(parameter, "_is_hf_initialized", False) for parameter in clf.model.parameters())


@every_architecture
def test_a_twin_is_a_classifier_like_any_other(architecture: str) -> None:
    clf = quick.classifier(architecture)
    for depth in (1, len(levels_of(clf))):
        twin = randomise(clf, depth=depth)
        assert (twin.labels, twin.limit, twin.removers) == (clf.labels, clf.limit, clf.removers)
        assert twin.identity != clf.identity
        for method in ("occlusion", "integrated_gradients", "attention"):
            mine, theirs = quick.run(clf, quick.TEXT, method), quick.run(twin, quick.TEXT, method)
            assert mine.spans == theirs.spans
            assert np.isfinite(theirs.scores).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("architecture", ["bert", "modernbert"])
def test_half_precision_stays_half_precision(architecture: str, dtype: torch.dtype) -> None:
    clf = load(tiny.model(architecture).to(dtype), tiny.tokenizer())
    twin = randomise(clf, depth=len(levels_of(clf)))
    assert {tensor.dtype for tensor in weights(twin).values()} == {dtype}


def test_a_network_around_an_encoder_has_a_head() -> None:
    model = tiny.model("bert")
    model.base_model_prefix = "nothing"
    clf = load(model, tiny.tokenizer())
    assert names_of(clf) == ["head", "layer 2", "layer 1", "embeddings"]
    model.second = tiny.model("bert")
    with pytest.raises(IncompatibleError, match="head of 'BertForSequenceClassification'"):
        levels_of(clf)


def test_a_weight_that_the_initialiser_does_not_reach_is_refused() -> None:
    model = tiny.model("bert")
    model.classifier.scale = nn.Parameter(torch.ones(3))
    with pytest.raises(IncompatibleError, match=r"does not draw 'classifier\.scale'"):
        randomise(load(model, tiny.tokenizer()), depth=1)
    below = tiny.model("bert")
    below.bert.embeddings.scale = nn.Parameter(torch.ones(3))
    clf = load(below, tiny.tokenizer())
    assert randomise(clf, depth=3).model.bert.embeddings.scale.tolist() == [1, 1, 1]
    with pytest.raises(IncompatibleError, match=r"does not draw 'bert\.embeddings\.scale'"):
        randomise(clf, depth=4)


def test_what_is_no_weight_is_kept() -> None:
    model = tiny.model("bert")
    model.bert.embeddings.token_type_ids.fill_(1)  # which the initialiser would set to 0
    twin = randomise(load(model, tiny.tokenizer()), depth=4)
    assert bool((twin.model.bert.embeddings.token_type_ids == 1).all())


def test_a_callable_has_no_weights() -> None:
    clf = load(lambda texts: np.full((len(texts), 2), 0.5), labels=["no", "yes"])
    for call in (lambda: levels_of(clf), lambda: randomise(clf, depth=1)):
        with pytest.raises(IncompatibleError, match="a callable has no weights"):
            call()


@pytest.mark.parametrize("depth", [0, -1, 5])
def test_a_depth_must_exist(depth: int) -> None:
    with pytest.raises(SettingError, match="1 to 4"):
        randomise(quick.classifier("bert"), depth=depth)


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_must_be_one(seed: int) -> None:
    with pytest.raises(SettingError, match="'seed'"):
        randomise(quick.classifier("bert"), depth=1, seed=seed)


def test_a_copy_waits_for_whoever_has_hooks_on_the_model() -> None:
    clf = quick.classifier("bert")
    hooked, go_on = Event(), Event()

    def other() -> None:
        with unchanged(clf.model):
            handle = clf.model.get_input_embeddings().register_forward_hook(lambda _module, _args, _out: None)
            hooked.set()
            go_on.wait(0.5)
            handle.remove()

    thread = Thread(target=other)
    thread.start()
    hooked.wait()
    twin = randomise(clf, depth=1, seed=0)
    thread.join()
    assert not twin.model.get_input_embeddings()._forward_hooks
