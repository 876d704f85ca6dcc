"""In which order words of both directions stand in a line, after Unicode's bidirectional algorithm (UAX 9).

Letters within a word are ordered by matplotlib; here are whole words, blanks and signs. There are no embeddings: what
steers the direction is not drawn.
"""

import unicodedata
from collections.abc import Sequence
from itertools import groupby

LEFT, RIGHT = "L", "R"
"""Read towards the right, and towards the left."""
_STRONG = {"L": LEFT, "R": RIGHT, "AL": RIGHT}
_NUMBERS = ("EN", "AN")
_MIRRORED = str.maketrans("()[]{}<>\u00ab\u00bb", ")(][}{><\u00bb\u00ab")


def base_direction(text: str) -> str:
    """Return the direction of a paragraph: that of its first letter which has one."""
    return next((found for letter in text if (found := _STRONG.get(unicodedata.bidirectional(letter)))), LEFT)


def reading_directions(words: Sequence[str], base: str) -> list[str]:
    """Return the direction of each word; numbers and signs take that of what stands around them."""
    found: list[str | None] = []
    last = base
    for word in words:
        kinds = [unicodedata.bidirectional(letter) for letter in word]
        own = next((_STRONG[kind] for kind in kinds if kind in _STRONG), None)
        if own is None and any(kind in _NUMBERS for kind in kinds):
            own = last
        last = own or last
        found.append(own)
    return [one or _around(found, place, base) for place, one in enumerate(found)]


def visual_order(words: Sequence[str], base: str) -> list[int]:
    """Return the places of words as they stand from left to right."""
    directions = reading_directions(words, base)
    runs = [list(own) for _, own in groupby(range(len(words)), key=lambda place: directions[place])]
    if base == RIGHT:
        runs.reverse()
    return [place for run in runs for place in (run if directions[run[0]] == LEFT else reversed(run))]


def mirrored(word: str, direction: str) -> str:
    """Return a sign that stands alone as it is drawn in a direction: a bracket that opens to the left closes there."""
    alone = all(unicodedata.bidirectional(letter) not in _STRONG for letter in word)
    return word.translate(_MIRRORED) if direction == RIGHT and alone else word


def _around(found: Sequence[str | None], place: int, base: str) -> str:
    """Return the direction of a sign: that of its neighbours if they agree, else that of the paragraph."""
    before = next((one for one in reversed(found[:place]) if one), base)
    after = next((one for one in found[place + 1 :] if one), base)
    return before if before == after else base
