"""A text in its prompt, as tokens, and the answers behind it.

Prompt and text are cut into tokens together, as the model would read them, because " great" behind "Review:" is another
token than "great". Control tokens (those of a chat template) are boundaries: they are read as such where the prompt has
them, and as plain characters where a user typed them, so that no text can end its own message.

Some vocabularies cut no border between a text and its prompt: to Llama 3 and Qwen a full stop and the new line behind
it are one token. Such a token is of the prompt, of which nothing is ever removed, and a note says so. Blanks before a
word go with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from whylight.core.arrays import Ints
from whylight.core.errors import InputError, ModelError, SettingError
from whylight.core.prompt import PARTS, Prompt, between, without_end
from whylight.core.text import Text
from whylight.models.chat import control_tokens, in_chat
from whylight.models.slots import Offsets, Reading, Slot, layout
from whylight.models.tokenised import check_text, first_visible, tokens_of
from whylight.views.tokens import NO_FEATURE

NEUTRAL = (" ...", "...", " _", "_", " .", ".")
"""What may stand for a removed word; the first that is one token does."""
Token = tuple[int, int, tuple[int, int]]
"""The part that a token is of (or -1), its id, and where in the part it stands."""
SHOWN, LISTED = 3, 6
"""Tokens, and labels, that a note names."""
ANCHOR = "a"
"""What an answer is read behind where a prompt ends in its text: a vocabulary may begin every text with a blank."""


@dataclass(slots=True)
class _Stretch:
    """Words between two control tokens, and where in them parts stand.

    Attributes:
        control: The control token before them, empty at the beginning of a row.
        words: The words.
        parts: Of each part that is explained, its number, the first and one past the last of its characters here, and
            how many of its characters came before.
    """

    control: str = ""
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
        self._controls = control_tokens(tokenizer)
        pieces = in_chat(tokenizer, prompt) if prompt.chat else prompt.pieces
        self.pieces, self._blank = without_end(pieces)
        # a chat template holds its own first token; elsewhere a slot that is a text's has no ids
        self._start: list[int] = [] if prompt.chat else layout(tokenizer, pair=False)[0].ids.tolist()
        kept = self._behind_texts()
        split: list[str] = self._controls.split(kept) if self._controls else [kept]
        *before, self._tail = split
        self._control = before[-1] if before else ""  # which the tail stands behind
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
        shared: list[str] = []
        tokens = list(self._tokens(example.texts, shared))
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
        return Reading(slots, parts, notes=_border_notes(shared))

    def ids(self, *texts: str) -> list[int]:
        """Return the tokens of the prompt about a text, or about two, which may be empty."""
        return [one for _, one, _ in self._tokens(texts, [])]

    def _tokens(self, texts: Sequence[str], shared: list[str]) -> Iterator[Token]:
        """Yield the tokens of a row, and note those that hold characters of a part and of the prompt."""
        yield from ((NO_FEATURE, one, (0, 0)) for one in self._start)
        for stretch in self._stretches(texts):
            yield from [stretch] if isinstance(stretch, tuple) else self._cut(stretch, shared)

    def written(self, *texts: str) -> str:
        """Return the prompt about a text, or about two, as it is read."""
        return self.prompt.written(self.pieces, texts)

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
                    current = _Stretch(words)
                before += len(words)
        yield current

    def _cut(self, stretch: _Stretch, shared: list[str]) -> Iterator[Token]:
        """Cut words into tokens; one belongs to the part that holds its first visible character, and nothing behind."""
        if not stretch.words:
            return
        for token, (start, end) in zip(*self._read_behind(stretch.control, stretch.words), strict=True):
            visible = first_visible(stretch.words, start, end)
            anchor = start if visible is None else visible
            own = next((one for one in stretch.parts if one[1] <= anchor < one[2]), None)
            if _is_shared(stretch, own, anchor, end):
                shared += [] if visible is None else [stretch.words[start:end]]
                own = None
            if own is None:
                yield NO_FEATURE, token, (0, 0)
                continue
            part, first, last, before = own
            yield part, token, (max(start, first) - first + before, min(end, last) - first + before)

    def _read_behind(self, control: str, words: str) -> tuple[list[int], Offsets]:
        """Return ids and offsets of words behind a control token, which may take a blank, or bring one."""
        if not control or (self._controls is not None and self._controls.search(words)):
            return tokens_of(self._tokenizer, words)
        (first, *ids), (_, *places) = tokens_of(self._tokenizer, control + words, controls=True)
        if first != self._tokenizer.convert_tokens_to_ids(control):
            return tokens_of(self._tokenizer, words)
        size = len(control)
        return ids, [(max(0, start - size), max(0, end - size)) for start, end in places]

    def behind(self, answer: str) -> Ints:
        """Return the tokens of an answer, as they are behind the end of the prompt."""
        if not answer.strip():
            raise SettingError("a text that is to be explained as an answer is empty.")
        tail = self._tail or ("" if self._control else ANCHOR)
        before = self._read_behind(self._control, tail)[0] if tail else []
        joint = between(self.prompt, self._tail, self._blank, answer)
        ids = self._read_behind(self._control, tail + joint + answer)[0]
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


def _is_shared(stretch: _Stretch, own: tuple[int, int, int, int] | None, anchor: int, end: int) -> bool:
    """Say whether a token holds characters of a part and of the prompt; blanks before a word do not count.

    Args:
        stretch: The words that it is of.
        own: The part that it seems to belong to.
        anchor: Its first visible character.
        end: One past its last.
    """
    of_parts = {place for _, first, last, _ in stretch.parts for place in range(max(first, anchor), min(last, end))}
    others = [stretch.words[place] for place in range(anchor, end) if place not in of_parts]
    if own is not None:
        return any(one != " " for one in others)
    return any(not stretch.words[place].isspace() for place in of_parts)


def _border_notes(shared: Sequence[str]) -> tuple[str, ...]:
    """Say which tokens hold characters of a text and of its prompt."""
    if not shared:
        return ()
    named = ", ".join(repr(one) for one in shared[:SHOWN])
    several = f"tokens ({named}) hold" if shared[1:] else f"token ({named}) holds"
    whose = "they are the prompt's, and never" if shared[1:] else "it is the prompt's, and never"
    return (f"{len(shared)} {several} characters of the text and of the prompt around it; {whose} removed",)


def replacement_tokens(tokenizer: Any, prompt: Prompt) -> dict[str, int]:  # noqa: ANN401  transformers' own type
    """Return the neutral token, and the unknown one where it is not a control token that goes by that name."""
    found, unknown = {"neutral": _neutral_token(tokenizer, prompt)}, tokenizer.unk_token_id
    if unknown is not None and "unk" in str(tokenizer.unk_token).lower():
        found["unk"] = int(unknown)
    return found


def scoring_notes(prompt: Prompt, answers: Sequence[Ints]) -> list[str]:
    """Say how answers of several tokens are scored, and how many tokens each has."""
    counts = [len(ids) for ids in answers]
    each = ", ".join(f"{label}: {count}" for label, count in zip(prompt.answers, counts, strict=True))
    told = each if len(counts) <= LISTED else f"{min(counts)} to {max(counts)}"
    how = "mean" if prompt.scoring == "mean" else "sum of the"
    return [f"the logit of a label is the {how} log-probability of the tokens of its answer ({told})"]


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
