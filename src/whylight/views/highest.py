"""The score of whichever label is highest, as a view: what a model says, and not what it says of one label."""

from torch import Tensor

from whylight.core.errors import IncompatibleError
from whylight.views.gradient import GradientView


class HighestView(GradientView):
    """A row whose one target is the highest of all labels' scores, at each point anew.

    Args:
        view: A view of the row, for whatever targets.
    """

    def __init__(self, view: GradientView) -> None:
        if view.all_labels is None:
            raise IncompatibleError("this model does not show the scores of labels that were not asked for.")
        self._every = view.all_labels()
        super().__init__(
            self.answers,
            self._every.inputs,
            baselines=self._every.baselines,
            positions=self._every.positions,
            row_limit=self._every.row_limit,
            meter=self._every.meter,
        )

    def answers(self, points: Tensor) -> Tensor:
        """Return the scores `[batch, 1]` of points; the view of all labels counts the rows."""
        return self._every.answers(points).amax(dim=1, keepdim=True)
