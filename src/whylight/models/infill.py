"""A masked language model in front of a classifier: it reads the same words in its own tokens, and fills blanks.

A word that is removed becomes one blank, whatever pieces it had. A text that is longer than the masked language model
reads is read in windows, and each word is asked about in the window in which it is farthest from the edges. What was
asked before is remembered, by the row.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from whylight.core.arrays import Bools, Ints
from whylight.core.errors import IncompatibleError, ModelError
from whylight.core.text import Span, Text
from whylight.models import promises, tokenised
from whylight.models.batching import default_token_budget
from whylight.models.contents import model_contents
from whylight.models.folder import check_folder, existing, quoted
from whylight.models.holding import held
from whylight.models.reading import loading
from whylight.models.unchanged import unchanged
from whylight.views.classifier import Classifier
from whylight.views.filling import Draft, Likely
from whylight.views.tokens import NO_FEATURE, TokenBatch, TokenWindow

KIND = "a masked language model"
REMEMBERED = 200_000
"""Rows whose blanks are remembered."""
STARTS = ("Ġ", "▁")
"""What the pieces that start a word begin with, in vocabularies that mark these."""
CONTINUES = "##"
"""What the pieces that go on with a word begin with, in vocabularies that mark those."""
_FILLERS: MutableMapping[Classifier, dict[str, "MaskedFiller"]] = WeakKeyDictionary()


class MaskedModel:
    """A masked language model with its tokenizer.

    Args:
        model: A Hugging Face model with a masked language modelling head.
        tokenizer: Its fast tokenizer.
        name: What to call it in a message.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str) -> None:  # noqa: ANN401  transformers' own types
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(f"the tokenizer of {quoted(name)} gives no character offsets; use a fast one.")
        if tokenizer.mask_token_id is None:
            raise ModelError(f"{quoted(name)} has no mask token: it is not {KIND} that can fill blanks.")
        self.model, self.tokenizer, self.name = model.eval(), tokenizer, name
        self.limit = promises.limit(model, tokenizer, max_tokens=None)
        self._budget = default_token_budget(model.device)

    @cached_property
    def contents(self) -> Mapping[str, str]:
        """Hashes of weights, configuration and tokenizer."""
        return {f"infill {name}": value for name, value in model_contents(self.model, self.tokenizer).items()}

    @cached_property
    def words(self) -> list[str]:
        """Every token as a word; nothing where it is none."""
        names = self.tokenizer.convert_ids_to_tokens(list(range(len(self.tokenizer))))
        special = set(self.tokenizer.all_special_ids)
        return [
            "" if number in special or name is None else self.tokenizer.convert_tokens_to_string([name]).strip()
            for number, name in enumerate(names)
        ]

    @cached_property
    def pieces(self) -> Bools:
        """Which tokens only go on with a word."""
        names = [name or "" for name in self.tokenizer.convert_ids_to_tokens(list(range(len(self.tokenizer))))]
        marked = any(name.startswith(STARTS) for name in names)
        return np.asarray([not name.startswith(STARTS) if marked else name.startswith(CONTINUES) for name in names])

    def allowed(self, *, fragments: bool) -> Bools:
        """Say which tokens may stand in a blank."""
        known = np.asarray([bool(word) for word in self.words])
        return known if fragments else known & ~self.pieces

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


