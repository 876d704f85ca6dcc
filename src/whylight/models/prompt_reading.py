"""A text in its prompt, as tokens, and the answers behind it.

Prompt and text are cut into tokens together, as the model would read them, because " great" behind "Review:" is another
token than "great". Control tokens (those of a chat template) are boundaries: they are read as such where the prompt has
them, and as plain characters where a user typed them, so that no text can end its own message.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from whylight.core.arrays import Ints
from whylight.core.errors import InputError, ModelError, SettingError
from whylight.core.prompt import PARTS, Piece, Prompt, between, without_end
from whylight.core.text import Text
from whylight.models.folder import is_failure, reason
from whylight.models.slots import Offsets, Reading, Slot, layout
from whylight.models.tokenised import check_text, first_visible, tokens_of
from whylight.views.tokens import NO_FEATURE

MARK = "\ue000{}\ue001"
"""Stands for a text while a chat template is filled in; these characters belong to no language."""
ANSWER, QUESTION = 8, 9
"""Stand for an answer and a question there."""
Token = tuple[int, int, tuple[int, int]]
"""The text that a token is of (or -1), its id, and where in the text it stands."""


@dataclass(slots=True)
class _Stretch:
    """Words between two control tokens, and where in them texts stand."""

    words: str = ""
    texts: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, words: str, part: int = NO_FEATURE) -> None:
        """Write on."""
        if part != NO_FEATURE:
            self.texts.append((part, len(self.words), len(self.words) + len(words)))
        self.words += words


class PromptReader:
    """Turns texts into rows of a prompted model.

    Args:
        tokenizer: The fast tokenizer of the model.
        prompt: The prompt.
    """

    def __init__(self, tokenizer: Any, prompt: Prompt) -> None:  # noqa: ANN401  transformers' own type
        self._tokenizer, self.prompt = tokenizer, prompt
        self._controls = _control_tokens(tokenizer)
        pieces = _in_chat(tokenizer, prompt) if prompt.chat else prompt.pieces
        self.pieces, self._blank = without_end(pieces)
        kept = end if isinstance(end := self.pieces[-1], str) else ""
        # a chat template holds its own first token; elsewhere a slot that is a text's has no ids
        self._start: list[int] = [] if prompt.chat else layout(tokenizer, pair=False)[0].ids.tolist()
        self._tail = self._controls.split(kept)[-1] if self._controls else kept
        self.answers = self._checked({label: self.behind(answer) for label, answer in prompt.answers.items()})

    def read(self, example: Text) -> Reading:
        """Read a text, or a pair, in its prompt."""
        check_text(example)
        wanted = sum(isinstance(piece, int) for piece in self.pieces)
        if wanted != len(example.parts):
            many = "a pair of texts" if wanted > 1 else "one text"
            raise InputError(f"the prompt '{self.prompt.name}' asks about {many}; this input has {len(example.parts)}.")
        tokens: list[Token] = [(NO_FEATURE, one, (0, 0)) for one in self._start]
        for stretch in self._stretches(example):
            tokens += [stretch] if isinstance(stretch, tuple) else self._cut(stretch)
        slots: list[Slot] = []
        parts: list[tuple[list[int], Offsets]] = [([], []) for _ in example.parts[: len(self.prompt.features)]]
        for part, group in groupby(tokens, key=lambda token: token[0]):
            own = list(group)
            ids = [one for _, one, _ in own]
            slots.append(Slot(part, np.asarray(ids if part == NO_FEATURE else [], dtype=np.int64), 0))
            if part != NO_FEATURE:
                parts[part] = (ids, [place for _, _, place in own])
        return Reading(slots, parts)

    def written(self, *texts: str) -> str:
        """Return the prompt about a text, or about two, as it is read."""
        return "".join(texts[piece] if isinstance(piece, int) else piece for piece in self.pieces)

    def around_question(self, begin: str) -> tuple[str, str]:
        """Return what stands between an answer in a chat and a question about it, and what stands behind that.

        Args:
            begin: What the reply begins with.
        """
        content = "".join(MARK.format(piece) if isinstance(piece, int) else piece for piece in self.prompt.pieces)
        said = [("user", content), ("assistant", MARK.format(ANSWER)), ("user", MARK.format(QUESTION))]
        whole = _filled_in(self._tokenizer, [{"role": role, "content": words} for role, words in said])
        found = re.search(MARK.format(ANSWER) + "(.*)" + MARK.format(QUESTION) + "(.*)", whole, re.DOTALL)
        if found is None:
            raise ModelError("the chat template of the model shows no dialogue; set chat = false in the prompt.")
        return found[1], found[2] + begin

    def _stretches(self, example: Text) -> Iterator[_Stretch | Token]:
        """Yield control tokens, and the words between them."""
        current = _Stretch()
        for piece in self.pieces:
            if isinstance(piece, int):
                explained = PARTS[piece] in self.prompt.features
                current.add(example.parts[piece], piece if explained else NO_FEATURE)
                continue
            for words in self._controls.split(piece) if self._controls else [piece]:
                if self._controls is None or not self._controls.fullmatch(words):
                    current.add(words)
                    continue
                yield current
                yield NO_FEATURE, int(self._tokenizer.convert_tokens_to_ids(words)), (0, 0)
                current = _Stretch()
        yield current

    def _cut(self, stretch: _Stretch) -> Iterator[Token]:
        """Cut words into tokens; one belongs to the text that holds its first visible character."""
        if not stretch.words:
            return
        for one, (start, end) in zip(*tokens_of(self._tokenizer, stretch.words), strict=True):
            visible = first_visible(stretch.words, start, end)
            anchor = start if visible is None else visible
            inside = [text for text in stretch.texts if text[1] <= anchor < text[2]]
            if not inside:
                yield NO_FEATURE, one, (0, 0)
                continue
            ((part, first, last),) = inside
            yield part, one, (max(start, first) - first, min(end, last) - first)

    def behind(self, answer: str) -> Ints:
        """Return the tokens of an answer, as they are behind the end of the prompt."""
        if not answer.strip():
            raise SettingError("a text that is to be explained as an answer is empty.")
        tail = self._tail
        before = tokens_of(self._tokenizer, tail)[0] if tail else []
        joint = between(self.prompt, tail, self._blank, answer)
        ids = tokens_of(self._tokenizer, tail + joint + answer)[0]
        if ids[: len(before)] != before:
            raise SettingError(
                f"the answer '{answer}' runs together with the end of the prompt '{self.prompt.name}' into one "
                "token; end the template with a colon, a blank or a new line."
            )
        if not ids[len(before) :]:
            raise SettingError(f"the tokenizer leaves nothing of the answer '{answer}'.")
        return np.asarray(ids[len(before) :], dtype=np.int64)

    def _checked(self, answers: dict[str, Ints]) -> dict[str, Ints]:
        """Refuse two labels that could not be told apart."""
        first = self.prompt.scoring == "first"
        known: dict[tuple[int, ...], str] = {}
        for label, ids in answers.items():
            key = tuple(int(one) for one in (ids[:1] if first else ids))
            if key in known:
                what = "answers that begin with the same token" if first else "the same answer"
                hint = "; use scoring = 'mean'" if first else ""
                raise SettingError(f"the labels '{known[key]}' and '{label}' have {what}{hint}.")
            known[key] = label
        return {label: ids[:1] for label, ids in answers.items()} if first else answers


def _control_tokens(tokenizer: Any) -> "re.Pattern[str] | None":  # noqa: ANN401  transformers' own type
    """Return what matches a control token, or None where there is none."""
    names = {str(token) for token in tokenizer.get_added_vocab()} | set(tokenizer.all_special_tokens)
    pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    return re.compile(f"({pattern})") if pattern else None


def _in_chat(tokenizer: Any, prompt: Prompt) -> tuple[Piece, ...]:  # noqa: ANN401  transformers' own type
    """Return a prompt as a message in the model's own chat template."""
    if not getattr(tokenizer, "chat_template", None):
        raise ModelError(
            f"the prompt '{prompt.name}' is a chat message, and the model's tokenizer has no chat template; "
            "set chat = false in the prompt."
        )
    content = "".join(MARK.format(piece) if isinstance(piece, int) else piece for piece in prompt.pieces)
    whole = _filled_in(tokenizer, [{"role": "user", "content": content}])
    parts = re.split(MARK.format("(\\d)"), whole)
    found = tuple(int(part) if number % 2 else part for number, part in enumerate(parts))
    if sum(isinstance(one, int) for one in found) != sum(isinstance(one, int) for one in prompt.pieces):
        raise ModelError("the chat template of the model does not show the message; set chat = false in the prompt.")
    return tuple(piece for piece in found if piece != "")


def _filled_in(tokenizer: Any, messages: list[dict[str, str]]) -> str:  # noqa: ANN401  transformers' own type
    """Return messages in the model's own chat template, ready for its reply."""
    try:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    except BaseException as error:
        if not is_failure(error):
            raise
        raise ModelError(f"the chat template of the model cannot be filled in: {reason(error)}") from error
