"""MaRC beside a straightforward transcription of the published loop, on a review of about 500 words.

The transcription does what the published code does, on the same objective (word embeddings, one kernel, one window):
one tensor per word for w and one for sigma, a model whose parameters take gradients too, one document at a time, the
same noise and flips. Both run by the published stop rule.

    python benchmarks/marc.py ways         runs both to their stop, and writes how the objective fell step by step

That takes minutes on a quiet machine, and does not depend on it: the steps that each needs until the noise-free
objective is what the transcription stops at are kept in `marc_ways.json`. `make bench` takes the first of these steps
again, and fails where the objective is another: what is kept is of the code that is timed. It then times steps of both
in turns; time until there is steps x seconds per step, and says so.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from clock import Result, at_least, for_orientation, take_turns
from subjects import bundled, embeddings_replaced, long_text
from torch import Tensor

from whylight.core.labels import Target
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.methods import marc as ours
from whylight.methods._masking import Asked
from whylight.models.encoder import TransformerClassifier
from whylight.perturb.binding import bound
from whylight.views.classifier import Request
from whylight.views.soft import SoftGame

WORDS, STEPS, ROUNDS, EVERY = 415, 3, 5, 5
"""Blank-separated words (with signs about 470 features, as many as fit into a window), steps per turn, turns, and steps
between two looks."""
WAYS = Path(__file__).with_name("marc_ways.json")
PACES = (1.0, 3.0, 10.0)
NOISE, FLIPS, RATE, MOST = 0.06, 0.05, 0.03, 900
SAME = 1e-3
"""Difference of objectives that is rounding."""


@dataclass(frozen=True)
class Subject:
    """A review in front of the bundled model."""

    classifier: TransformerClassifier
    game: SoftGame

    def objective(self, values: Tensor, sigma: Tensor) -> float:
        """Return the loss of a mask without noise."""
        with torch.no_grad():
            points = self.game.points(torch.stack([values, 1 - values]), background="pad")
            kept, rest = self.game.view.answers(points)[:, 0].double()
            size, width = values.mean().square(), sigma.log().mean()
            return float(-kept - (-torch.expm1(rest)).log() + size - 1.2 * width)


def subject() -> Subject:
    """Open the review; its one label is the predicted one."""
    classifier = bundled()
    case = open_case(classifier, Text(long_text(WORDS)))
    if len(case.encoded.windows) != 1:
        raise ValueError("the review must fit into one window")
    target = Target(case.prediction.index, case.prediction.label)
    request = Request((target,), "log_probability", removal=bound("pad"))
    return Subject(classifier, classifier.soft_game(case.encoded, request))


class Transcription:
    """The published loop.

    Args:
        one: The review.
    """

    def __init__(self, one: Subject) -> None:
        self.one, self.done, self.settled, self._last = one, 0, False, 1.0
        n = one.game.n_features
        self._weights = [torch.tensor([1.2], requires_grad=True) for _ in range(n)]
        self._sigmas = [torch.tensor([2.0], requires_grad=True) for _ in range(n)]
        self._optimiser = torch.optim.Adam([*self._weights, *self._sigmas], lr=RATE)
        self._generator = torch.Generator().manual_seed(0)
        view = one.game.view
        self._spread = NOISE * float(view.inputs[view.positions.content].std(correction=0))
        one.classifier.model.requires_grad_(True)  # noqa: FBT003  as it is published: nobody freezes the model

    def values(self) -> Tensor:
        """Return the mask, word by word."""
        n = len(self._weights)
        place = torch.arange(n, dtype=torch.float32)
        pulls = [self._weights[i] * torch.exp(-((place - i) ** 2) / self._sigmas[i]) for i in range(n)]
        return torch.sigmoid(torch.stack(pulls).sum(0))

    def sigma(self) -> Tensor:
        """Return the widths."""
        return torch.cat(self._sigmas)

    def step(self) -> None:
        """Take one step."""
        view, model = self.one.game.view, self.one.classifier.model
        values = self.values()
        drawn = torch.rand((2, len(values)), generator=self._generator) < FLIPS
        kept = torch.where(drawn[0] & ~drawn[1], torch.zeros(()), values)
        kept = torch.where(drawn[1] & ~drawn[0], torch.ones(()), kept)
        points = self.one.game.points(torch.stack([kept, 1 - kept]), background="pad")
        noise = torch.randn(points.shape, generator=self._generator)
        points = points + self._spread * noise * view.positions.content[:, None]
        rows, request = view.row
        ids = torch.as_tensor(rows.ids).repeat(2, 1)
        with embeddings_replaced(model, lambda _: points):
            logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        both = logits.double().log_softmax(-1)[:, request.columns[0]]
        loss = -both[0] - (-torch.expm1(both[1])).log() + values.mean() ** 2 - 1.2 * self.sigma().log().mean()
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        self.done += 1
        if self.done % 50 == 0:
            self._check()

    def _check(self) -> None:
        with torch.no_grad():
            mean = float(self.values().mean())
        change, self._last = abs(self._last - mean), mean
        small = change < (0.0125 if mean < 0.2 else 0.005)
        self.settled = small and (self.done >= 199 or mean < 0.3) and mean < 0.45


class Ours:
    """The method's own step, one at a time.

    Args:
        one: The review.
        pace: Its pace.
    """

    def __init__(self, one: Subject, pace: float) -> None:
        one.classifier.model.requires_grad_(False)  # noqa: FBT003  torch's own signature
        settings: dict[str, Any] = METHODS["marc"].complete_settings({"pace": pace, "background": "pad"})
        given = {name: settings.pop(name) for name in ours.SHOWN}
        (self.mask,) = ours.masks_of(one.game, Asked(given=given, **settings))

    @property
    def done(self) -> int:
        """Steps that were taken."""
        return self.mask.done

    @property
    def settled(self) -> bool:
        """Whether the mask has settled, or no step is left."""
        return self.mask.settled or self.mask.done >= self.mask.most_steps

    def values(self) -> Tensor:
        """Return the mask."""
        return self.mask.values()

    def sigma(self) -> Tensor:
        """Return the widths."""
        return self.mask.sigma

    def step(self) -> None:
        """Take one step."""
        ours.take_step([self.mask])


def _followed(one: Subject, work: Transcription | Ours) -> list[tuple[int, float]]:
    """Run to the stop; return the objective every few steps, and at the end."""
    found: list[tuple[int, float]] = []
    while not work.settled and work.done < MOST:
        work.step()
        if work.done % EVERY == 0 or work.settled:
            found.append((work.done, one.objective(work.values().detach(), work.sigma().detach())))
    return found


def write_ways() -> None:
    """Run both to their stop, and keep how the objective fell."""
    one = subject()
    found: dict[str, list[tuple[int, float]]] = {}
    for pace in reversed(PACES):
        found[f"pace {pace:g}"] = _followed(one, Ours(one, pace))
        WAYS.write_text(json.dumps(found), encoding="utf-8")
    found["transcription"] = _followed(one, Transcription(one))
    WAYS.write_text(json.dumps(found), encoding="utf-8")


def _check_ways(one: Subject, ways: dict[str, list[tuple[int, float]]]) -> None:
    """Refuse ways that are not of today's code."""
    for name, work in (("pace 10", Ours(one, 10.0)), ("transcription", Transcription(one))):
        for _ in range(EVERY):
            work.step()
        found = one.objective(work.values().detach(), work.sigma().detach())
        steps, kept = ways[name][0]
        if steps != EVERY or abs(found - kept) > SAME:
            raise ValueError(f"{WAYS.name} is not of this code ({name}: {found:.4f}, kept {kept:.4f}); make it anew")


