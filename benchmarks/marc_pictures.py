"""MaRC on a picture of 224 pixels: the pull between pixels beside its unfolded form, and memory.

The unfolded form is that of the published code: for every pixel, all weights and widths within 20 pixels of it are laid
out side by side, 1,681 numbers each, and torch keeps what it needs of them for the gradient. Both give the same mask
and the same gradient, which is checked, so that an objective is as low after as many steps.

Weights and widths are as far apart as those of a mask of EfficientNet-Lite0 that has settled; at first all pull at near
pixels alone, and a mask takes a tenth of the time.

Memory is what rises above the loaded model while masks of one picture and target take some steps on EfficientNet-Lite0:
six rows a step, forward and backward.
"""

import sys
from functools import cache
from pathlib import Path

import torch
from clock import Result, at_least, at_most, take_turns
from memory import in_fresh_process, peak_megabytes
from torch import Tensor
from torch.nn.functional import unfold

import whylight as wl
from whylight.methods._pull import RADIUS, grid_pull

SIDE, ROUNDS, STEPS, MOST = 224, 3, 3, 1024
"""Pixels of a side, turns, steps of MaRC whose memory is measured, and megabytes that they may take."""
SAME = 1e-4


def mask_of_pixels() -> list[Result]:
    """Time a mask and its gradient in both forms, and measure memory."""
    drawn = torch.rand((2, SIDE, SIDE), generator=torch.Generator().manual_seed(0))
    start = torch.stack([8 * drawn[0] - 6, 0.6 + 16 * drawn[1].square()])
    ours, theirs = (_gradients(pull, start) for pull in (grid_pull, unfolded))
    apart = max(float((one - other).abs().max() / other.abs().max()) for one, other in zip(ours, theirs, strict=True))
    if apart > SAME:
        raise AssertionError(f"the two forms differ by {apart:.2g}")
    turns = take_turns([lambda: _gradients(grid_pull, start), lambda: _gradients(unfolded, start)], rounds=ROUNDS)
    detail = f"{turns.median(0):.2f} s and {turns.median(1):.2f} s; masks and gradients differ by {apart:.0e}"
    own, unfolding, model = (in_fresh_process("marc_pictures", one) for one in ("marc", "unfolded", "model"))
    memory = f"the model's own pass of six rows takes {model:,.0f} MB of them; one unfolded mask {unfolding:,.0f} MB"
    return [
        at_least("a mask of 224 x 224 pixels, beside unfolding", turns.ratio(1, 0), 3.0, detail=detail),
        at_most("memory of MaRC at 224 pixels, MB", own, MOST, memory),
    ]


def unfolded(weight: Tensor, width: Tensor, *, radius: int = RADIUS) -> Tensor:
    """Return the pull at each pixel, with everything around it laid out."""
    size = 2 * radius + 1
    around = [unfold(one[None, None], size, padding=radius) for one in (weight, torch.ones_like(width), width)]
    steps = torch.arange(-radius, radius + 1, dtype=weight.dtype).square()
    squares = (steps[:, None] + steps[None]).reshape(1, -1, 1)
    given = around[0] * (-squares / torch.where(around[1] > 0, around[2], 1.0)).exp()
    return given.sum(1).reshape(weight.shape)


def _gradients(pull: object, start: Tensor) -> list[Tensor]:
    weight, width = (one.clone().requires_grad_() for one in start)
    made = pull(weight, width)  # type: ignore[operator]
    torch.sigmoid(made).square().mean().backward()
    return [made.detach(), weight.grad, width.grad]  # type: ignore[list-item]


@cache
def _lite0() -> object:
    sys.path.insert(0, str(Path(__file__).parents[1] / "findings"))
    import lite0  # noqa: PLC0415  with its weights

    return lite0.classifier()


def _work(what: str) -> float:
    """Return the megabytes that a piece of work takes."""
    if what == "unfolded":
        start = torch.rand((2, SIDE, SIDE)) + 0.5
        return peak_megabytes(lambda: _gradients(unfolded, start))
    classifier = _lite0()
    if what == "model":
        values = torch.rand(6, 3, SIDE, SIDE, requires_grad=True)
        return peak_megabytes(lambda: classifier.model(values).sum().backward())  # type: ignore[attr-defined]
    picture = wl.image((torch.rand(SIDE, SIDE, 3) * 255).byte().numpy())
    asked = {"method": "marc", "target": 0, "score": "log_mixture", "progress": False}
    wl.explain(classifier, picture, steps=1, **asked)  # what works is tried before, and not measured
    return peak_megabytes(lambda: wl.explain(classifier, picture, steps=STEPS, **asked))


if __name__ == "__main__":
    print(_work(sys.argv[1]))
