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

Only {text} and {pair} are explained (`features = ["text"]`: the first alone): everything else of a prompt is never
removed, ranked or counted.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from whylight.core.errors import InputError, SettingError, unknown

Scoring = Literal["mean", "sum", "first"]
Calibration = Literal["none", "contextual"]
Piece = str | int
"""Of a prompt: words that are always the same, or the number of the text that stands there (a pair has two)."""
PARTS = ("text", "pair")
FIELD = re.compile(r"(\{(?:text|pair|instruction|shots|answer)\})")
READY = Path(__file__).resolve().parent.parent / "models" / "prompts"
"""Where the prompts are that come with the package."""


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
        features: Which of its texts are explained.
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
        if "text" not in self.features or not set(self.features) <= set(PARTS):
            raise SettingError(f"'features' of the prompt '{self.name}' are ['text'] or ['text', 'pair'].")

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
    def pieces(self) -> tuple[Piece, ...]:
        """What it is made of, in order; no two stretches of fixed words stand side by side."""
        fixed = {"{instruction}": self.instruction, "{shots}": "".join(map(self._shown, self.shots))}
        slots = {f"{{{name}}}": number for number, name in enumerate(PARTS)}
        found: list[Piece] = []
        for part in FIELD.split(self.template):
            piece = slots.get(part, fixed.get(part, part))
            if isinstance(piece, str) and found and isinstance(found[-1], str):
                found[-1] += piece
            else:
                found.append(piece)
        return tuple(piece for piece in found if piece != "")

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
    """Return what stands between the end of a prompt and an answer.

    Args:
        prompt: The prompt.
        tail: Its last words.
        blank: Blanks behind them.
        answer: The answer.
    """
    missing = not prompt.chat and not tail.endswith(("\n", "\t")) and not answer[0].isspace()
    return blank or (" " if missing else "")


def read_prompt(source: str | Path | Prompt) -> Prompt:
    """Return a prompt: one that comes with the package by its name, or one in a TOML file.

    Args:
        source: A name, the path of a file, or a prompt.
    """
    if isinstance(source, Prompt):
        return source
    ready = READY / f"{source}.toml"
    if str(source) in ready_prompts():
        return _read(ready)
    path = Path(source)
    if not path.is_file():
        known = ", ".join(ready_prompts())
        raise InputError(f"there is no prompt '{source}': name a TOML file, or one that is ready: {known}.")
    return _read(path)


def ready_prompts() -> tuple[str, ...]:
    """Return the names of the prompts that come with the package."""
    return tuple(sorted(path.stem for path in READY.glob("*.toml")))


def _read(path: Path) -> Prompt:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the prompt '{path}' cannot be read: {error}.") from None
    known = [one.name for one in fields(Prompt)]
    for name in found:
        if name not in known:
            raise unknown(f"entry of the prompt '{path}'", name, known)
    if "template" not in found:
        raise InputError(f"the prompt '{path}' lacks 'template'.")
    _check_types(found, path)
    shots = tuple(_shot(one, path) for one in found.get("shots", ()))
    features = tuple(map(str, found.get("features", PARTS)))
    return Prompt(**{"name": path.stem, **found, "shots": shots, "features": features})


def _shot(given: object, path: Path) -> Shot:
    known = [one.name for one in fields(Shot)]
    if not isinstance(given, dict) or not {"text", "label"} <= set(given) <= set(known):
        raise InputError(f"each [[shots]] of the prompt '{path}' has 'text' and 'label', and perhaps 'pair'.")
    return Shot(**{name: str(value) for name, value in given.items()})


_KINDS: Mapping[str, tuple[type, str]] = {
    "answers": (dict, "a table"),
    "shots": (list, "a list of tables"),
    "chat": (bool, "true or false"),
    "features": (list, "a list of names"),
    "length": (int, "a whole number"),
}
"""What entries of a file are, where they are no texts."""


def _check_types(found: Mapping[str, Any], path: Path) -> None:
    """Refuse an entry of another kind than the prompt's own, before it is used."""
    for name, value in found.items():
        wanted, called = _KINDS.get(name, (str, "a text"))
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise InputError(f"'{name}' of the prompt '{path}' must be {called}.")
    for label, answer in found.get("answers", {}).items():
        if not isinstance(answer, str):
            raise InputError(f"the answer for '{label}' of the prompt '{path}' must be a text.")
