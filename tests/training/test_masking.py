"""How the weight of a prediction is chosen when needless tokens are masked."""

from dataclasses import dataclass
from typing import Any

import pytest
import stage
import torch
from torch import Tensor

from whylight.training import masking
from whylight.training.masking import BETAS, POINT, Trial, beta_receipt, choose_beta
from whylight.training.recipe import make_recipe
from whylight.views.step import Pass, TrainingBatch

LABELS = 50


@dataclass
class Faint:
    """A network whose labels hang on one faint word: a small beta would rather mask it.

    The word moves each probability by `strength` at the most, so that masking it pays off while beta is small.
    """

    strength: float
    key: int = 7
    mask_id: int = 4

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
        embeddings = self.embedding_table[batch.ids if ids is None else ids]
        embeddings = embeddings if change is None else change(embeddings)
        present = embeddings[..., self.key].sum(-1, keepdim=True)
        logits = self.strength * (present - 0.5) * (2 * batch.labels - 1)
        return Pass(logits, embeddings, torch.arange(len(batch.ids)))

    def to_rows(self, batch: TrainingBatch, tokens: Tensor) -> Tensor:  # noqa: ARG002
        return tokens


def chosen(network: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[float, list[Trial]]:
    batch = stage.batch(labels=LABELS, multi_label=True)
    ids = batch.ids.where(batch.ids != 7, 8)
    ids[:, 2] = 7
    monkeypatch.setattr(masking, "batch_of", lambda one: one)
    asked = make_recipe(["token_masking"], numbers={}, settings={})
    few: Any = [type(batch)(ids, *(getattr(batch, n) for n in batch.__dataclass_fields__ if n != "ids"))]
    return choose_beta(network, few, asked)


def test_the_search_goes_up_to_the_beta_at_which_masked_texts_keep_their_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beta, trials = chosen(Faint(strength=0.004), monkeypatch)
    assert beta > 1.0
    assert [one.beta for one in trials] == list(BETAS[: len(trials)])
    assert trials[-1].beta == beta
    assert trials[-1].cost <= POINT < trials[-2].cost
    assert all(not one.harmless for one in trials[:-1])
    assert beta_receipt(beta, trials)["betas_tried"][-1]["harmless"]  # type: ignore[index, call-overload]


def test_an_easy_model_is_not_searched_further_than_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    beta, trials = chosen(Faint(strength=20.0), monkeypatch)
    assert (beta, len(trials)) == (BETAS[0], 1)
    assert "notes" not in beta_receipt(beta, trials)


def test_that_no_beta_keeps_the_labels_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    beta, trials = chosen(Faint(strength=1e-7), monkeypatch)
    assert [one.beta for one in trials] == list(BETAS)
    assert beta == min(trials, key=lambda one: one.cost).beta
    (note,) = beta_receipt(beta, trials)["notes"]  # type: ignore[misc, union-attr]
    assert f"at no beta up to {BETAS[-1]:g}" in str(note)


def test_of_many_labels_those_that_no_text_has_do_not_hide_what_masking_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    _, trials = chosen(Faint(strength=1e-7), monkeypatch)
    assert trials[0].whole == 1.0
    assert trials[0].cost > 0.5  # two of fifty labels a text: as a share of right labels it could be 0.04
