"""A masked language model with its tokenizer: reading it, and asking it about single positions."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from sys import getsizeof
from threading import Lock
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from whylight.core.arrays import Bools, Ints
from whylight.core.errors import ModelError, WhylightError
from whylight.core.segment import one_word
from whylight.models import promises
from whylight.models.batching import default_token_budget
from whylight.models.bundled_start import MASKED, MASKED_NAME, bundled_folder
from whylight.models.contents import model_contents
from whylight.models.devices import move
from whylight.models.folder import check_folder, existing, is_failure, quoted, reason
from whylight.models.reading import loading
from whylight.models.unchanged import unchanged
from whylight.views.filling import APART, JOINED, WITHIN
from whylight.views.tokens import TokenBatch

KIND = "a masked language model"
STARTS = ("Ġ", "▁")
"""What the pieces that start a word begin with, in vocabularies that mark these."""
CONTINUES = "##"
"""What the pieces that go on with a word begin with, in vocabularies that mark those."""
REMEMBERED = 2**28
"""Bytes that may be taken for answers: six hundred thousand rows of one blank with the usual number of words."""
EMPTY = getsizeof(OrderedDict())
"""Bytes of a dictionary that knows nothing yet."""
BROKEN = "\ufffd"
"""What stands for a part of a character."""


class FilledBlanks(MutableMapping[bytes, tuple[bytes, ...]]):
    """What was answered to rows, packed blank by blank; the oldest are forgotten beyond a number of bytes.

    Classifiers in several threads share one.
    """

    def __init__(self) -> None:
        self._known = OrderedDict[bytes, tuple[bytes, ...]]()
        self._answers, self._lock = 0, Lock()

    @property
    def size(self) -> int:
        """Bytes that Python takes for the answers, for what was asked, and for finding them."""
        return self._answers + getsizeof(self._known) - EMPTY

    def __getitem__(self, key: bytes) -> tuple[bytes, ...]:
        with self._lock:
            return self._known[key]

    def __setitem__(self, key: bytes, answers: tuple[bytes, ...]) -> None:
        with self._lock:
            self._forget(key)
            self._known[key] = answers
            self._answers += _bytes_of(key, answers)
            while self._known and self.size > REMEMBERED:
                self._forget(next(iter(self._known)))

    def __delitem__(self, key: bytes) -> None:
        with self._lock:
            if not self._forget(key):
                raise KeyError(key)

    def __iter__(self) -> Iterator[bytes]:
        with self._lock:
            return iter([*self._known])

    def __len__(self) -> int:
        return len(self._known)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._known.clear()
            self._answers = 0

    def _forget(self, key: bytes) -> bool:
        answers = self._known.pop(key, None)
        self._answers -= 0 if answers is None else _bytes_of(key, answers)
        return answers is not None


def _bytes_of(key: bytes, answers: tuple[bytes, ...]) -> int:
    return getsizeof(key) + getsizeof(answers) + sum(map(getsizeof, answers))


class MaskedModel:
    """A masked language model with its tokenizer.

    Attributes:
        known: What was answered before, packed, by what was asked.

    Args:
        model: A Hugging Face model with a masked language modelling head.
        tokenizer: Its fast tokenizer.
        name: What to call it in a message.
        fresh: Whether its head is new.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str, fresh: bool = False) -> None:  # noqa: ANN401
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(f"the tokenizer of {quoted(name)} gives no character offsets; use a fast one.")
        if tokenizer.mask_token_id is None:
            raise ModelError(f"{quoted(name)} has no mask token: it is not {KIND} that can fill blanks.")
        self.model, self.tokenizer, self.name, self.fresh = model.eval(), tokenizer, name, fresh
        self.limit = promises.limit(model, tokenizer, max_tokens=None)
        self._budget = default_token_budget(model.device)
        self.known = FilledBlanks()
        self._allowed: dict[tuple[bool, int], Bools] = {}

    @cached_property
    def contents(self) -> Mapping[str, str]:
        """Hashes of weights, configuration and tokenizer."""
        return model_contents(self.model, self.tokenizer)

    @cached_property
    def words(self) -> list[str]:
        """Every token as a word; nothing where it is none."""
        special = set(self.tokenizer.all_special_ids)
        return [
            "" if number in special or not name else self.tokenizer.convert_tokens_to_string([name]).strip()
            for number, name in enumerate(self._names)
        ]

    @cached_property
    def _names(self) -> list[str]:
        names = self.tokenizer.convert_ids_to_tokens(list(range(len(self.tokenizer))))
        return [name or "" for name in names]

    @cached_property
    def marks(self) -> bool:
        """Whether pieces that start a word are marked, rather than those that go on with one.

        Either mark may be in a vocabulary of the other kind: "Ġ" is a letter too.
        """
        starts, goes_on = (sum(name.startswith(mark) for name in self._names) for mark in (STARTS, CONTINUES))
        return starts > goes_on

    @cached_property
    def pieces(self) -> Bools:
        """Which tokens only go on with a word."""
        if self.marks:
            return np.asarray([not name.startswith(STARTS) for name in self._names])
        return np.asarray([name.startswith(CONTINUES) for name in self._names])

    def allowed(self, *, fragments: bool, stands: int = APART) -> Bools:
        """Say which tokens may stand in a blank; asked for once.

        In a vocabulary that marks the blank before a word, a word that stands without one ("The" at the start of a
        text, "good" in "(good)", a comma) is another token than elsewhere: it is a word if it is one with the mark too,
        or a sign. Behind a letter or digit a word would go on with that one, so that only signs are left; but where
        words were written together, any piece without the mark is how a word is written.

        Args:
            fragments: Whether pieces of words will do.
            stands: What the blank stands behind.
        """
        key = (fragments, stands if self.marks and not fragments else APART)
        if key not in self._allowed:
            self._allowed[key] = self._fitting(*key)
        return self._allowed[key]

    def _fitting(self, fragments: bool, stands: int) -> Bools:  # noqa: FBT001  a key
        known = np.asarray([bool(word) and BROKEN not in word and word.isprintable() for word in self.words])
        if fragments:
            return known
        words = known & ~self.pieces
        if stands == APART:
            return words
        alone = {word for word, whole in zip(self.words, words, strict=True) if whole and stands == JOINED}
        whole = [stands == WITHIN or word in alone or _is_sign(word) for word in self.words]
        joined = known & self.pieces & np.asarray(whole)
        return joined if joined.any() else words

    def run(self, rows: TokenBatch, blanks: Sequence[Ints]) -> list[torch.Tensor]:
        """Return the logits of the blanks of each row, `[blanks, vocabulary]`."""
        device = self.model.device
        ids, types = (torch.as_tensor(np.ascontiguousarray(one), device=device) for one in (rows.ids, rows.types))
        mask = torch.arange(ids.shape[1], device=device) < torch.as_tensor(rows.lengths, device=device)[:, None]
        given = {"input_ids": ids.masked_fill(~mask, self.tokenizer.pad_token_id or 0), "attention_mask": mask.long()}
        if "token_type_ids" in self.tokenizer.model_input_names:
            given["token_type_ids"] = types
        row = np.repeat(np.arange(len(blanks)), [len(own) for own in blanks])
        at = (torch.as_tensor(row, device=device), torch.as_tensor(np.concatenate(blanks), device=device))
        with unchanged(self.model), torch.inference_mode(), states_at(self.model, at):
            logits: torch.Tensor = self.model(**given).logits
        if logits.shape[:2] != (1, len(row)):  # the head is not what reads the states of the encoder
            raise ModelError(f"the head of {quoted(self.name)} cannot be asked about single tokens.")
        ends = np.cumsum([len(own) for own in blanks])
        return [logits[0, end - len(own) : end] for own, end in zip(blanks, ends.tolist(), strict=True)]

    def batches(self, lengths: Ints) -> list[Ints]:
        """Divide rows into batches, longest first."""
        order, found = np.argsort(-lengths, kind="stable"), []
        while len(order):
            size = max(1, self._budget // max(1, int(lengths[order[0]])))
            found.append(order[:size])
            order = order[size:]
        return found


def _is_sign(word: str) -> bool:
    """Say whether there is no letter in it, nor a mark that would go on with one: vowel signs are tokens too."""
    return not any(map(str.isalnum, word)) and not one_word("a", word)


@contextmanager
def states_at(model: Any, at: tuple[torch.Tensor, torch.Tensor]) -> Iterator[None]:  # noqa: ANN401
    """Let the head of a model see some positions alone: it is half of the work, and most positions are no blanks.

    Args:
        model: A model of an encoder and a head that reads each position by itself.
        at: Rows and positions.
    """

    def narrowed(_module: object, _given: object, output: Any) -> Any:  # noqa: ANN401  a model output of transformers
        output.last_hidden_state = output.last_hidden_state[at][None]
        return output

    hook = model.base_model.register_forward_hook(narrowed)
    try:
        yield
    finally:
        hook.remove()


def read_masked(path: str, *, fresh: bool = False, seed: int = 0, device: torch.device | None = None) -> MaskedModel:
    """Read a masked language model; one whose head the weights do not fill would fill blanks at random.

    Args:
        path: Folder, hub id or the name of the bundled one.
        fresh: Whether an encoder without a head will do, which gets a new one.
        seed: Of that.
        device: Where it is to run.
    """
    name, path = path, bundled_folder(path, {MASKED_NAME: MASKED}, kind=KIND.removeprefix("a "))
    folder = existing(path)
    if folder is not None:
        check_folder(folder, allow_pickle=False, any_task=True)
    options: dict[str, Any] = {"trust_remote_code": False}
    with loading(path, KIND), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model, report = AutoModelForMaskedLM.from_pretrained(
            path, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **options
        )
        tokenizer = AutoTokenizer.from_pretrained(Path(path) if folder else path, **options)
    absent = sorted({*map(str, report["missing_keys"]), *(str(key[0]) for key in report["mismatched_keys"])})
    encoder = [name for name in absent if name.startswith(f"{model.base_model_prefix}.")]
    if encoder or (absent and not fresh):
        lacking = (encoder or absent)[0]
        raise ModelError(
            f"{quoted(path)} is no trained masked language model: its weights lack {lacking}, which would be random."
        )
    if device is not None:
        move(model, device)
    found = MaskedModel(model, tokenizer, name=name, fresh=bool(absent))
    _try_out(found)
    return found


def _try_out(masked: MaskedModel) -> None:
    """Fill one blank, and refuse a model that cannot."""
    tokenizer, name = masked.tokenizer, quoted(masked.name)
    row = np.asarray([tokenizer(str(tokenizer.mask_token))["input_ids"]])
    blank = np.flatnonzero(row[0] == tokenizer.mask_token_id)[:1]
    try:
        (logits,) = masked.run(TokenBatch(row, np.zeros_like(row), np.asarray([row.shape[1]])), [blank])
    except WhylightError:
        raise
    except Exception as error:
        if not is_failure(error):
            raise
        raise ModelError(f"{name} cannot be run on a text with a blank: {reason(error)}") from error
    words, tokens = logits.shape[-1], len(tokenizer)
    if words < tokens:
        raise ModelError(
            f"the tokenizer of {name} has {tokens} tokens, and its model writes {words}; use its own tokenizer, or "
            "model.resize_token_embeddings(len(tokenizer))."
        )
    if not bool(torch.isfinite(logits).all()):
        raise ModelError(f"{name} answers with what is no finite number.")