class MaskedFiller:
    """A masked language model that fills blanks for one classifier.

    Args:
        masked: The masked language model.
        tokenizer: The classifier's tokenizer; None where it reads plain text.
        limit: Tokens that the classifier reads at once.
    """

    def __init__(self, masked: MaskedModel, tokenizer: Any, *, limit: int | None) -> None:  # noqa: ANN401
        self.masked, self.limit = masked, limit
        self.mask = int(masked.tokenizer.mask_token_id)
        self._tokenizer = tokenizer
        self._known: OrderedDict[tuple[bytes, bytes, int, bool], Likely] = OrderedDict()
        self._spelled: dict[tuple[str, str], Ints] = {}

    @property
    def contents(self) -> Mapping[str, str]:
        """Hashes of the masked language model."""
        return self.masked.contents

    def draft(self, texts: Sequence[str], spans: Sequence[Span]) -> Draft:
        """Read a text, or a pair, with features at these places."""
        words, feature = _all_words(texts, spans)
        example = Text(texts[0], texts[1] if texts[1:] else None, words=tuple(words))
        tokenizer = self.masked.tokenizer
        with held(tokenizer):
            encoded = tokenised.encode(tokenizer, example, unit="word", long="window", limit=self.masked.limit)
        number = np.asarray([*feature, NO_FEATURE])
        windows = tuple(_renumbered(one, number) for one in encoded.windows if isinstance(one, TokenWindow))
        content = np.concatenate([one.ids[one.feature != NO_FEATURE] for one in windows])
        if len(content) and (content == tokenizer.unk_token_id).all():
            raise IncompatibleError(
                f"the masked language model {quoted(self.masked.name)} knows none of the words of the text; use one "
                "with a vocabulary that can express it."
            )
        return Draft(windows, _farthest_from_edges(windows, len(spans)))

    def likely(self, rows: TokenBatch, blanks: Sequence[Ints], *, top: int, fragments: bool) -> list[Likely]:
        """Return the likeliest words for the blanks of rows; what was asked before is remembered."""
        keys = [(key, own.tobytes(), top, fragments) for key, own in zip(rows.keys(), blanks, strict=True)]
        fresh = {key: i for i, key in enumerate(keys) if key not in self._known}
        found = {key: self._known[key] for key in keys if key in self._known}
        names, indices = list(fresh), np.fromiter(fresh.values(), dtype=np.int64, count=len(fresh))
        for chosen in self.masked.batches(rows.lengths[indices]) if fresh else ():
            logits = self.masked.run(rows.take(indices[chosen]), [blanks[i] for i in indices[chosen]])
            for number, own in zip(chosen, logits, strict=True):
                found[names[number]] = self._best(own, top=top, fragments=fragments)
        self._remember({key: found[key] for key in names})
        return [found[key] for key in keys]

    def word(self, token: int) -> str:
        """Return a token as a word."""
        return self.masked.words[token]

    def spelled(self, word: str, before: str) -> Ints:
        """Return a word in the classifier's tokens; what stands before it decides how some tokenizers begin it."""
        if (word, before) not in self._spelled:
            self._spelled[word, before] = self._spell(word, before)
        return self._spelled[word, before]

    def _spell(self, word: str, before: str) -> Ints:
        if not word:
            return np.empty(0, dtype=np.int64)
        for anchor in (f"a{before}" if before.isspace() else before, ""):
            with held(self._tokenizer):
                tokens = tokenised.tokens_of(self._tokenizer, anchor + word)
            length = len(anchor.rstrip())
            behind = [start >= length for start, _ in tokens["offset_mapping"]]
            whole = all(start >= length or end <= length for start, end in tokens["offset_mapping"])
            if whole and any(behind):
                return np.asarray(tokens["input_ids"], dtype=np.int64)[behind]
        return np.empty(0, dtype=np.int64)

    def _best(self, logits: torch.Tensor, *, top: int, fragments: bool) -> Likely:
        allowed = torch.as_tensor(_allowed(self.masked, fragments), device=logits.device)
        scores = logits[:, : len(allowed)].double().masked_fill(~allowed, -torch.inf)
        values, tokens = torch.softmax(scores, dim=-1).topk(min(top, int(allowed.sum())), dim=-1)
        return Likely(tokens.cpu().numpy(), values.cpu().numpy())

    def _remember(self, found: Mapping[tuple[bytes, bytes, int, bool], Likely]) -> None:
        self._known.update(found)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


@cache
def _allowed(masked: MaskedModel, fragments: bool) -> Bools:  # noqa: FBT001  a key of a cache
    return masked.allowed(fragments=fragments)


def _all_words(texts: Sequence[str], spans: Sequence[Span]) -> tuple[list[Span], list[int]]:
    """Return features, and whatever is visible between them, in reading order, with the number of each or -1."""
    words, numbers = [], []
    for part, text in enumerate(texts):
        own = sorted((span.start, span.end, number) for number, span in enumerate(spans) if span.part == part)
        position = 0
        for start, end, number in [*own, (len(text), len(text), NO_FEATURE)]:
            between = text[position:start]
            if between.strip():
                first = position + len(between) - len(between.lstrip())
                words.append(Span(part, first, first + len(between.strip())))
                numbers.append(NO_FEATURE)
            if end > start:
                words.append(Span(part, start, end))
                numbers.append(number)
            position = end
    return words, numbers


def _renumbered(window: TokenWindow, number: Ints) -> TokenWindow:
    return TokenWindow(window.ids, window.types, number[window.feature], window.token)


def _farthest_from_edges(windows: Sequence[TokenWindow], features: int) -> Ints:
    """Return the window in which each feature is farthest from both ends; -1 where none holds it."""
    best, farthest = np.full(features, -1), np.full(features, -1)
    for number, window in enumerate(windows):
        place = np.arange(len(window.ids))
        distance = np.minimum(place, len(window.ids) - 1 - place)
        for feature in window.features.tolist():
            own = int(distance[window.feature == feature].min())
            if own > farthest[feature]:
                best[feature], farthest[feature] = number, own
    return best


def filler_of(classifier: Classifier, path: str) -> MaskedFiller:
    """Return a masked language model in front of a classifier, opened once.

    Args:
        classifier: The classifier.
        path: Folder or hub id of the masked language model.
    """
    known = _FILLERS.setdefault(classifier, {})
    if path not in known:
        network = getattr(classifier, "network", None)
        tokenizer = None if network is None else network.tokenizer
        limit = None if network is None else int(network.limit)
        known[path] = MaskedFiller(read_masked(path), tokenizer, limit=limit)
    return known[path]


def read_masked(path: str) -> MaskedModel:
    """Read a masked language model; one whose head the weights do not fill would fill blanks at random."""
    folder = existing(path)
    if folder is not None:
        check_folder(folder, allow_pickle=False, any_task=True)
    options: dict[str, Any] = {"trust_remote_code": False}
    with loading(path, KIND):
        model, report = AutoModelForMaskedLM.from_pretrained(
            path, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **options
        )
        tokenizer = AutoTokenizer.from_pretrained(Path(path) if folder else path, **options)
    absent = sorted({*map(str, report["missing_keys"]), *(str(key[0]) for key in report["mismatched_keys"])})
    if absent:
        raise ModelError(
            f"{quoted(path)} is no trained masked language model: its weights lack {absent[0]}, which would be random."
        )
    return MaskedModel(model, tokenizer, name=path)
