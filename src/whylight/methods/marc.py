"""MaRC: the mask that keeps the class, leaves nothing of it behind, and is sparse and smooth; found by optimisation.

    lambda_j = sigmoid( sum over i of  w_i exp(-d(i, j)^2 / sigma_i) )                        how far j is present
    loss = - s(x~) - log(1 - exp s(x~c)) + a (mean of lambda)^2 - b mean of log sigma         a, b: weights
           + c (mean over pixels of the squared differences to their neighbours)              pictures only

x~ keeps the share lambda of each feature over a background, x~c the rest of it; s is the log-likelihood of the target
(`--score log_sigmoid` for what speaks for a class whatever speaks for others, `log_mixture` for both). Every feature
has a weight w and a width sigma: wide ones pull their neighbours along, so that marked features come in spans. In each
step noise is added, and some features are set to 0 or to 1. The score of a feature is its lambda when the mask has
settled.

Equation 8 of the paper adds log p(x~c), which has no lower bound and so ends in a complement that is only ever more
unlike the class; `complement="log"` is that form, the default is the published code's. `kernel="sigma_squared"` is the
published text code's, in which the same start is wider. The paper's noise of 0.03 is added to what BERT's embedding
module gives out; here it is added to word embeddings, so that the model adds positions once, and is a share of their
spread: 0.06 of it, about what 0.03 is of that. Words are flipped whole, and have one w and one sigma over all pieces.
Numbers that are not given are those of a preset: `text`, or of pictures `cnn` and `vit` (in print the signs of
equation 9 are turned round; they are those of equation 8). `auto` takes `text` for texts and `cnn` for pictures. The
loss of a picture is averaged over several backgrounds (`cnn`: white, black and mean; `vit`: blur, by 10 pixels where
theirs is by 20 in pictures of 384), and the authors score `cnn` by `log_mixture`. Pixels pull at each other within 20
pixels; the published code repeats those of the border beyond it. Regions of any shape have no neighbours: `neighbours`
is 0 there.

Each window of a long text has an objective of its own; windows and texts are optimised in common batches, which those
that have settled leave. A mask settles when its mean hardly moves between two checks, by the published rule.
`pace=10` takes steps ten times as long, and a tenth as many: it reaches the objective at which the paper's pace settles
about ten times sooner, by a way of its own; with `pace=3` masks differ about as much as those of two seeds do.
Reference: Brinner and Zarriess 2023. Cost: 2 forward and 2 backward passes per target and step, at most `steps` steps,
and one forward pass.
"""

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import torch

from whylight.core import progress
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.methods._masking import Asked, Complement, Kernel, Mask, Preset
from whylight.views.joint import answers_together, fits
from whylight.views.soft import SoftGame

SHOWN = ("sparsity", "smoothness", "neighbours", "noise", "flips", "steps")
"""Numbers of a preset that are settings, too."""


@method(
    cite="brinner2023",
    signed=False,
    cost="≤ 1,801 forward, 1,800 backward",
    good_for="few, connected spans such as people mark, where time is no matter",
    scores=("log_probability", "log_sigmoid", "log_mixture"),
    alone=True,
)
def marc(  # noqa: PLR0913  the weights and numbers of an optimisation, each with its default
    games: Sequence[SoftGame],
    *,
    preset: Preset = "auto",
    sparsity: float | None = None,
    smoothness: float | None = None,
    neighbours: float | None = None,
    complement: Complement = "log_one_minus",
    noise: float | None = None,
    flips: float | None = None,
    kernel: Kernel = "sigma",
    background: str | None = None,
    steps: int | None = None,
    rate: float = 0.03,
    check_every: int = 50,
    tolerance: float = 0.005,
    pace: float = 1.0,
    seed: int = 0,
) -> list[Scores]:
    """Optimise a mask that keeps what the class needs, and leaves nothing of it in the rest."""
    given = {"sparsity": sparsity, "smoothness": smoothness, "neighbours": neighbours}
    asked = Asked(
        preset=preset,
        given={**given, "noise": noise, "flips": flips, "steps": steps},
        background=background,
        complement=complement,
        kernel=kernel,
        rate=rate,
        check_every=check_every,
        tolerance=tolerance,
        pace=pace,
        seed=seed,
    )
    masks = [masks_of(game, asked) for game in games]
    interrupted = _optimise([mask for own in masks for mask in own])
    return [_found_masks(own, asked, interrupted=interrupted) for own in masks]


def masks_of(game: SoftGame, asked: Asked) -> list[Mask]:
    """Return a mask for each target of a game, before the first step."""
    n_targets = len(game.view.score(game.view.inputs))
    return [Mask(game, target, asked) for target in range(n_targets)]


def _optimise(masks: Sequence[Mask]) -> bool:
    """Optimise masks, as many at a time as fit into a batch, the longest first; say whether Ctrl-C ended it early."""
    waiting = sorted(masks, key=lambda mask: -len(mask.game.view.inputs))[::-1]  # the next one is the last
    progress.expect(sum(mask.rows * mask.most_steps for mask in masks))
    active: list[Mask] = []
    try:
        while waiting or active:
            while waiting and fits([mask.game.view for mask in (*active, waiting[-1])], waiting[-1].rows):
                active.append(waiting.pop())
            take_step(active)
            for mask in active:
                if mask.settled:
                    progress.expect(-mask.rows * (mask.most_steps - mask.done))
            active = [mask for mask in active if not mask.settled and mask.done < mask.most_steps]
    except KeyboardInterrupt:
        return True
    return False


def take_step(masks: Sequence[Mask]) -> None:
    """Take one step with every mask; one pass of the network, forward and backward, serves all of them."""
    with torch.enable_grad():
        values = [mask.values() for mask in masks]
        points = [mask.points(own) for mask, own in zip(masks, values, strict=True)]
        scores = answers_together([mask.game.view for mask in masks], points)
        losses = [
            mask.loss(own, answer[:, mask.target]) for mask, own, answer in zip(masks, values, scores, strict=True)
        ]
        torch.autograd.backward(losses)
    for mask in masks:
        mask.step()
    progress.tell("loss", float(torch.stack(losses).detach().mean()))
    progress.advance(sum(mask.rows for mask in masks))


def _found_masks(masks: Sequence[Mask], asked: Asked, *, interrupted: bool) -> Scores:
    """Return the masks of a game, one row per target."""
    with torch.no_grad():
        values = np.stack([mask.values().detach().double().cpu().numpy() for mask in masks])
    restless = [mask for mask in masks if not mask.settled]
    stopped = interrupted and bool(restless)
    done = min((mask.done for mask in restless), default=0)
    notes = []
    if stopped:
        notes.append(f"interrupted after {done} steps: the mask had not settled")
    elif restless:
        notes.append(f"the mask had not settled after {done} steps")
    numbers = asdict(masks[0].numbers)
    resolved = {name: numbers[name] for name in SHOWN}
    resolved |= {"background": ",".join(masks[0].backgrounds), "preset": asked.preset_of(masks[0].game)}
    return Scores(values, notes=tuple(notes), resolved=resolved, interrupted=stopped)
