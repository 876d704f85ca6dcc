"""Terms of a training loss against their formulas, in float64."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import stage
import torch
from torch import Tensor

from whylight.core.errors import IncompatibleError
from whylight.core.registry import OBJECTIVES
from whylight.objectives.token_masking import find_mask
from whylight.testing import objective_checks
from whylight.views.step import Pass, Step, TrainingBatch

ARCHITECTURES = ("bert", "modernbert_mean", "plm_ca")
DIFFERENTIATED = [
    (name, architecture)
    for name in ("input_gradient_penalty", "rationale_gradient", "attention_supervision")
    for architecture in ARCHITECTURES
    # a rotary embedding computes in float32, too coarse for second derivatives alone
    if (name, architecture) != ("attention_supervision", "modernbert_mean")
]
FEW = {"token_masking": {"beta": 0.5, "steps": 10}, "adversarial_noise": {"steps": 5}}
CHECKS = [
    (name, architecture, title)
    for name in OBJECTIVES.names()
    for architecture in ARCHITECTURES
    for title, _ in objective_checks(name)
    if (name, architecture) != ("rationale_rollout", "plm_ca")
]


@cache
def checks(name: str, architecture: str) -> dict[str, Callable[[], None]]:
    step = stage.step(architecture)
    return dict(objective_checks(name, model=stage.model(step), batch=step.batch, settings=FEW.get(name)))


def value(step: Step, name: str, **settings: Any) -> Tensor:
    spec = OBJECTIVES[name]
    result: Tensor = spec.function(step, **spec.complete_settings(settings))
    return result


@pytest.mark.parametrize(("name", "architecture", "title"), CHECKS)
def test_it_keeps_its_promise(name: str, architecture: str, title: str) -> None:
    checks(name, architecture)[title]()


def test_rollout_is_refused_where_labels_have_their_own_attention() -> None:
    with pytest.raises(IncompatibleError, match="label attention"):
        value(stage.step("plm_ca"), "rationale_rollout")


def test_random_masking_is_the_loss_of_masked_texts_and_validation_draws_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = stage.step("bert")
    step.training = False
    seen: list[Tensor] = []
    run = step.network.run
    monkeypatch.setattr(step.network, "run", lambda batch, **given: seen.append(given["ids"]) or run(batch, **given))  # type: ignore[func-returns-value]
    found = [float(value(step, "random_masking", beta=0.9).detach()) for _ in range(2)]
    assert found[0] == found[1]
    masked = seen[0] != step.batch.ids
    assert masked.any()
    assert not masked[~step.batch.content].any()
    assert (seen[0][masked] == step.network.mask_id).all()
    assert step.figures["masked_share"] == pytest.approx(float(masked.sum() / step.batch.content.sum()))
    logits = run(step.batch, train=False, ids=seen[0]).logits.detach()
    assert found[0] == pytest.approx(float(torch.nn.functional.cross_entropy(logits, step.batch.labels)))
    step.training = True
    for _ in range(200):
        value(step, "random_masking", beta=0.5)
    share = (torch.stack(seen[2:]) != step.batch.ids)[:, step.batch.content].float().mean()
    assert share == pytest.approx(0.25, abs=0.05)  # half of beta


@pytest.mark.parametrize(("name", "architecture"), DIFFERENTIATED)
def test_the_gradient_of_a_term_is_that_of_finite_differences(name: str, architecture: str) -> None:
    step = stage.step(architecture)
    chosen = max(stage.parameters(step), key=lambda one: one.numel() if one.ndim == 2 else 0)
    (slopes,) = torch.autograd.grad(value(step, name), chosen)
    place = int(slopes.abs().argmax())
    width = 1e-5

    def moved(by: float) -> float:
        with torch.no_grad():
            chosen.view(-1)[place] += by
        found = float(value(replace(step, _memory={}), name).detach())
        with torch.no_grad():
            chosen.view(-1)[place] -= by
        return found

    difference = (moved(width) - moved(-width)) / (2 * width)
    assert float(slopes.view(-1)[place]) == pytest.approx(difference, rel=1e-2 if "modern" in architecture else 1e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_gradient_penalty_is_the_mean_of_each_examples_own_norm(architecture: str) -> None:
    step = stage.step(architecture)
    norms = []
    for number in range(len(step.batch.ids)):
        one = replace(step.batch, **{n: getattr(step.batch, n)[[number]] for n in ("ids", "types", "mask", "labels")})
        alone = Step(step.network, replace(one, content=step.batch.content[[number]]), training=False)
        norms.append(float(alone.loss_gradient.detach().norm()))
    assert float(value(step, "input_gradient_penalty").detach()) == pytest.approx(np.mean(norms), rel=1e-6)


def test_the_penalty_at_the_table_sums_the_norms_of_its_rows() -> None:
    step = stage.step()
    table = step.network.embedding_table
    (slopes,) = torch.autograd.grad(step.example_losses.mean(), table)
    expected = float(slopes.norm(dim=1).sum())
    assert float(value(stage.step(), "input_gradient_penalty", at="table").detach()) == pytest.approx(expected)


def test_rationale_terms_are_their_formulas() -> None:
    step = stage.step()
    batch = step.batch
    layers = [layer.detach().numpy() for layer in step.passed.attention]
    rows, targets, rolled, lengths = [], [], [], []
    for pair in range(2):  # the third text has no evidence
        example = int(batch.pair_example[pair])
        length = int(batch.mask[example].sum())
        attention = layers[-1][example].mean(0)[0, :length]
        sharp = np.exp(100 * attention - (100 * attention).max())
        rows.append(sharp / sharp.sum())
        product = np.eye(length)
        for layer in layers:
            mixed = layer[example].mean(0)[:length, :length] + np.eye(length)
            product = mixed / mixed.sum(1, keepdims=True) @ product
        rolled.append(product[0])
        evidence = batch.evidence[pair, :length].numpy()
        targets.append(evidence / evidence.sum())
        lengths.append(length)
    for name, maps in (("rationale_attention", rows), ("rationale_rollout", rolled)):
        expected = sum(np.abs(a - t).sum() for a, t in zip(maps, targets, strict=True)) / sum(lengths)
        assert float(value(step, name).detach()) == pytest.approx(expected, rel=1e-6)
    kl = np.mean([np.sum(t[t > 0] * np.log(t[t > 0] / a[t > 0])) for a, t in zip(rolled, targets, strict=True)])
    assert float(value(step, "rationale_rollout", criterion="kl").detach()) == pytest.approx(kl, rel=1e-5)


def test_the_gradient_map_has_length_one_and_all_texts_count() -> None:
    step = stage.step()
    total = 0.0
    for number in range(3):
        logit = step.passed.logits[number, step.batch.labels[number]]
        (slope,) = torch.autograd.grad(logit, step.passed.embeddings, retain_graph=True)
        product = (slope[number] * step.passed.embeddings[number]).sum(-1).detach() * step.batch.mask[number]
        total += float((product.abs() / product.norm() - step.batch.evidence[number]).abs().sum())
    expected = total / float(step.batch.mask.sum())
    assert float(value(step, "rationale_gradient").detach()) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (3, 1, 4, 0, 2)])
def test_supervision_puts_evidence_on_its_own_label_whatever_the_order_of_labels(order: tuple[int, ...]) -> None:
    step = stage.step("plm_ca")
    batch = step.batch
    shuffled = torch.tensor([order.index(int(label)) for label in batch.pair_label])
    renamed = replace(step, batch=replace(batch, pair_label=shuffled), _memory={})
    term = value(renamed, "attention_supervision")
    queries = next(p for n, p in step.network.model.named_parameters() if n == "decoder.queries.weight")  # type: ignore[attr-defined]
    (slopes,) = torch.autograd.grad(term, queries)
    before = renamed.pair_attention().detach()
    with torch.no_grad():
        queries -= 1e-3 * slopes / slopes.norm()
    after = replace(renamed, _memory={}).pair_attention().detach()
    with torch.no_grad():
        queries += 1e-3 * slopes / slopes.norm()
    evidence = batch.evidence > 0
    marked = evidence.any(-1)
    assert float((after - before)[marked][evidence[marked]].sum()) > 0
    touched = slopes.abs().sum(-1) > 0
    assert set(torch.nonzero(touched)[:, 0].tolist()) == set(shuffled[marked].tolist())
    attention = before[marked] / 1.0
    share = batch.evidence[marked] / batch.evidence[marked].sum(-1, keepdim=True)
    expected = (torch.xlogy(share, share) - share * attention.log().nan_to_num(neginf=0.0)).sum(-1).mean()
    assert float(term.detach()) == pytest.approx(float(expected), rel=1e-6)
    assert not before[~batch.mask[batch.pair_example]].any()


def test_a_batch_without_evidence_adds_nothing() -> None:
    step = stage.step()
    bare = replace(step, batch=replace(step.batch, evidence=torch.zeros_like(step.batch.evidence)), _memory={})
    for name in ("attention_supervision", "rationale_attention", "rationale_rollout"):
        assert float(value(bare, name).detach()) == 0.0


@dataclass
class Counting:
    """A network in which one known word decides: its logit is high while that word is there."""

    key: int = 7
    mask_id: int = 4
    runs: int = 0

    @property
    def embedding_table(self) -> Tensor:
        return torch.eye(40, requires_grad=True)

    def run(  # a network's signature
        self,
        batch: TrainingBatch,
        *,
        train: bool,  # noqa: ARG002
        ids: Any = None,
        change: Any = None,
        attention: bool = False,  # noqa: ARG002
    ) -> Pass:
        self.runs += 1
        embeddings = self.embedding_table[batch.ids if ids is None else ids]
        embeddings = embeddings if change is None else change(embeddings)
        present = embeddings[..., self.key].sum(-1)
        return Pass(torch.stack([-present, 8 * present - 4], dim=-1), embeddings, torch.arange(len(batch.ids)))

    def to_rows(self, batch: TrainingBatch, tokens: Tensor) -> Tensor:  # noqa: ARG002
        return tokens


def test_masking_leaves_the_words_that_decide_and_masks_the_rest() -> None:
    batch = stage.batch()
    ids = batch.ids.where(batch.ids != 7, 8)
    ids[:, 2] = 7
    step = Step(Counting(), replace(batch, ids=ids, labels=torch.ones(3, dtype=torch.long)))
    masked = find_mask(step, beta=1.0, steps=200, rate=0.3)
    assert not masked[:, 2].any()
    others = batch.content.clone()
    others[:, 2] = False
    assert bool(masked[others].all())
    assert not bool(masked[~batch.content].any())
    assert step.figures["mask_steps"] < 200


def test_a_step_runs_the_batch_once_for_all_terms() -> None:
    network = Counting()
    step = Step(network, stage.batch())
    for name in ("classification", "input_gradient_penalty", "rationale_gradient"):
        value(step, name)
    assert network.runs == 1


def test_classification_is_the_mean_cross_entropy() -> None:
    step = stage.step()
    expected = torch.nn.functional.cross_entropy(step.passed.logits, step.batch.labels)
    assert float((value(step, "classification") - expected).detach()) == pytest.approx(0.0, abs=1e-12)
    several = stage.step("plm_ca")
    expected = torch.nn.functional.binary_cross_entropy_with_logits(
        several.passed.logits, several.batch.labels.double()
    )
    assert float((value(several, "classification") - expected).detach()) == pytest.approx(0.0, abs=1e-12)
