"""`decompx_linear`: every source's part of the logit, against the network replayed with the source taken out."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  the name torch's own documentation uses
from torch import Tensor

import quick
import tiny
from whylight.core.errors import IncompatibleError
from whylight.models.frozen import frozen
from whylight.models.leaves import embedding_module, leaf_biases
from whylight.models.load import load

TEXT = "The acting was never dull, but the plot drags! Films and scripts nevers end, good moving endings ever"
LEVELS = ("embedding_output", "word")
LABELS = 3
CAST = {"llama": 1e-6}
"""Architectures that fall back to single precision inside, whatever the model's is."""
every_architecture = pytest.mark.parametrize("architecture", tiny.EVERY)
each_level = pytest.mark.parametrize("level", LEVELS)
both_chunked = pytest.mark.parametrize("architecture", tiny.CHUNKED)


def exact(architecture: str, **options: Any) -> Any:
    """A classifier in double precision."""
    model = tiny.model(architecture, **{"num_labels": LABELS, **options}).double()
    return load(model, tiny.tokenizer(tiny.style_of(architecture)))


def view_of(clf: Any, text: str = TEXT) -> Any:
    return clf.gradient_view(quick.encode(clf, text), quick.request(clf))


@every_architecture
@each_level
def test_all_sources_together_are_the_logit(architecture: str, level: str) -> None:
    clf = exact(architecture)
    explanation = quick.run(clf, TEXT, "decompx_linear", source=level, target="all", unit="token")
    within = CAST.get(architecture, 1e-12)
    np.testing.assert_allclose(explanation.provenance.completeness_gap, np.zeros(LABELS), atol=within)
    linear = view_of(clf).linearise(level=level)
    special = torch.as_tensor(quick.encode(clf, TEXT).windows[0].feature < 0)
    others = linear.shares[:, special].sum(1) + linear.rest
    total = explanation.scores.sum(1) + others.numpy()
    np.testing.assert_allclose(total, quick.plain_logits(clf, TEXT), atol=10 * within)
    assert float(linear.shares[:, special].abs().max()) > 1e-3  # what special tokens earn is not given to words


@every_architecture
@each_level
def test_with_nothing_held_the_sources_miss_the_logit(architecture: str, level: Any) -> None:
    assert np.abs(view_of(exact(architecture)).linearise(level=level, rule="exact").gap).max() > 0.1


@pytest.mark.parametrize("architecture", [name for name in tiny.EVERY if name != "llama"])
@each_level
def test_the_rest_is_bias_x_gradient_and_what_else_is_embedded(architecture: str, level: Any) -> None:
    """Differentiated by the parameters themselves; a table's gradient is on the rows that were looked up."""
    clf = exact(architecture)
    model, (window,) = clf.model, quick.encode(clf, TEXT).windows
    embedding = embedding_module(model)
    within = {name: p for name, p in embedding.named_parameters() if p is not model.get_input_embeddings().weight}
    beside = [p for name, p in within.items() if name.endswith("bias") or "embeddings.weight" in name]
    behind = [
        p
        for name, p in model.named_parameters()
        if name.endswith("bias") and not any(p is one for one in embedding.parameters())
    ]
    sources = behind + beside if level == "word" else behind
    with frozen():
        logits = plain(clf, window)
    for column in range(LABELS):
        found = torch.autograd.grad(logits[column], sources, retain_graph=True, materialize_grads=True)
        expected = sum(float((one.detach() * gradient).sum()) for one, gradient in zip(sources, found, strict=True))
        assert float(view_of(clf).linearise(level=level).rest[column]) == pytest.approx(expected, abs=1e-12)


def plain(clf: Any, window: Any) -> Tensor:
    """The logits `[labels]` of the whole network, by Hugging Face's own call."""
    ids = torch.as_tensor(window.ids)[None]
    types = {"token_type_ids": torch.zeros_like(ids)} if "token_type_ids" in clf.tokenizer("a") else {}
    logits: Tensor = clf.model(ids, **types).logits[0]
    return logits


# a tiny BERT written out, with everything that is not linear taken from a record of the real one


