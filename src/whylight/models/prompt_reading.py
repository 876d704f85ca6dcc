"""A text in its prompt, as tokens, and the answers behind it.

Prompt and text are cut into tokens together, as the model would read them, because " great" behind "Review:" is another
token than "great". Control tokens (those of a chat template) are boundaries: they are read as such where the prompt has
them, and as plain characters where a user typed them, so that no text can end its own message.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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

NEUTRAL = (" ...", "...", " _", "_", " .", ".")
"""What may stand for a removed word; the first that is one token does."""
MARK = "\ue000{}\ue001"
"""Stands for a text while a chat template is filled in; these characters belong to no language."""
ANSWER, QUESTION = "answer", "question"
"""Stand for an answer and a question there."""
Token = tuple[int, int, tuple[int, int]]
"""The part that a token is of (or -1), its id, and where in the part it stands."""


@dataclass(slots=True)
class _Stretch:
    """Words between two control tokens, and where in them parts stand.

    Attributes:
        words: The words.
        parts: Of each part that is explained, its number, the first and one past the last of its characters here, and
            how many of its characters came before.
    """

    words: str = ""
    parts: list[tuple[int, int, int, int]] = field(default_factory=list)

    def add(self, words: str, part: int = NO_FEATURE, before: int = 0) -> None:
        """Write on."""
        if part != NO_FEATURE:
            self.parts.append((part, len(self.words), len(self.words) + len(words), before))
        self.words += words


class PromptReader:
    """Turns texts into rows of a prompted model.

    Args:
        tokenizer: The fast tokenizer of the model.
        prompt: The prompt.
    """

    def __init__(self, tokenizer: Any, prompt: Prompt) -> None:  # noqa: ANN401  transformers' own type
        self._tokenizer, self.prompt = tokenizer, prompt
        self.blocks = prompt.blocks
        self._controls = _control_tokens(tokenizer)
        pieces = _in_chat(tokenizer, prompt) if prompt.chat else prompt.pieces
        self.pieces, self._blank = without_end(pieces)
        # a chat template holds its own first token; elsewhere a slot that is a text's has no ids
        self._start: list[int] = [] if prompt.chat else layout(tokenizer, pair=False)[0].ids.tolist()
        kept = self._behind_texts()
        self._tail = self._controls.split(kept)[-1] if self._controls else kept
        self.answers = self._checked({label: self.behind(answer) for label, answer in prompt.answers.items()})

    def _behind_texts(self) -> str:
        """Return what stands behind the last text."""
        last = max(place for place, piece in enumerate(self.pieces) if piece in range(self.prompt.n_texts))
        return self.prompt.written(self.pieces[last + 1 :], [""] * self.prompt.n_texts)

    def read(self, example: Text) -> Reading:
        """Read a text, or a pair, in its prompt."""
        check_text(example)
        wanted = self.prompt.n_texts
        if wanted != len(example.texts):
            many = "a pair of texts" if wanted > 1 else "one text"
            raise InputError(f"the prompt '{self.prompt.name}' asks about {many}; this input has {len(example.texts)}.")
        tokens: list[Token] = [(NO_FEATURE, one, (0, 0)) for one in self._start]
        for stretch in self._stretches(example.texts):
            tokens += [stretch] if isinstance(stretch, tuple) else self._cut(stretch)
        slots: list[Slot] = []
        explained = [*(PARTS.index(name) for name in PARTS[:wanted] if name in self.prompt.features)]
        explained += range(wanted, wanted + len(self.blocks))
        parts: dict[int, tuple[list[int], Offsets]] = {part: ([], []) for part in explained}
        for part, group in groupby(tokens, key=lambda token: token[0]):
            own = list(group)
            ids = [one for _, one, _ in own]
            slots.append(Slot(part, np.asarray(ids if part == NO_FEATURE else [], dtype=np.int64), 0))
            if part != NO_FEATURE:
                parts[part] = (ids, [place for _, _, place in own])
        return Reading(slots, parts)

    def written(self, *texts: str) -> str:
        """Return the prompt about a text, or about two, as it is read."""
        return self.prompt.written(self.pieces, texts)

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

    def _stretches(self, texts: Sequence[str]) -> Iterator[_Stretch | Token]:
        """Yield control tokens, and the words between them."""
        current = _Stretch()
        for piece in self.pieces:
            if isinstance(piece, int) and piece < len(texts):
                current.add(texts[piece], piece if PARTS[piece] in self.prompt.features else NO_FEATURE)
                continue
            block, before = isinstance(piece, int), 0
            whole = self.blocks[piece - len(texts)].words if isinstance(piece, int) else piece
            part = piece if isinstance(piece, int) else NO_FEATURE
            for words in self._controls.split(whole) if self._controls else [whole]:
                if self._controls is None or not self._controls.fullmatch(words):
                    current.add(words, part, before)
                else:
                    yield current
                    place = (before, before + len(words)) if block else (0, 0)
                    yield part, int(self._tokenizer.convert_tokens_to_ids(words)), place
                    current = _Stretch()
                before += len(words)
        yield current

    def _cut(self, stretch: _Stretch) -> Iterator[Token]:
        """Cut words into tokens; one belongs to the part that holds its first visible character."""
        if not stretch.words:
            return
        for token, (start, end) in zip(*tokens_of(self._tokenizer, stretch.words), strict=True):
            visible = first_visible(stretch.words, start, end)
            anchor = start if visible is None else visible
            inside = [one for one in stretch.parts if one[1] <= anchor < one[2]]
            if not inside:
                yield NO_FEATURE, token, (0, 0)
                continue
            ((part, first, last, before),) = inside
            yield part, token, (max(start, first) - first + before, min(end, last) - first + before)

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


def replacement_tokens(tokenizer: Any, prompt: Prompt) -> dict[str, int]:  # noqa: ANN401  transformers' own type
    """Return the neutral token, and the unknown one where it is not a control token that goes by that name."""
    found, unknown = {"neutral": _neutral_token(tokenizer, prompt)}, tokenizer.unk_token_id
    if unknown is not None and "unk" in str(tokenizer.unk_token).lower():
        found["unk"] = int(unknown)
    return found


def control_notes(tokenizer: Any, replacements: Mapping[str, int]) -> list[str]:  # noqa: ANN401
    """Say which tokens that stand for removed words elsewhere are control tokens here."""
    tokens = {name: getattr(tokenizer, f"{name}_token", None) for name in ("unk", "pad")}
    there = [f"{name} ({token})" for name, token in tokens.items() if token and name not in replacements]
    several = "are control tokens, and no removers" if there[1:] else "is a control token, and no remover"
    return [f"{' and '.join(there)} {several}, of this model"] if there else []


def _neutral_token(tokenizer: Any, prompt: Prompt) -> int:  # noqa: ANN401  transformers' own type
    """Return the token that stands for a removed word: the one that a prompt names, else the first that there is."""
    for words in NEUTRAL if prompt.neutral is None else (prompt.neutral,):
        ids, _ = tokens_of(tokenizer, words)
        if len(ids) == 1:
            return ids[0]
    if prompt.neutral is not None:
        raise SettingError(f"neutral = '{prompt.neutral}' must be one token of the model; it is {len(ids)}.")
    raise ModelError("no neutral word is one token of this model; name one in the prompt: neutral = '...'.")


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
    parts = re.split(MARK.format("(\\d+)"), whole)
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
