"""Windows over token sequences."""

from itertools import pairwise

from hypothesis import assume, example, given, strategies as st

from whylight.models.chunking import windows


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[int], int, int]:
    """Lengths of words in tokens, capacity, overlap."""
    capacity = draw(st.integers(1, 60))
    lengths = draw(st.lists(st.integers(1, max(1, capacity + 3)), min_size=1, max_size=40))
    return lengths, capacity, draw(st.integers(0, 120))


def starts_of(lengths: list[int]) -> list[int]:
    return [sum(lengths[:i]) for i in range(len(lengths))]


@given(sequences())
def test_every_token_is_in_a_window_and_no_window_exceeds_the_capacity(case: tuple[list[int], int, int]) -> None:
    lengths, capacity, overlap = case
    n = sum(lengths)
    spans = windows(n, boundaries=starts_of(lengths), capacity=capacity, overlap=overlap)
    assert spans[0][0] == 0
    assert spans[-1][1] == n
    for start, end in spans:
        assert 0 < end - start <= capacity
    for before, after in pairwise(spans):
        assert before[0] < after[0] <= before[1] < after[1]


@given(sequences())
@example(([10, 35, 5], 40, 100))
def test_windows_start_and_end_between_words_unless_a_word_is_longer_than_a_window(
    case: tuple[list[int], int, int],
) -> None:
    lengths, capacity, overlap = case
    assume(max(lengths) <= capacity)
    n, starts = sum(lengths), starts_of(lengths)
    for start, end in windows(n, boundaries=starts, capacity=capacity, overlap=overlap):
        assert start in starts
        assert end in {*starts, n}


@given(st.integers(1, 300), st.integers(1, 60), st.integers(0, 120))
def test_neighbours_share_the_overlap_where_every_token_is_a_word(n: int, capacity: int, overlap: int) -> None:
    spans = windows(n, boundaries=range(n), capacity=capacity, overlap=overlap)
    wanted = min(overlap, capacity // 4)
    for before, after in pairwise(spans):
        assert before[1] - after[0] == wanted
        assert before[1] - before[0] == capacity
    assert len(spans) <= 1 + -(-max(0, n - capacity) // max(1, capacity - wanted))


@given(sequences())
def test_a_text_that_fits_is_one_window(case: tuple[list[int], int, int]) -> None:
    lengths, _, overlap = case
    n = sum(lengths)
    assert windows(n, boundaries=starts_of(lengths), capacity=n, overlap=overlap) == [(0, n)]


def test_a_window_reaches_as_far_as_it_can() -> None:
    assert windows(10, boundaries=[0, 3, 6, 8], capacity=7, overlap=0) == [(0, 6), (6, 10)]
    assert windows(10, boundaries=[0, 3, 6, 8], capacity=8, overlap=2) == [(0, 8), (6, 10)]
