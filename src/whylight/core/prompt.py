"""Prompts: how a language model is asked for a label, or for a text of its own.

    template   what the model reads, with {text} where the text goes; {pair}, {instruction} and {shots} may stand in it
    answers    label -> what the model would write next if the label applied; none, if it may write what it likes
    shot       one example, with {text}, {answer} and perhaps {pair}; {shots} stands for all of them

The score of a label is the log-probability of its answer, and a softmax over the labels makes probabilities of them.
An answer of several tokens is worth their mean (`scoring = "mean"`), their sum or the first alone. `calibration =
"contextual"` takes off what the same prompt says of texts without content (Zhao et al. 2021).

A prompt without answers asks for free text. Then a label is a text that may be written next: the one that the model
writes, word by word the most probable (`generated`), or one that is given. Its score is the mean log-probability of its
tokens (`scoring = "sum"`: their sum), whatever other texts there are.

Only {text} and {pair} are explained (`features = ["text"]`: the first alone), unless `features` also names
"instruction" or "shots": then the instruction is one feature more, and so is each example. Everything else of a prompt
is never removed, ranked or counted.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args
from unicodedata import category, east_asian_width

from whylight.core.errors import SettingError, unknown
from whylight.core.text import Block

Scoring = Literal["mean", "sum", "first"]
Calibration = Literal["none", "contextual"]
Piece = str | int
"""Of a prompt: words that are always the same, or the number of the part that stands there: a text, then blocks."""
PARTS = ("text", "pair")
INSTRUCTION, SHOTS = "instruction", "shots"
"""What else can be explained."""
FIELD = re.compile(r"(\{(?:text|pair|instruction|shots|answer)\})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """An example with its label, shown before the text that is asked about."""

    text: str
    label: str
    pair: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """How a language model is asked for a label, or for a text.

    Attributes:
        template: What it reads.
        answers: What it would write, by label; empty where it may write what it likes.
        instruction: What stands for {instruction}.
        shot: How an example is written.
        shots: Examples.
        chat: Whether the whole is a message in the model's own chat template.
        scoring: How the tokens of an answer count together.
        calibration: Whether what the prompt says of empty texts is taken off.
        features: What of it is explained: its texts, and perhaps the instruction and the shots.
        length: Tokens that the model may write, where it may write what it likes.
        stop: What ends such a text, e.g. a new line; it is no part of it.
        neutral: What stands for a removed word; None lets the model's tokenizer decide.
        name: What to call it.
        note: What it is for.
    """

    template: str
    answers: Mapping[str, str] = field(default_factory=dict)
    instruction: str = ""
    shot: str = ""
    shots: tuple[Shot, ...] = ()
    chat: bool = False
    scoring: Scoring = "mean"
    calibration: Calibration = "none"
    features: tuple[str, ...] = PARTS
    length: int = 32
    stop: str = ""
    neutral: str | None = None
    name: str = "prompt"
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a prompt that asks for nothing."""
        self._check_slots()
        if len(self.answers) == 1:
            raise SettingError(f"the prompt '{self.name}' needs the answers of two labels at least, or of none.")
        self._check_free()
        for label, answer in self.answers.items():
            if not answer.strip():
                raise SettingError(f"the answer for '{label}' in the prompt '{self.name}' is empty.")
        for shot in self.shots:
            if self.answers and shot.label not in self.answers:
                raise unknown("label of a shot", shot.label, self.answers)
        for setting, value, known in (
            ("scoring", self.scoring, get_args(Scoring)),
            ("calibration", self.calibration, get_args(Calibration)),
        ):
            if value not in known:
                raise unknown(setting, value, known)

    def _check_free(self) -> None:
        """Refuse what only labels have, where there are none, and features that are no text."""
        if self.free and (self.scoring == "first" or self.calibration != "none"):
            raise SettingError(
                f"the prompt '{self.name}' has no answers: its scoring is mean or sum, and its calibration none."
            )
        if self.length < 1:
            raise SettingError(f"'length' of the prompt '{self.name}' must be at least 1, not {self.length}.")
        if "text" not in self.features or not set(self.features) <= {*PARTS, INSTRUCTION, SHOTS}:
            raise SettingError(
                f"'features' of the prompt '{self.name}' are 'text', and perhaps 'pair', 'instruction' and 'shots'."
            )
        for name, words in ((INSTRUCTION, self.instruction), (SHOTS, "".join(map(self._shown, self.shots)))):
            if name in self.features and not (words.strip() and self.template.count(f"{{{name}}}") == 1):
                raise SettingError(
                    f"'features' of the prompt '{self.name}' name '{name}', of which it shows none, or shows it twice."
                )

    def _check_slots(self) -> None:
        names = FIELD.findall(self.template)
        if names.count("{text}") != 1:
            times = "no place" if "{text}" not in names else "more than one place"
            raise SettingError(
                f"the template of the prompt '{self.name}' has {times} for the text: write {{text}} once."
            )
        if names.count("{pair}") > 1 or "{answer}" in names:
            raise SettingError(
                f"in the template of the prompt '{self.name}' {{pair}} may stand once, and {{answer}} only in a shot."
            )
        if self.shots and not {"{text}", "{answer}"} <= set(FIELD.findall(self.shot)):
            raise SettingError(
                f"the prompt '{self.name}' has shots, so 'shot' must say where {{text}} and {{answer}} go."
            )
        if self.shots and "{shots}" not in names:
            raise SettingError(f"the prompt '{self.name}' has shots, and its template no {{shots}} to show them.")

    @property
    def free(self) -> bool:
        """Whether the model may write what it likes."""
        return not self.answers

    @property
    def takes_pairs(self) -> bool:
        """Whether it asks about two texts."""
        return "{pair}" in self.template

    @property
    def n_texts(self) -> int:
        """How many texts it asks about."""
        return 1 + self.takes_pairs

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What is explained besides texts, in the order in which it is read."""
        return tuple(block for part in FIELD.split(self.template) for block in self._blocks_of(part))

    def _blocks_of(self, part: str) -> list[Block]:
        """Return the blocks that stand for a part of the template, or none where that is not explained."""
        if part.strip("{}") not in self.features:
            return []
        if part == "{instruction}":
            return [Block(INSTRUCTION, self.instruction)]
        shots = self.shots if part == "{shots}" else ()
        return [Block(f"example {n} ({shot.label})", self._shown(shot)) for n, shot in enumerate(shots, start=1)]

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """What it is made of, in order; no two stretches of fixed words stand side by side."""
        fixed = {"{instruction}": self.instruction, "{shots}": "".join(map(self._shown, self.shots))}
        slots = {f"{{{name}}}": number for number, name in enumerate(PARTS)}
        found: list[Piece] = []
        number = self.n_texts
        for part in FIELD.split(self.template):
            own = len(self._blocks_of(part))
            found += range(number, number + own)
            number += own
            piece = slots.get(part, "" if own else fixed.get(part, part))
            if isinstance(piece, str) and found and isinstance(found[-1], str):
                found[-1] += piece
            else:
                found.append(piece)
        return tuple(piece for piece in found if piece != "")

    def written(self, pieces: Sequence[Piece], texts: Sequence[str]) -> str:
        """Return pieces of this prompt in words.

        Args:
            pieces: Its pieces, or some of them.
            texts: What stands for its texts.
        """
        words = [*texts, *(block.words for block in self.blocks)]
        return "".join(words[piece] if isinstance(piece, int) else piece for piece in pieces)

    def _shown(self, shot: Shot) -> str:
        own = {"{text}": shot.text, "{pair}": shot.pair or "", "{answer}": self.answers.get(shot.label, shot.label)}
        return "".join(own.get(part, part) for part in FIELD.split(self.shot))


def without_end(pieces: tuple[Piece, ...]) -> tuple[tuple[Piece, ...], str]:
    """Return pieces without the blanks that they end in, and these.

    They belong to the answer: most vocabularies hold " positive" as one token.
    """
    end = pieces[-1] if isinstance(pieces[-1], str) else ""
    kept = end.rstrip(" ")
    return ((*pieces[:-1], kept) if end else pieces), end[len(kept) :]


def between(prompt: Prompt, tail: str, blank: str, answer: str) -> str:
    """Return what stands between the end of a prompt and an answer: what stands there in its examples, else a blank.

    No blank follows an opening bracket or quote, nor what is written without blanks (Chinese, Japanese).

    Args:
        prompt: The prompt.
        tail: Its last words.
        blank: Blanks behind them.
        answer: The answer.
    """
    if blank or prompt.chat or answer[0].isspace() or tail.endswith(("\n", "\t", " ")):
        return blank
    shown = prompt.shot.partition("{answer}")[0]
    ends = shown.rstrip(" ")
    if prompt.shots and ends.endswith(tail[-1:]):
        return shown[len(ends) :]
    wide = any(east_asian_width(one) in "WF" for one in (*tail[-1:], answer[0]))
    return "" if wide or _opens(tail) else " "


def _opens(tail: str) -> bool:
    """Say whether words end in a bracket or quote that is still open."""
    kept = tail.rstrip("\"'`*_")
    if category(tail[-1:] or "a") in ("Ps", "Pi"):
        return True
    return kept != tail and kept[-1:].isspace()
