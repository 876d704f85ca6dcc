"""Self-explanation: the model itself is asked which words decided, and its ranking becomes scores.

    a_i = (k - r_i) / k      the word i is the r_i-th of the k words of the text that the model names, counted from 0
    a_i = 0                  it is not named

The model reads its prompt and its answer, and writes a list of words, greedily. A list is read by a strict grammar:

    list = item, then item after item behind a comma, a semicolon or a new line, and perhaps "and"
    item = a number or a dash, if any, and one word, perhaps in quotes or asterisks

A word that stands in the text several times gets its score at each place; a feature that holds several words gets the
highest of theirs. Words that are not in the text are named in the notes, with their share of all words that were named,
and so are items that are no single word. A reply in which no word of the text can be read gives each word 0. What a
model says about itself need not be so: measure it like any other method.

Reference: Huang et al. 2023. Cost: one forward pass per token of the reply, at most `length`, for each target.
"""

import re

import numpy as np

from whylight.core import segment
from whylight.core.errors import SettingError
from whylight.core.registry import method
from whylight.core.scores import Scores
from whylight.views.asking import Reply, TextView

QUESTION = (
    'The text was: "{text}"\nWhich words of it decided your answer? List the {count} most important ones, the most '
    "important first, separated by commas."
)
BEGIN = "The most important words of the text are:"
QUOTES = "[\"'“”‘’*`_]*"
SEPARATOR = re.compile(rf"[,;\n]{QUOTES}\s*(?:and\b\s*)?")
ITEM = re.compile(rf"\s*(?:\d+\s*[.):]\s*|[-*•]\s+)?{QUOTES}(?P<word>.*?)\.?{QUOTES}\.?\s*", re.DOTALL)
SHOWN, LONGEST = 5, 80
"""Words that a note names, and characters of each."""


@method(
    cite="huang2023",
    signed=False,
    cost="≤ 64 forward",
    good_for="what a language model says about itself, to be measured against what it does",
)
def self_explanation(view: TextView, *, count: int = 10, length: int = 64) -> Scores:
    """Ask the model to rank the words of the text, and score them by rank."""
    for name, value in (("count", count), ("length", length)):
        if value < 1:
            raise SettingError(f"the setting '{name}' must be at least 1, not {value}.")
    values, notes = np.zeros((len(view.labels), view.n_features)), list[str]()
    for number, label in enumerate(view.labels):
        question = QUESTION.format(text=view.text, count=min(count, len(view.words)))
        reply = view.ask(number, question, begin=BEGIN, length=length)
        named, unread = read_words(reply)
        known = {word.casefold() for word in view.words}
        inside = [word for word in named if word in known]
        for word, holders in zip(view.words, view.holders, strict=True):
            if word.casefold() in inside:
                score = 1 - inside.index(word.casefold()) / len(inside)
                values[number, holders] = np.maximum(values[number, holders], score)
        notes += [f"'{label}': {note}" for note in _notes(reply, named, inside, unread)]
    return Scores(values, notes=tuple(notes))


def read_words(reply: Reply) -> tuple[list[str], list[str]]:
    """Return the words that a reply names, each once and in lower case, and items of it that are no single word."""
    items = SEPARATOR.split(reply.text)
    items = items if reply.ended else items[:-1]  # the last may have been cut
    named, unread = dict[str, None](), list[str]()
    for item in items:
        match = ITEM.fullmatch(item)
        word = match["word"] if match else item
        if not word:
            continue
        if segment.words(word) == [(0, len(word))]:
            named[word.casefold()] = None
        else:
            unread.append(word.strip())
    return list(named), unread


def _notes(reply: Reply, named: list[str], inside: list[str], unread: list[str]) -> list[str]:
    """Say what the model named that is not in the text, and what could not be read."""
    outside, found = [word for word in named if word not in inside], []
    if not inside:
        found.append(
            f"no word of the text can be read in what the model says, so that all scores are 0: {_quoted([reply.text])}"
        )
    if outside:
        share = len(outside) / len(named)
        found.append(
            f"{share:.0%} of the {len(named)} words that the model names are not in the text: {_quoted(outside)}"
        )
    if unread:
        found.append(f"{len(unread)} items of what the model says are no single words: {_quoted(unread)}")
    return found


def _quoted(words: list[str]) -> str:
    shown = ", ".join(f"'{word if len(word) <= LONGEST else f'{word[:LONGEST]}...'}'" for word in words[:SHOWN])
    return f"{shown}, ..." if len(words) > SHOWN else shown