def _until(way: list[tuple[int, float]], value: float) -> int:
    """Return the steps after which the objective is at most a value."""
    return next((steps for steps, found in way if found <= value), MOST)


def masks() -> list[Result]:
    """Time steps of both in turns; steps until the same objective are known."""
    ways = json.loads(WAYS.read_text(encoding="utf-8"))
    one = subject()
    _check_ways(one, ways)
    theirs, mine = Transcription(one), Ours(one, 1.0)

    def run(work: Transcription | Ours) -> None:
        one.classifier.model.requires_grad_(isinstance(work, Transcription))
        for _ in range(STEPS):
            work.step()

    turns = take_turns([lambda: run(theirs), lambda: run(mine)], rounds=ROUNDS)
    per_step = turns.ratio(0, 1)
    stop, value = ways["transcription"][-1]
    results = [for_orientation("MaRC, transcription / ours, per step", per_step, f"{one.game.n_features} words")]
    for pace in PACES:
        steps = _until(ways[f"pace {pace:g}"], value)
        detail = f"{stop} / {steps} steps to the same objective, x {per_step:.2f} per step"
        line = f"MaRC, transcription / ours at pace {pace:g}, time until the same objective"
        ratio = per_step * stop / steps
        results.append(at_least(line, ratio, 4, detail) if pace == PACES[-1] else for_orientation(line, ratio, detail))
    return results


if __name__ == "__main__":
    if sys.argv[1:] != ["ways"]:
        sys.exit("python benchmarks/marc.py ways")
    torch.set_num_threads(2)
    write_ways()