class Replay:
    """The affine network that is left of a BERT when what was recorded on a text is held."""

    def __init__(self, model: Any, ids: Tensor) -> None:
        self.weights = dict(model.named_parameters())
        model.set_attn_implementation("eager")
        with torch.no_grad(), watched(model) as self.seen:
            output = model(ids, output_attentions=True)
        self.attention, self.logits = [layer[0] for layer in output.attentions], output.logits[0]
        self.heads, self.layers = model.config.num_attention_heads, model.config.num_hidden_layers

    def linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, name: str, x: Tensor) -> Tensor:
        deviation = (self.seen[name].var(-1, unbiased=False, keepdim=True) + 1e-12).sqrt()
        centred = x - x.mean(-1, keepdim=True)
        return centred / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attend(self, layer: int, x: Tensor) -> Tensor:
        values = self.linear(f"bert.encoder.layer.{layer}.attention.self.value", x)
        mixed = [
            weights @ part for weights, part in zip(self.attention[layer], values.chunk(self.heads, -1), strict=True)
        ]
        return self.linear(f"bert.encoder.layer.{layer}.attention.output.dense", torch.cat(mixed, -1))

    def classify(self, x: Tensor) -> Tensor:
        """Return the logits of an embedding output `[tokens, dims]`."""
        for layer in range(self.layers):
            name = f"bert.encoder.layer.{layer}"
            x = self.norm(f"{name}.attention.output.LayerNorm", x + self.attend(layer, x))
            before = self.seen[f"{name}.intermediate.dense"]
            slope = F.gelu(before) / before
            inner = self.linear(f"{name}.intermediate.dense", x) * slope
            x = self.norm(f"{name}.output.LayerNorm", x + self.linear(f"{name}.output.dense", inner))
        before = self.seen["bert.pooler.dense"]
        pooled = self.linear("bert.pooler.dense", x[0]) * (before.tanh() / before)
        return self.linear("classifier", pooled)


@contextmanager
def watched(model: Any) -> Iterator[dict[str, Tensor]]:
    """Keep what enters each norm and what leaves each linear map, by name, without the batch axis."""
    seen, handles = dict[str, Tensor](), []

    def watch(name: str, *, norm: bool) -> Any:
        def hook(_module: object, args: tuple[Tensor, ...], output: Tensor) -> None:
            seen[name] = (args[0] if norm else output)[0].detach()

        return hook

    for name, module in model.named_modules():
        if isinstance(module, torch.nn.LayerNorm | torch.nn.Linear):
            handles.append(module.register_forward_hook(watch(name, norm=isinstance(module, torch.nn.LayerNorm))))
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


@each_level
@torch.no_grad()
def test_a_token_earns_what_the_held_network_loses_without_it(level: Any) -> None:
    clf = exact("bert")
    (window,) = quick.encode(clf, TEXT).windows
    shares = view_of(clf).linearise(level=level).shares
    ids = torch.as_tensor(window.ids)[None]
    replay = Replay(tiny.model("bert", num_labels=LABELS).double(), ids)
    words = replay.weights["bert.embeddings.word_embeddings.weight"][ids[0]]
    beside = replay.seen["bert.embeddings.LayerNorm"] - words

    def logits(keep: Tensor) -> Tensor:
        if level == "word":
            return replay.classify(replay.norm("bert.embeddings.LayerNorm", keep * words + beside))
        return replay.classify(keep * replay.norm("bert.embeddings.LayerNorm", words + beside))

    every = torch.ones(len(words), 1, dtype=torch.float64)
    torch.testing.assert_close(logits(every), replay.logits, rtol=0, atol=1e-9)
    for position in range(len(words)):
        without = every.clone()
        without[position] = 0
        torch.testing.assert_close(shares[:, position], logits(every) - logits(without), rtol=0, atol=1e-9)
    scores = quick.run(clf, TEXT, "decompx_linear", source=level, target="all", unit="token").scores
    np.testing.assert_allclose(scores, shares[:, torch.as_tensor(window.feature >= 0)], atol=1e-12)


# documents in chunks


@both_chunked
@each_level
@pytest.mark.parametrize("budget", [1, 2 * tiny.CHUNK, 1000])
def test_a_few_chunks_at_a_time_are_the_whole_document(architecture: str, level: Any, budget: int) -> None:
    clf = exact(architecture)
    clf.engine.budget = budget
    (window,) = quick.encode(clf, TEXT).windows
    assert len(window.ids) > 3 * tiny.CHUNK
    found = view_of(clf).linearise(level=level)
    assert np.abs(found.gap).max() < 1e-12
    module = clf.model.get_input_embeddings() if level == "word" else embedding_module(clf.model)
    leaves = list[Tensor]()

    def start(_module: object, _args: object, output: Tensor) -> Tensor:
        leaves.append(output.detach().requires_grad_(requires_grad=True))
        return leaves[-1]

    handle = module.register_forward_hook(start)
    with frozen():
        logits = plain(clf, window)
    handle.remove()
    (leaf,) = leaves
    for column in range(LABELS):
        (gradient,) = torch.autograd.grad(logits[column], leaf, retain_graph=True)
        expected = (leaf * gradient).sum(-1).flatten()
        torch.testing.assert_close(found.shares[column], expected[: len(window.ids)].detach(), rtol=0, atol=1e-12)
        assert not expected[len(window.ids) :].any()  # padding earns nothing
    torch.testing.assert_close(found.scores, logits.detach())


