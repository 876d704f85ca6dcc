"""Several inputs through one network in one batch, where gradients are wanted.

A view of a gradient knows the row that it is of, and the network that reads it. Views of one network are answered
together: rows of different texts, windows and targets share a pass, as the engine does for rows without a gradient.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

if TYPE_CHECKING:
    from whylight.views.gradient import GradientView

Asked = tuple[Any, Tensor]
"""A row, as its network knows it, and points to be put in place of its word embeddings, `[batch, positions, dims]`."""


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """A network that answers for several rows at once.

    Attributes:
        answer: Scores `[batch, targets]` of each row's points, differentiable by them.
        room: How many positions a batch may hold, padding included; 0 if rows must not share one.
    """

    answer: Callable[[Sequence[Asked]], list[Tensor]]
    room: Callable[[Sequence[int]], int]


def fits(views: Sequence["GradientView"], rows: int) -> bool:
    """Say whether some views, so many points of each, may go through their network in one batch."""
    joint = _shared(views)
    lengths = [len(view.inputs) for view in views]
    return len(views) == 1 or (joint is not None and rows * len(views) * max(lengths) <= joint.room(lengths))


def answers_together(views: Sequence["GradientView"], points: Sequence[Tensor]) -> list[Tensor]:
    """Return `view.answers(points)` of each view; in one pass if they are of one network and may share a batch."""
    joint = _shared(views)
    if len(views) == 1 or joint is None or not joint.room([len(view.inputs) for view in views]):
        return [view.answers(own) for view, own in zip(views, points, strict=True)]
    for view, own in zip(views, points, strict=True):
        view.meter.forward += len(own)
    return joint.answer([(view.row, own) for view, own in zip(views, points, strict=True)])


def _shared(views: Sequence["GradientView"]) -> Joint | None:
    """Return the network that answers for all of some views, if there is one."""
    joint = views[0].joint
    return joint if all(view.joint is joint for view in views) else None
