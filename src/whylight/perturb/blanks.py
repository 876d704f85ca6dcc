"""Blanks: where words of a window are taken out, for a masked language model to read.

`likely_words` takes out one word at a time and returns what the masked language model would write there: what input
marginalisation (Kim et al. 2020) sums over, and what Pham et al. 2022 count in table A3.
Cost: one pass of the masked language model per word.
"""

import unicodedata
from dataclasses import dataclass

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.text import Span
from whylight.views.filling import Filler
from whylight.views.texts import TextWindow
from whylight.views.tokens import TokenBatch, TokenWindow

FEWEST = 10
"""Words that are asked for at least."""
SIGNS = frozenset(".,;:!?…—¡¿、。，．：；！？｡､،؛؟।॥\"'`´")
"""Signs of sentences, and quotes that Unicode does not know as such: no part of the word that they stand beside."""
QUOTES_AND_BRACKETS = frozenset({"Ps", "Pe", "Pi", "Pf"})
"""Unicode's categories for brackets and typographic quotes."""
Words = dict[int, int]
"""A token of the masked language model for each removed feature."""


@dataclass(frozen=True, slots=True, eq=False)
class Guess:
    """What a masked language model would write for one word.

    Attributes:
        original: The word itself.
        words: The likeliest ones, best first.
        probabilities: How likely each is among all words.
        same: Which of the words are the original one, whatever the case of its letters.
    """

    original: str
    words: tuple[str, ...]
    probabilities: Floats
    same: Bools


def likely_words(
    window: TokenWindow | TextWindow, filler: Filler, *, top: int = 10, fragments: bool = False
) -> dict[int, Guess]:
    """Take out the words of a window one at a time, and return what would be written for each, by feature.

    Args:
        window: What is read at once.
        filler: The masked language model.
        top: How many words.
        fragments: Whether pieces of words will do.
    """
    features = window.features.tolist()
    if not features:
        return {}
    texts, spans, _ = stretch(window)
    draft = filler.draft(texts, spans)
    alone, found = np.eye(len(features), dtype=bool), dict[int, Guess]()
    for number, read in enumerate(draft.windows):
        here = np.flatnonzero(draft.best == number).tolist()
        if not here:
            continue
        batch, places = blanked(read, alone[here], filler.mask)
        blanks = [np.asarray([where[one]]) for one, where in zip(here, places, strict=True)]
        likely = filler.likely(batch, blanks, list(draft.stands[here, None]), top=asked(top), fragments=fragments)
        for one, choices in zip(here, likely, strict=True):
            span, own = spans[one], choices.best(0, top)
            original = texts[span.part][span.start : span.end]
            words = tuple(filler.word(token) for token in own.tokens[0].tolist())
            same = same_words(filler, own.tokens[0], original, int(draft.own[one]))
            found[features[one]] = Guess(original, words, own.probabilities[0], same)
    return found


def asked(top: int) -> int:
    """Return how many words to ask for, so that there are others left without the original word in all its cases."""
    return max(top, FEWEST) + 1


def same_words(filler: Filler, tokens: Ints, original: str, own: int) -> Bools:
    """Say which tokens are the original word: the one that is read for it, or one that differs in capitals alone.

    Quotes, brackets and the signs of sentences around a word do not count: data that come as white-space tokens have
    words such as "dog.". What else belongs to a word does: "C++" is not "C".

    Args:
        filler: The masked language model.
        tokens: Some of its tokens.
        original: The word.
        own: The one token that it is read as, if it is one; it may have lost accents or capitals then.
    """
    word = _bare(original)
    folded = np.asarray([_bare(filler.word(token)) == word for token in tokens.tolist()], dtype=bool)
    same: Bools = folded | (tokens == own)
    return same


def _bare(word: str) -> str:
    """Return a word in small letters without the signs around it; a sign as it is."""
    start, end = 0, len(word)
    while start < end and (_is_around(word[start]) or word[start] == "#"):  # "##ing", as vocabularies write a piece
        start += 1
    while end > start and _is_around(word[end - 1]):
        end -= 1
    if start == end:
        return word
    start -= word[:start].endswith(".") and not word[:start].endswith("..")  # ".NET" and ".5" begin with it
    return word[start:end].casefold()


def _is_around(character: str) -> bool:
    """Say whether a character is no part of a word that it stands beside: "C++", "10%" and "-1" are words."""
    return character in SIGNS or unicodedata.category(character) in QUOTES_AND_BRACKETS


def stretch(window: TokenWindow | TextWindow) -> tuple[list[str], list[Span], list[Span]]:
    """Return the texts of a window from its first word to its last, where its words are there, and where in all."""
    whole = (window.text,) if isinstance(window, TextWindow) else window.texts
    places = [window.spans[feature] for feature in window.features]
    texts, moved, parts = [], [Span(0, 0, 0)] * len(places), sorted({span.part for span in places})
    for number, part in enumerate(parts):
        own = [i for i, span in enumerate(places) if span.part == part]
        start, end = min(places[i].start for i in own), max(places[i].end for i in own)
        texts.append(whole[part][start:end])
        for i in own:
            moved[i] = Span(number, places[i].start - start, places[i].end - start)
    return texts, moved, places


def blanked(
    window: TokenWindow, removed: Bools, mask: int, known: list[Words] | None = None
) -> tuple[TokenBatch, list[dict[int, int]]]:
    """Return rows with one blank for each removed word, or a word that is known, and where those stand."""
    content = window.feature >= 0
    first = np.zeros(len(window.ids), dtype=bool)
    first[np.unique(window.feature, return_index=True)[1]] = True
    rows, types, places = [], [], []
    for number, row in enumerate(removed):
        gone = content & np.concatenate([row, [False]])[window.feature]
        stays = ~gone | (gone & first)
        ids = np.where(gone, mask, window.ids)
        for feature, token in (known[number] if known else {}).items():
            ids[gone & (window.feature == feature)] = token
        rows.append(ids[stays])
        types.append(window.types[stays])
        blanks = np.flatnonzero((gone & first)[stays])
        places.append(dict(zip(window.feature[gone & first].tolist(), blanks.tolist(), strict=True)))
    return one_batch(rows, types), places


def one_batch(rows: list[Ints], types: list[Ints]) -> TokenBatch:
    """Put rows of several lengths into one batch."""
    lengths = np.asarray([len(row) for row in rows], dtype=np.int64)
    width = int(lengths.max(initial=0))
    wide = [np.asarray([np.pad(one, (0, width - len(one))) for one in some]) for some in (rows, types)]
    shape = (len(rows), width)
    return TokenBatch(wide[0].reshape(shape), wide[1].reshape(shape), lengths)
