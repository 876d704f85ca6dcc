"""The loss of AML: a masked text is answered as the text is, an inversely masked one is not, and little is kept.

    L     = w_p L_p + w_inv L_inv + w_a L_a
    L_p   = -sum over classes j of y_j log F(x')_j             x'  = the text under the map a
    L_inv = -log(1 - F(x'')_y)                                 x'' = the text under 1 - a; y the class explained
    L_a   = -1/k sum over the k tokens of log(1 - a_i)

Alternatives that the paper tried: L_inv = F(x'')_y, or the negative entropy of F(x''); L_a = the mean of a (L1).

Reference: Barkan et al. 2024, equations 2 to 7. Cost: two forward passes of the model, and their backward passes.

The published code differs: it averages L_a over all positions of a padded batch, special tokens counted as 0; here
`published` divides by the positions of the row, which is what it does without padding. It adds 1e-30 inside the
logarithm of L_inv; here log(1 - p) is the log-sum of the other classes, which needs no such number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from whylight.views.attributed import AttributedView, Told
from whylight.views.attributor import Attributor, DualMask, InverseForm, Reading, SparsityForm
from whylight.views.joint import answers_together


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One target of one text.

    Attributes:
        view: The text.
        number: Which of its targets.
        told: What is said about it.
        reading: The text as the fitted network reads it.
    """

    view: AttributedView
    number: int
    told: Told
    reading: Reading


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The three terms of each item, `[items]` each."""

    prediction: Tensor
    inverse: Tensor
    sparsity: Tensor

    def total(self, mask: DualMask) -> Tensor:
        """Return their weighted sum, `[items]`."""
        weighted = mask.prediction * self.prediction + mask.inverse * self.inverse
        return weighted + mask.sparsity * self.sparsity


def items_of(view: AttributedView, network: Attributor) -> list[Item]:
    """Return the targets of a text, ready to be mapped."""
    reading = network.read(view)
    return [Item(view, number, view.told(number), reading) for number in range(len(view.columns))]


def classes_of(items: Sequence[Item], device: torch.device | None = None) -> Tensor:
    """Return what the network is told about items, `[items, labels]`."""
    rows = [torch.as_tensor(item.told.classes, dtype=torch.float32, device=device) for item in items]
    return torch.stack(rows)


def terms_of(items: Sequence[Item], maps: Sequence[Tensor], network: Attributor) -> Terms:
    """Compute the terms of maps `[positions]`, differentiable by them."""
    points = [item.view.points(torch.stack([own, 1 - own]), network) for item, own in zip(items, maps, strict=True)]
    answers = answers_together([item.view.soft for item in items], points)
    prediction, inverse, sparsity = [], [], []
    for item, own, logits in zip(items, maps, answers, strict=True):
        kept, removed = item.view.log_probabilities(logits, item.number)
        y = torch.as_tensor(item.told.y, device=kept.device)
        prediction.append(prediction_term(kept, y))
        inverse.append(inverse_term(removed, item.told.label, network.mask.inverse_form))
        content = torch.as_tensor(item.view.content, device=own.device)
        real = sparsity_term(own[content], network.mask.sparsity_form)
        sparsity.append(real * (len(content) / len(own)) if network.mask.published else real)
    return Terms(torch.stack(prediction), torch.stack(inverse), torch.stack(sparsity))


def prediction_term(log_p: Tensor, y: Tensor) -> Tensor:
    """Return L_p: the cross-entropy of log-probabilities `[classes]` against a distribution `[classes]`."""
    return -(y * log_p).sum()


def inverse_term(log_p: Tensor, label: int, form: InverseForm) -> Tensor:
    """Return L_inv of log-probabilities `[classes]` and the class that is explained."""
    if form == "probability":
        return log_p[label].exp()
    if form == "entropy":
        return (log_p.exp() * log_p).sum()
    others = torch.arange(len(log_p), device=log_p.device) != label
    return -log_p[others].logsumexp(0)


def sparsity_term(values: Tensor, form: SparsityForm) -> Tensor:
    """Return L_a of a map over real tokens, `[tokens]`."""
    if form == "l1":
        return values.mean()
    return functional.binary_cross_entropy(values, torch.zeros_like(values))