@both_chunked
def test_no_more_than_a_few_chunks_have_a_graph_at_once(architecture: str) -> None:
    clf = tiny.classifier(architecture, num_labels=LABELS)
    clf.engine.budget = 2 * tiny.CHUNK
    explanation = quick.run(clf, TEXT, "decompx_linear", target="all")
    n_chunks = len(quick.encode(clf, TEXT).windows[0].cut(tiny.CHUNK))
    assert explanation.provenance.forward_passes == 2 * n_chunks
    assert explanation.provenance.backward_passes == LABELS * n_chunks


# promises


def test_the_cost_is_one_pass_and_one_gradient_a_target() -> None:
    receipt = quick.run(quick.classifier("bert", num_labels=LABELS), TEXT, "decompx_linear", target="all").provenance
    assert (receipt.forward_passes, receipt.backward_passes) == (1, LABELS)


def test_many_targets_at_once_or_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for architecture in ("electra", "llama", "plm_ca"):
        together = view_of(exact(architecture)).linearise(level="embedding_output")
        with monkeypatch.context() as patch:
            patch.setattr("whylight.views.gradient.BATCHED_LIMIT", 0)
            apart = view_of(exact(architecture)).linearise(level="embedding_output")
        torch.testing.assert_close(apart.shares, together.shares)
        torch.testing.assert_close(apart.rest, together.rest)


@pytest.mark.parametrize("pieces", ["max", "mean"])
def test_the_gap_is_of_the_tokens_however_words_are_put_together(pieces: str) -> None:
    clf = exact("bert")
    added, other = (quick.run(clf, TEXT, "decompx_linear", pieces=how) for how in ("sum", pieces))
    assert np.abs(added.scores - other.scores).max() > 1e-3
    np.testing.assert_allclose(other.provenance.completeness_gap, [0.0], atol=1e-12)


@pytest.mark.parametrize("long", ["window", "truncate"])
def test_the_windows_of_a_long_text_add_up_to_its_logit(long: str) -> None:
    clf = exact("bert")
    explanation = quick.run(clf, " ".join([TEXT] * 5), "decompx_linear", target="all", long=long)
    assert explanation.provenance.notes
    np.testing.assert_allclose(explanation.provenance.completeness_gap, np.zeros(LABELS), atol=1e-12)


def test_the_two_sides_of_a_single_logit_mirror_each_other() -> None:
    clf = load(tiny.model("bert", num_labels=1).double(), tiny.tokenizer(), head="binary")
    scores = quick.run(clf, TEXT, "decompx_linear", target="all").scores
    np.testing.assert_allclose(scores[0], -scores[1], atol=1e-12)
    assert np.abs(scores).max() > 1e-3


@pytest.mark.parametrize("act", ["sigmoid", "laplace"])
def test_a_network_that_cannot_be_held_is_refused(act: str) -> None:
    clf = exact("bert", hidden_act=act)
    with pytest.raises(IncompatibleError, match="this model computes something that it cannot hold constant"):
        quick.run(clf, TEXT, "decompx_linear")


def test_what_belongs_to_no_word_is_left_out_of_the_words() -> None:
    """A model that reads nothing but biases: all that is left are they."""
    clf = exact("bert")
    with torch.no_grad():
        clf.model.classifier.weight.zero_()
    linear = view_of(clf).linearise(level="embedding_output")
    assert not linear.shares.any()
    torch.testing.assert_close(linear.rest, clf.model.classifier.bias.detach())


def test_another_thread_is_not_told_of_the_biases() -> None:
    """While one thread splits a logit, another one's gradient by the very same biases is its own."""
    clf = exact("bert")
    model, found = clf.model, list[Tensor]()
    (window,) = quick.encode(clf, TEXT).windows
    bias = model.classifier.bias
    work = threading.Thread(target=lambda: found.extend(torch.autograd.grad(plain(clf, window).sum(), bias)))
    with leaf_biases(model) as one:
        work.start()
        work.join()
        mine = plain(clf, window).sum()
    torch.testing.assert_close(found[0], torch.ones_like(bias))
    assert float(torch.autograd.grad(mine, one)[0].abs()) > 1e-3
