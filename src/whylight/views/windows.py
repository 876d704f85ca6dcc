"""A text in several windows as one differentiable function: the mean of its windows' scores.

A token that stands in several windows has one place, so that its gradient is that of the document,

    d f / d x_i = 1/W  sum over windows w of  d f_w / d x_i,        f = 1/W sum over w of f_w,

and whatever a method makes of it (a norm, a maximum over pieces) it makes of the document's. Windows are looked at one
after the other, so that memory is that of one; a window that a point leaves as it is in the text is asked once.
"""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from whylight.core.encoded import Encoded
from whylight.views.gradient import GradientView, Level, Linearisation, Rule
from whylight.views.positions import Positions
from whylight.views.tokens import NO_FEATURE, TokenWindow, shared_layout


class WindowsGradientView(GradientView):
    """The windows of a text as one function of the word embeddings of its tokens; for scores that are logits.

    Args:
        windows: A view of each window alone.
        encoded: The text, whose windows they are.
    """

    def __init__(self, windows: Sequence[GradientView], encoded: Encoded) -> None:
        first = windows[0]
        rows = [window for window in encoded.windows if isinstance(window, TokenWindow)]
        places = shared_layout(rows)
        feature = np.full(1 + max(int(place.max()) for place in places), NO_FEATURE)
        for row, place in zip(rows, places, strict=True):
            feature[place] = row.feature
        self._windows = windows
        self._places = [torch.as_tensor(place, device=first.inputs.device) for place in places]
        self._score_as_it_is = cache(self._find_score)
        self._gradient_as_it_is = cache(self._find_gradient)
        super().__init__(
            self.answers,
            self._together([window.inputs for window in windows]),
            baselines={name: self._together([one.baselines[name] for one in windows]) for name in first.baselines},
            positions=Positions(
                torch.as_tensor(feature).to(first.inputs.device), encoded.n_features, first.positions.pieces
            ),
            row_limit=min(window.row_limit for window in windows),
            meter=first.meter,
            all_labels=None
            if first.all_labels is None
            else lambda: WindowsGradientView(_of_all_labels(windows), encoded),
        )

    def gradients(self, points: Tensor, *, rule: Rule = "exact") -> Tensor:
        """Return d score / d point, `[targets, batch, positions, dims]`, for points `[batch, positions, dims]`."""
        found: Tensor | None = None
        for number, place in enumerate(self._places):
            own = self._gradients_of(number, points[:, place], rule)
            if found is None:
                found = own.new_zeros(len(own), *points.shape)
            found.index_add_(2, place, own)
        if found is None:
            raise ValueError("a text has at least one window")
        return found / len(self._windows)

    def linearise(self, *, level: Level, rule: Rule = "frozen") -> Linearisation:
        """Differentiate the untouched text by its sources at a level."""
        found = [window.linearise(level=level, rule=rule) for window in self._windows]
        shares = found[0].shares.new_zeros(len(found[0].shares), len(self.inputs))
        for one, place in zip(found, self._places, strict=True):
            shares.index_add_(1, place, one.shares)
        rest, scores = (torch.stack([getattr(one, name) for one in found]).mean(0) for name in ("rest", "scores"))
        return Linearisation(shares / len(found), rest, scores)

    def window(self, number: int) -> "WindowGradientView":
        """Return the text's score as a function of the tokens of one window; the others stay as they are."""
        return WindowGradientView(self, self._places[number], positions=self._windows[number].positions)

    def answers(self, points: Tensor) -> Tensor:
        """Return the scores `[batch, targets]` of points `[batch, positions, dims]`; the windows count their rows."""
        if torch.is_grad_enabled() and points.requires_grad:
            pairs = zip(self._windows, self._places, strict=True)
            return torch.stack([window.answers(points[:, place]) for window, place in pairs]).mean(0)
        scores = [self._scores_of(number, points[:, place]) for number, place in enumerate(self._places)]
        return torch.stack(scores).mean(0)

    def _scores_of(self, number: int, points: Tensor) -> Tensor:
        """Return the scores of one window, `[batch, targets]`."""
        window = self._windows[number]
        changed = _changed(points, window.inputs)
        if bool(changed.all()):
            return window.scores(len(points), lambda indices: points[indices])
        scores = self._score_as_it_is(number).repeat(len(points), 1)
        if bool(changed.any()):
            rows = points[changed]
            scores[changed] = window.scores(len(rows), lambda indices: rows[indices])
        return scores

    def _gradients_of(self, number: int, points: Tensor, rule: Rule) -> Tensor:
        """Return the gradients of one window, `[targets, batch, positions, dims]`."""
        window = self._windows[number]
        changed = _changed(points, window.inputs)
        if rule != "exact" or bool(changed.all()):  # under other rules the rows of a batch may belong together
            return window.gradients(points, rule=rule)
        gradients = self._gradient_as_it_is(number)[:, None].repeat(1, len(points), 1, 1)
        if bool(changed.any()):
            gradients[:, changed] = window.gradients(points[changed])
        return gradients

    def _find_score(self, number: int) -> Tensor:
        window = self._windows[number]
        return window.scores(1, lambda _indices: window.inputs[None])[0]

    def _find_gradient(self, number: int) -> Tensor:
        return self._windows[number].gradient()

    def _together(self, rows: Sequence[Tensor]) -> Tensor:
        """Lay out rows of the windows `[positions of the window, dims]` as one of the text `[positions, dims]`."""
        count = 1 + max(int(place.max()) for place in self._places)
        whole = rows[0].new_zeros(count, *rows[0].shape[1:])
        for row, place in zip(rows, self._places, strict=True):
            whole[place] = row
        return whole


class WindowGradientView(GradientView):
    """A text in several windows as a function of the tokens of one of them.

    Args:
        document: The text.
        place: Where those tokens stand in it, `[positions]`.
        positions: Which feature of the window each of them belongs to.
    """

    def __init__(self, document: WindowsGradientView, place: Tensor, *, positions: Positions) -> None:
        baselines: Mapping[str, Tensor] = {name: row[place] for name, row in document.baselines.items()}
        self._document = document
        self._place = place
        super().__init__(
            lambda points: document.answers(self._put(points)),
            document.inputs[place],
            baselines=baselines,
            positions=positions,
            row_limit=document.row_limit,
            meter=document.meter,
        )

    def gradients(self, points: Tensor, *, rule: Rule = "exact") -> Tensor:
        """Return d score of the text / d point, `[targets, batch, positions, dims]`."""
        return self._document.gradients(self._put(points), rule=rule)[:, :, self._place]

    def answers(self, points: Tensor) -> Tensor:
        """Return the scores `[batch, targets]` of the text; its windows count their own rows."""
        return self._document.answers(self._put(points))

    def _put(self, points: Tensor) -> Tensor:
        """Put points in the place of the window's tokens."""
        whole = self._document.inputs.repeat(len(points), 1, 1)
        whole[:, self._place] = points
        return whole


def _of_all_labels(windows: Sequence[GradientView]) -> list[GradientView]:
    return [window.all_labels() for window in windows if window.all_labels is not None]


def _changed(points: Tensor, inputs: Tensor) -> Tensor:
    """Say of each point `[batch, positions, dims]` whether it differs from the untouched window, `[batch]`."""
    return (points != inputs).flatten(1).any(dim=1)
