"""The blend of overlapping windows: weights sum to one and fall along the window."""

import numpy as np
from hypothesis import given, strategies as st

from whylight.core.encoded import Encoded
from whylight.core.text import Span, Text
from whylight.explaining.provide import blend
from whylight.views.tokens import TokenWindow


@st.composite
def coverings(draw: st.DrawFn) -> Encoded:
    """Windows over n features, each neighbour overlapping by some."""
    n = draw(st.integers(1, 60))
    size = draw(st.integers(1, n))
    step = draw(st.integers(1, size))
    starts = list(range(0, max(1, n - size + step), step))
    windows = tuple(TokenWindow(f, f, f, f) for f in (np.arange(s, min(n, s + size)) for s in starts) if len(f))
    return Encoded(Text("x" * n), "word", tuple(Span(0, i, i + 1) for i in range(n)), windows)


@given(coverings())
def test_blend_weights_sum_to_one_and_fall_along_the_window(encoded: Encoded) -> None:
    weights = blend(encoded)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=0), 1.0)
    for number, window in enumerate(encoded.windows):
        outside = np.setdiff1d(np.arange(encoded.n_features), window.features)
        assert (weights[number, outside] == 0).all()


def test_an_overlap_is_blended_linearly() -> None:
    features = [np.arange(0, 6), np.arange(2, 8)]
    windows = tuple(TokenWindow(f, f, f, f) for f in features)
    encoded = Encoded(Text("x" * 8), "word", tuple(Span(0, i, i + 1) for i in range(8)), windows)
    weights = blend(encoded)
    np.testing.assert_allclose(weights[0], [1, 1, 1, 0.75, 0.5, 0.25, 0, 0])
    np.testing.assert_allclose(weights[1], 1 - weights[0])


def test_the_text_that_stands_in_every_window_does_not_bend_the_blend() -> None:
    """A pair's shorter text (features 0-3) is in both windows; the ramp is over the overlap (6-9) all the same."""
    features = [np.r_[0:4, 4:10], np.r_[0:4, 6:12]]
    windows = tuple(TokenWindow(f, f, f, f) for f in features)
    spans = tuple(Span(0 if i < 4 else 1, i, i + 1) for i in range(12))
    weights = blend(Encoded(Text("x" * 12, "y" * 12), "word", spans, windows))
    np.testing.assert_allclose(weights[0, 4:], [1, 1, 1, 0.75, 0.5, 0.25, 0, 0])
    np.testing.assert_allclose(weights[0, :4], 0.5)
