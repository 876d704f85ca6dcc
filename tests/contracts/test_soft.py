"""A soft game is the game of its remover at masks of 0 and 1, and differentiable between them."""

from typing import Any

import numpy as np
import pytest
import torch

import quick
import tiny
from whylight.core.encoded import Encoded
from whylight.core.errors import IncompatibleError
from whylight.perturb.binding import bound
from whylight.views.classifier import Request, game_of
from whylight.views.joint import answers_together, fits
from whylight.views.soft import SoftGame

BOTH = [
    (architecture, remover)
    for architecture in tiny.EVERY
    for remover in quick.removers(architecture)
    if remover != "delete"
]
LONG = "The acting was good, but the plot drags! " * 9


def soft_of(clf: Any, encoded: Encoded, remover: str) -> tuple[SoftGame, Request]:
    request = Request(quick.request(clf).targets, "logit", removal=bound(remover))
    segments = [encoded.segment(number)[0] for number in range(len(encoded.windows))]
    views = [clf.offers[SoftGame](segment, request) for segment in segments]
    return (views[0] if len(views) == 1 else SoftGame.together(views, encoded)), request


@pytest.mark.parametrize(("architecture", "remover"), BOTH)
@pytest.mark.parametrize("text", [quick.TEXT, LONG], ids=["short", "long"])
def test_at_zero_and_one_it_is_the_game(architecture: str, remover: str, text: str) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, text)
    soft, request = soft_of(clf, encoded, remover)
    keep = np.random.default_rng(0).random((4, encoded.n_features)) < 0.5
    keep[0], keep[1] = True, False
    hard = game_of(clf, encoded, request)(keep)
    with torch.no_grad():
        found = soft(torch.as_tensor(keep, dtype=torch.float32)).double().numpy()
    np.testing.assert_allclose(found, hard, atol=1e-5 * np.abs(hard).max())


@pytest.mark.parametrize("architecture", tiny.EVERY)
@pytest.mark.parametrize("text", [quick.TEXT, LONG], ids=["short", "long"])
def test_between_them_it_has_the_slope_of_its_differences(architecture: str, text: str) -> None:
    clf = quick.classifier(architecture)
    encoded = quick.encode(clf, text)
    soft, _ = soft_of(clf, encoded, clf.removers[0])
    mask = torch.full((1, encoded.n_features), 0.6, requires_grad=True)
    (slope,) = torch.autograd.grad(soft(mask)[0, 0], mask)
    direction = slope / slope.norm()
    estimates = []
    for width in (2e-2, 1e-2):
        with torch.no_grad():
            ahead, behind = (float(soft(mask + side * width * direction)[0, 0]) for side in (1, -1))
        estimates.append((ahead - behind) / (2 * width))
    assert (4 * estimates[1] - estimates[0]) / 3 == pytest.approx(float(slope.norm()), rel=0.05)


def test_what_has_no_soft_form_is_refused_by_name() -> None:
    clf = quick.classifier("bert")
    soft, _ = soft_of(clf, quick.encode(clf, quick.TEXT), "delete")
    with pytest.raises(IncompatibleError, match="no soft form of 'delete' for this model; use mask"):
        soft(torch.ones(1, soft.n_features))
    assert soft(torch.ones(1, soft.n_features), background="pad").shape == (1, 2)


def test_features_know_how_far_they_are_from_each_other() -> None:
    clf = quick.classifier("bert")
    soft, _ = soft_of(clf, quick.encode(clf, "good plot", "bad film"), "mask")
    distances = np.abs(soft.positions - soft.positions.T)
    assert distances[0, 1] == 1
    assert distances[0, 2] > 1e5  # another text


SEVERAL = ("good plot but dull ending", "bad", quick.TEXT)


@pytest.mark.parametrize("architecture", tiny.EVERY)
def test_views_of_several_texts_together_say_what_each_says_alone(architecture: str) -> None:
    """Scores and gradients, of rows that differ in length, whether or not the model lets them share a batch."""
    clf = quick.classifier(architecture)
    games = [soft_of(clf, quick.encode(clf, text), clf.removers[0])[0] for text in SEVERAL]
    masks = [torch.full((2, game.n_features), 0.6, requires_grad=True) for game in games]
    points = [game.points(mask) for game, mask in zip(games, masks, strict=True)]
    together = answers_together([game.view for game in games], points)
    gradients = torch.autograd.grad(sum(scores[0, 0] for scores in together), masks)
    for game, mask, scores, slope in zip(games, masks, together, gradients, strict=True):
        alone = game(mask)
        assert torch.allclose(scores, alone, rtol=1e-4, atol=1e-5)
        (own,) = torch.autograd.grad(alone[0, 0], mask)
        assert torch.allclose(slope, own, rtol=1e-3, atol=1e-5 * float(own.abs().max()) + 1e-6)


def test_a_network_that_minds_padding_answers_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = tiny.classifier("bert")
    views = [soft_of(clf, quick.encode(clf, text), "mask")[0].view for text in SEVERAL]
    assert fits(views, 2)
    for company, alike in (("none", False), ("alike", True)):
        monkeypatch.setattr(type(clf), "company", company)
        assert not fits(views, 2)
        assert fits([views[0], views[0]], 2) == alike
