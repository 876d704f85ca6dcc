"""Prompts: how a language model is asked for a label.

    template   what the model reads, with {text} where the text goes; {pair}, {instruction} and {shots} may stand in it
    answers    label -> what the model would write next if the label applied
    shot       one example, with {text}, {answer} and perhaps {pair}; {shots} stands for all of them

The score of a label is the log-probability of its answer, and a softmax over the labels makes probabilities of them.
An answer of several tokens is worth their mean (`scoring = "mean"`), their sum or the first alone. `calibration =
"contextual"` takes off what the same prompt says of texts without content (Zhao et al. 2021).

Only {text} and {pair} are explained: everything else of a prompt is never removed, ranked or counted.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
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
FEWEST_LABELS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """An example with its label, shown before the text that is asked about."""

    text: str
    label: str
    pair: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """How a language model is asked for a label.

    Attributes:
        template: What it reads.
        answers: What it would write, by label.
        instruction: What stands for {instruction}.
        shot: How an example is written.
        shots: Examples.
        chat: Whether the whole is a message in the model's own chat template.
        scoring: How the tokens of an answer count together.
        calibration: Whether what the prompt says of empty texts is taken off.
        neutral: What stands for a removed word; None lets the model's tokenizer decide.
        name: What to call it.
        note: What it is for.
    """

    template: str
    answers: Mapping[str, str]
    instruction: str = ""
    shot: str = ""
    shots: tuple[Shot, ...] = ()
    chat: bool = False
    scoring: Scoring = "mean"
    calibration: Calibration = "none"
    neutral: str | None = None
    name: str = "prompt"
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a prompt that asks for nothing."""
        self._check_slots()
        if len(self.answers) < FEWEST_LABELS:
            raise SettingError(f"the prompt '{self.name}' needs the answers of two labels at least.")
        for label, answer in self.answers.items():
            if not answer.strip():
                raise SettingError(f"the answer for '{label}' in the prompt '{self.name}' is empty.")
        for shot in self.shots:
            if shot.label not in self.answers:
                raise unknown("label of a shot", shot.label, self.answers)
        for setting, value, known in (
            ("scoring", self.scoring, get_args(Scoring)),
            ("calibration", self.calibration, get_args(Calibration)),
        ):
            if value not in known:
                raise unknown(setting, value, known)

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
        own = {"{text}": shot.text, "{pair}": shot.pair or "", "{answer}": self.answers[shot.label]}
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
    known = {field.name: field.type for field in fields(Prompt)}
    for name in found:
        if name not in known:
            raise unknown(f"entry of the prompt '{path}'", name, known)
    for name in ("template", "answers"):
        if name not in found:
            raise InputError(f"the prompt '{path}' lacks '{name}'.")
    _check_types(found, path)
    shots = tuple(_shot(one, path) for one in found.get("shots", ()))
    return Prompt(**{"name": path.stem, **found, "shots": shots})


def _shot(given: object, path: Path) -> Shot:
    known = [field.name for field in fields(Shot)]
    if not isinstance(given, dict) or not {"text", "label"} <= set(given) <= set(known):
        raise InputError(f"each [[shots]] of the prompt '{path}' has 'text' and 'label', and perhaps 'pair'.")
    return Shot(**{name: str(value) for name, value in given.items()})


def _check_types(found: Mapping[str, Any], path: Path) -> None:
    """Refuse an entry of another kind than the prompt's own, before it is used."""
    for name, value in found.items():
        wanted = {"answers": dict, "shots": list, "chat": bool}.get(name, str)
        if not isinstance(value, wanted):
            kinds = {dict: "a table", list: "a list of tables", bool: "true or false", str: "a text"}
            raise InputError(f"'{name}' of the prompt '{path}' must be {kinds[wanted]}.")
    for label, answer in found["answers"].items():
        if not isinstance(answer, str):
            raise InputError(f"the answer for '{label}' of the prompt '{path}' must be a text.")
