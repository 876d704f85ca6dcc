"""A masked language model as removers see it: it reads a text in its own tokens, and says what may stand in a blank."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from whylight.core.arrays import Floats, Ints
from whylight.core.text import Span
from whylight.views.tokens import TokenBatch, TokenWindow

NO_TOKEN = -1
"""What stands for the token of a feature that is several, or none."""
APART, JOINED, BEHIND_LETTER, WITHIN = 0, 1, 2, 3
"""Where a word begins: as its own word; without the mark of one, as at the start of a text or behind a bracket, in a
vocabulary that marks the blank before a word; behind a letter or digit, where only a sign begins; or there, but written
together with the word before, as in scripts without blanks."""


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A text as a masked language model reads it.

    Attributes:
        windows: Its rows; the features of each are those that were asked about.
        best: The window to ask about each feature, `[features]`: the one in which it is farthest from the edges.
        own: The one token that each feature is, `[features]`; -1 where it is several, or none.
        stands: What each feature stands behind, `[features]`: `APART`, `JOINED`, `BEHIND_LETTER` or
            `WITHIN`.
    """

    windows: tuple[TokenWindow, ...]
    best: Ints
    own: Ints
    stands: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Likely:
    """The likeliest words for the blanks of one row, best first.

    Attributes:
        tokens: Tokens of the masked language model, `[blanks, words]`.
        probabilities: How likely each is among all words, `[blanks, words]`.
    """

    tokens: Ints
    probabilities: Floats

    def best(self, blank: int, count: int) -> "Likely":
        """Return the likeliest words of one blank; those that cannot stand there, and fill up the list, are none."""
        some = (self.probabilities[blank] > 0).nonzero()[0][:count]
        return Likely(self.tokens[blank, some][None], self.probabilities[blank, some][None])


class Filler(Protocol):
    """A masked language model in front of a classifier.

    Attributes:
        mask: Its token for a blank.
        limit: Tokens that the classifier reads at once; None if there is no limit.
    """

    mask: int
    limit: int | None

    def draft(self, texts: Sequence[str], spans: Sequence[Span]) -> Draft:
        """Read a text, or a pair, with features at these places."""
        ...

    def likely(
        self, rows: TokenBatch, blanks: Sequence[Ints], stands: Sequence[Ints], *, top: int, fragments: bool
    ) -> list[Likely]:
        """Return the likeliest words for blanks.

        Args:
            rows: Rows of its tokens.
            blanks: Where the blanks of each row are.
            stands: What each of them stands behind.
            top: How many words.
            fragments: Whether pieces of words will do.
        """
        ...

    def word(self, token: int) -> str:
        """Return a token as a word."""
        ...

    def spelled(self, word: str, before: str) -> Ints:
        """Return a word in the classifier's tokens, behind a character of the text."""
        ...
