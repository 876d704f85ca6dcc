"""TextView: a text and what was said about it, in front of a language model that can be asked about both."""

from collections.abc import Callable
from dataclasses import dataclass

from whylight.core.arrays import Ints
from whylight.views.view import View


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model wrote to a question.

    Attributes:
        text: The text.
        ended: Whether the model ended it, or the length that it was given.
    """

    text: str
    ended: bool


Ask = Callable[[int, str, str, int], Reply]
"""The number of a target, a question, what the reply begins with, and how many tokens it may have -> the reply."""


class TextView(View):
    """A text that a language model can be asked about, once it has given an answer.

    Args:
        text: The text that is explained.
        words: Its words, as people read them.
        holders: The features that hold a part of each word.
        labels: The answers that are explained, one per target.
        n_features: Number of features.
        ask: Asks the model behind the prompt about the text and one of the answers.
    """

    seen = "replies to questions"

    def __init__(
        self,
        text: str,
        words: tuple[str, ...],
        holders: tuple[Ints, ...],
        *,
        labels: tuple[str, ...],
        n_features: int,
        ask: Ask,
    ) -> None:
        self.text, self.words, self.holders, self.labels, self.n_features = text, words, holders, labels, n_features
        self._ask = ask

    def ask(self, number: int, question: str, *, begin: str = "", length: int) -> Reply:
        """Ask about the answer of a target; the model writes on greedily from `begin`."""
        return self._ask(number, question, begin, length)
