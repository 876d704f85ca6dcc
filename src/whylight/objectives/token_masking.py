"""Token masking (TM): predict the same with all but the needed tokens masked.

    m = argmin  mean(m) + beta ||p(X * m) - p(X)||_1 / number of predicted labels         (inner, on the student)
    L = mean over examples of  ||p_student(X) - p_teacher(X)||_1 + weight ||p_student(X) - p_student(X_m)||_1

m is one value in [0, 1] for each token of a word, sigmoid of a value that starts at 2; X * m blends each word
embedding with that of the mask token. It is found by Adam until it has converged, and rounded: X_m has the mask token
wherever m is below one half. `beta=validation` tries 0.1, 0.5, 1, 5, 25, ... on the validation texts before training,
and takes the first at which masked texts are classified as well as whole ones, up to a point of accuracy (of micro-F1
where a text may have several labels). The teacher is the model that training started from, frozen; it replaces the
labels.

The published code stops when the loss is within 3 % of that of two steps before, at which point every m is still above
one half and nothing is masked; it weighs by the plain sum of changes with beta 0.01 (`published=True`), stops the
gradient of p_student(X) in the second part, and replaces special tokens in the inner search.
Reference: Edin et al. 2024, equations 6-8. Cost: `steps` passes with a backward, and two more passes.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from whylight.core.errors import SettingError
from whylight.core.registry import objective
from whylight.views.step import Pass, Step, probabilities

START = 2.0
"""Value before the sigmoid at which every token is kept."""
HALF = 0.5
CALM = 1e-3
"""The search has converged when the loss has fallen by less than this, relatively, ..."""
PATIENCE = 5
"""... over so many steps."""


@objective(cite="edin2024", needs=("teacher",), classifies=True)
def token_masking(
    step: Step,
    *,
    beta: float | Literal["validation"] = "validation",
    weight: float = 0.5,
    steps: int = 60,
    rate: float = 0.3,
    published: bool = False,
) -> Tensor:
    """Match a frozen teacher, and stay the same when needless tokens are masked."""
    if step.teacher is None:
        raise SettingError("token masking needs a teacher: the model that training starts from.")
    if beta == "validation":
        raise SettingError("the setting 'beta' is chosen on validation texts by whoever trains; give a number here.")
    multi_label = step.batch.multi_label
    with torch.no_grad():
        taught = probabilities(step.teacher.run(step.batch, train=False).logits, multi_label=multi_label)
    masked = find_mask(step, beta=beta, steps=steps, rate=rate, published=published)
    ids = step.batch.ids.masked_fill(masked, step.network.mask_id)
    whole = probabilities(step.passed.logits, multi_label=multi_label)
    part = probabilities(step.network.run(step.batch, train=step.training, ids=ids).logits, multi_label=multi_label)
    step.figures["masked_share"] = float(masked.sum() / step.batch.content.sum().clamp(min=1))
    anchor = whole.detach() if published else whole
    return ((whole - taught).abs().sum(-1) + weight * (anchor - part).abs().sum(-1)).mean()


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What stays the same while a mask is looked for."""

    step: Step
    wanted: Tensor
    predicted: Tensor  # number of labels that the student predicts for each example
    nothing: Tensor  # embedding of the mask token
    beta: float
    published: bool

    def loss(self, logits: Tensor) -> Tensor:
        """Return the mean of the mask plus how far the prediction moves, averaged over examples."""
        content = self.step.batch.content
        kept = torch.where(content, logits.sigmoid(), 0.0)
        sizes = kept.sum(-1) / content.sum(-1).clamp(min=1)
        change = (self._probabilities(logits) - self.wanted).abs().sum(-1)
        return (sizes + self.beta * (change if self.published else change / self.predicted)).mean()

    def _probabilities(self, logits: Tensor) -> Tensor:
        kept = torch.where(self.step.batch.content, logits.sigmoid(), 1.0)
        rows = self.step.network.to_rows(self.step.batch, kept)[..., None]
        passed: Pass = self.step.network.run(
            self.step.batch,
            train=False,
            change=lambda embeddings: rows * embeddings.detach() + (1 - rows) * self.nothing,
        )
        return probabilities(passed.logits, multi_label=self.step.batch.multi_label)


def find_mask(step: Step, *, beta: float, steps: int, rate: float, published: bool = False) -> Tensor:
    """Return the tokens that the student can do without, `[examples, tokens]`.

    Examples do not depend on each other: the loss is a mean over them, and each has its own mask.
    """
    with torch.no_grad():
        wanted = probabilities(step.network.run(step.batch, train=False).logits, multi_label=step.batch.multi_label)
    predicted = (wanted > HALF).sum(-1).clamp(min=1) if step.batch.multi_label else torch.ones_like(wanted[:, 0])
    nothing = step.network.embedding_table[step.network.mask_id].detach()
    search = _Search(step, wanted, predicted, nothing, beta, published)
    logits = torch.full(step.batch.ids.shape, START, device=wanted.device, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=rate)
    losses: list[float] = []
    with torch.enable_grad():
        for _ in range(steps):
            loss = search.loss(logits)
            (logits.grad,) = torch.autograd.grad(loss, logits)
            optimiser.step()
            losses.append(float(loss.detach()))
            if len(losses) > PATIENCE and losses[-1 - PATIENCE] - losses[-1] < CALM * abs(losses[-1]):
                break
    step.figures["mask_steps"] = float(len(losses))
    return step.batch.content & (logits.detach() < 0.0)
