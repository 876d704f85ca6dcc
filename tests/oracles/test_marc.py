"""MaRC on games in which it is known what decides, and beside a loop that is written from the equations."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor
from torch.nn.functional import logsigmoid

import tiny
import whylight as wl
from whylight.core import progress
from whylight.core.arrays import Floats
from whylight.core.errors import SettingError
from whylight.explaining.explain import explain_all
from whylight.explaining.options import Options
from whylight.methods._masking import TEXT, Kernel
from whylight.methods.marc import marc
from whylight.models.load import load
from whylight.views.classifier import Classifier
from whylight.views.gradient import GradientView
from whylight.views.positions import Positions
from whylight.views.soft import SoftGame

N = 24


def game(logit: Callable[[Tensor], Tensor], n: int = N) -> SoftGame:
    """A game whose targets have logits by the presence of features, `[batch, n]` -> `[batch, targets]`."""
    view = GradientView(
        lambda points: logsigmoid(logit(points[..., 0]).double()),
        torch.ones(n, 1),
        baselines={"zero": torch.zeros(n, 1)},
        positions=Positions(torch.arange(n), n),
    )
    return SoftGame(view, remover="zero", positions=np.arange(n, dtype=float)[:, None])


def deciding(*features: int) -> Callable[[Tensor], Tensor]:
    """The class is there as far as these features are."""
    return lambda present: 12 * (present[:, list(features)].mean(1, keepdim=True) - 0.5)


def spans(values: Floats) -> list[tuple[int, int]]:
    """Stretches of features above a half, as first and last."""
    marked = np.flatnonzero(values > 0.5).tolist()
    starts = [one for one in marked if one - 1 not in marked]
    return [(start, next(i for i in range(start, len(values) + 1) if i not in marked) - 1) for start in starts]


@pytest.mark.parametrize("span", [range(5, 9), range(14, 20)])
def test_the_planted_span_is_found_exactly(span: range) -> None:
    found = marc([game(deciding(*span))])[0]
    assert spans(found.values[0]) == [(span[0], span[-1])]
    assert found.notes == ()
    assert (found.resolved["background"], found.resolved["preset"], found.resolved["steps"]) == ("zero", "text", 900)


def test_the_kernel_of_the_published_code_is_wider() -> None:
    (narrow,), (wide,) = (
        spans(marc([game(deciding(*range(5, 9)))], kernel=kernel)[0].values[0]) for kernel in get_args(Kernel)
    )
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize(("seeds", "least"), [(1, 1), pytest.param(10, 8, marks=pytest.mark.slow)])
def test_without_smoothness_there_are_more_and_shorter_spans(seeds: int, least: int) -> None:
    more = 0
    for seed in range(seeds):
        smooth, rough = (
            spans(marc([game(deciding(4, 7, 10, 13))], smoothness=weight, seed=seed)[0].values[0])
            for weight in (1.2, 0.0)
        )
        length = [np.mean([last - first + 1 for first, last in own]) for own in (smooth, rough)]
        more += len(rough) > len(smooth) and length[1] < length[0]
    assert more >= least


def test_a_faster_pace_finds_the_span_in_fewer_steps() -> None:
    subject = game(deciding(*range(5, 9)))
    found = marc([subject], pace=10)[0]
    ((first, last),) = spans(found.values[0])
    assert abs(first - 5) + abs(last - 8) <= 1
    assert subject.view.meter.backward <= 2 * 90


def by_hand(logit: Callable[[Tensor], Tensor], steps: int) -> Floats:
    """Equations 2 to 8 in a loop over features, without noise."""
    weight = torch.full((N,), TEXT.weight, requires_grad=True)
    sigma = torch.full((N,), TEXT.sigma, requires_grad=True)
    optimiser = torch.optim.Adam([weight, sigma], lr=0.03)

    def mask() -> Tensor:
        each = [sum(weight[i] * torch.exp(-((i - j) ** 2) / sigma[i]) for i in range(N)) for j in range(N)]
        return torch.stack([torch.sigmoid(torch.as_tensor(one)) for one in each])

    for _ in range(steps):
        values = mask()
        kept, rest = (torch.sigmoid(logit(one[None])[0, 0].double()) for one in (values, 1 - values))
        loss = -kept.log() - (1 - rest).log() + values.mean() ** 2 - 1.2 * sigma.log().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return mask().detach().numpy()


def test_it_is_what_the_equations_say() -> None:
    logit = deciding(3, 4, 9)
    found = marc([game(logit)], noise=0, flips=0, steps=12)[0]
    assert found.values[0] == pytest.approx(by_hand(logit, 12), abs=1e-5)
    assert "not settled after 12 steps" in found.notes[0]


def test_the_complement_of_the_equation_falls_further() -> None:
    """+log p has no lower bound: what is left of the class in the rest goes on falling."""

    def rest(complement: str) -> float:
        subject = game(deciding(*range(5, 9)))
        values = marc([subject], complement=complement, noise=0, flips=0, steps=300)[0].values  # type: ignore[arg-type]
        return float(subject(torch.as_tensor(1 - values, dtype=torch.float32))[0, 0])

    assert rest("log") < rest("log_one_minus") < rest("none")


def test_a_target_alone_or_among_others_is_the_same() -> None:
    first, second = deciding(2, 3), deciding(15, 16, 17)
    both = marc([game(lambda present: torch.cat([first(present), second(present)], 1))], steps=120)[0].values
    for number, one in enumerate((first, second)):
        assert both[number] == pytest.approx(marc([game(one)], steps=120)[0].values[0], abs=1e-6)


def test_sigma_stays_positive_whatever_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, crossed = list[Tensor](), list[bool]()
    clamp = torch.Tensor.clamp_

    def remembered(self: Tensor, *args: object, **options: float) -> Tensor:
        crossed.append(bool((self <= 0).any()))
        kept.append(clamp(self, *args, **options))  # type: ignore[arg-type]
        return kept[-1]

    monkeypatch.setattr(torch.Tensor, "clamp_", remembered)
    found = marc([game(deciding(1, 20))], smoothness=0.0, rate=1.0, steps=25)[0]
    assert np.isfinite(found.values).all()
    assert any(crossed)  # else nothing was to be prevented
    assert min(float(one.detach().min()) for one in kept) > 0


def test_numbers_that_mean_nothing_are_refused() -> None:
    wrong = {"sparsity": -1.0, "flips": 1.5, "steps": 0, "rate": 0.0, "pace": 0.0, "tolerance": -0.1}
    for setting in ({name: value} for name, value in wrong.items()):
        with pytest.raises(SettingError, match=next(iter(setting))):
            marc([game(deciding(1))], **setting)  # type: ignore[arg-type]


TEXTS = ("good plot but dull ending", "bad", "a gripping moving film though the ending drags", "dull and bad and long")


def masks(clf: Classifier, texts: Sequence[str], **settings: float) -> list[Floats]:
    found = explain_all(clf, texts, methods=["marc"], options=Options(target="all"), settings=settings, progress=False)
    return [one.scores for one in found]


def test_a_text_alone_or_in_a_batch_is_the_same() -> None:
    clf = load(tiny.model("bert").double(), tiny.tokenizer(tiny.style_of("bert")))
    together = masks(clf, TEXTS, steps=25)
    for text, scores in zip(TEXTS, together, strict=True):
        assert np.abs(masks(clf, [text], steps=25)[0] - scores).max() < 1e-3


@pytest.mark.slow
def test_a_text_alone_or_in_a_batch_is_the_same_on_the_bundled_model() -> None:
    clf = wl.load()
    texts = ("A gripping, moving film, though the ending drags.", "The jokes fall flat, and nobody laughs at them.")
    for text, scores in zip(texts, masks(clf, texts), strict=True):
        alone = masks(clf, [text])[0]
        for one, other in pairwise((*alone, *scores)[:: len(alone)]):
            assert spearmanr(one, other).statistic >= 0.99


class Interrupting:
    """Presses Ctrl-C after so many steps."""

    def __init__(self, after: int) -> None:
        self.left = after

    def expect(self, steps: int) -> None:
        pass

    def advance(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise KeyboardInterrupt


def test_ctrl_c_leaves_the_best_so_far_marked_as_interrupted() -> None:
    with progress.listening(Interrupting(after=40)):
        found = marc([game(deciding(3, 4))])[0]
    assert found.interrupted
    assert found.notes == ("interrupted after 20 steps: the mask had not settled",)
    assert found.values.argmax() in (3, 4)
