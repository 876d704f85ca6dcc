"""A masked language model in front of a classifier: it reads the same words in its own tokens, and fills blanks.

A word that is removed becomes one blank, whatever pieces it had. A text that is longer than the masked language model
reads is read in windows, and each word is asked about in the window in which it is farthest from the edges. What was
asked before is remembered, by the row.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from whylight.core.arrays import Ints
from whylight.core.encoded import key_of
from whylight.core.errors import IncompatibleError, InputError
from whylight.core.segment import ends_in_word, one_word
from whylight.core.text import Span, Text
from whylight.models import tokenised
from whylight.models.folder import existing, quoted
from whylight.models.holding import held
from whylight.models.masked import MaskedModel, read_masked
from whylight.views.classifier import Classifier
from whylight.views.filling import APART, BEHIND_LETTER, JOINED, NO_TOKEN, WITHIN, Draft, Likely
from whylight.views.tokens import NO_FEATURE, TokenBatch, TokenWindow

_FolderState = tuple[tuple[str, int, int], ...]
"""Names, sizes and times of files."""
_FILLERS: MutableMapping[Classifier, dict[str, tuple[_FolderState, "MaskedFiller"]]] = WeakKeyDictionary()


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
        self._spelled: dict[tuple[str, str], bytes] = {}

    @property
    def contents(self) -> Mapping[str, str]:
        """Hashes of the masked language model."""
        return self.masked.contents

    def draft(self, texts: Sequence[str], spans: Sequence[Span]) -> Draft:
        """Read a text, or a pair, with features at these places."""
        words, feature = _all_words(texts, spans)
        example = Text(texts[0], texts[1] if texts[1:] else None, words=tuple(words))
        tokenizer = self.masked.tokenizer
        try:
            with held(tokenizer):
                encoded = tokenised.encode(tokenizer, example, unit="word", long="window", limit=self.masked.limit)
        except InputError as error:
            raise IncompatibleError(f"the masked language model {quoted(self.masked.name)}: {error}") from None
        number = np.asarray([*feature, NO_FEATURE])
        windows = tuple(_renumbered(one, number) for one in encoded.windows if isinstance(one, TokenWindow))
        content = np.concatenate([one.ids[one.feature != NO_FEATURE] for one in windows])
        if len(content) and (content == tokenizer.unk_token_id).all():
            raise IncompatibleError(
                f"the masked language model {quoted(self.masked.name)} knows none of the words of the text; use one "
                "with a vocabulary that can express it."
            )
        best = _farthest_from_edges(windows, len(spans))
        tokens = _tokens_of_features(windows, best)
        own = np.asarray([ids[0] if len(ids) == 1 else NO_TOKEN for ids in tokens], dtype=np.int64)
        stands = [self._stand(ids, texts[span.part], span) for ids, span in zip(tokens, spans, strict=True)]
        return Draft(windows, best, own, np.asarray(stands, dtype=np.int64))

    def likely(
        self, rows: TokenBatch, blanks: Sequence[Ints], stands: Sequence[Ints], *, top: int, fragments: bool
    ) -> list[Likely]:
        """Return the likeliest words for the blanks of rows; what was asked before is remembered."""
        asked = f"{top} {fragments}".encode()
        places = [own.tobytes() + behind.tobytes() for own, behind in zip(blanks, stands, strict=True)]
        keys = [key_of(key + place + asked) for key, place in zip(rows.keys(), places, strict=True)]
        found = {key: known for key in keys if (known := self.masked.known.get(key)) is not None}
        fresh = {key: i for i, key in enumerate(keys) if key not in found}
        names, indices = list(fresh), np.fromiter(fresh.values(), dtype=np.int64, count=len(fresh))
        for chosen in self.masked.batches(rows.lengths[indices]) if fresh else ():
            logits = self.masked.run(rows.take(indices[chosen]), [blanks[i] for i in indices[chosen]])
            for number, own in zip(chosen, logits, strict=True):
                behind = stands[indices[number]]
                found[names[number]] = _packed(self._best(own, behind, top=top, fragments=fragments))
        for key in names:
            self.masked.known[key] = found[key]
        return [_unpacked(found[key]) for key in keys]

    def word(self, token: int) -> str:
        """Return a token as a word."""
        return self.masked.words[token]

    def spelled(self, word: str, before: str) -> Ints:
        """Return a word in the classifier's tokens; what stands before it decides how some tokenizers begin it."""
        if (word, before) not in self._spelled:
            self._spelled[word, before] = self._spell(word, before).tobytes()
        return np.frombuffer(self._spelled[word, before], dtype=np.int64)

    def _spell(self, word: str, before: str) -> Ints:
        if not word:
            return np.empty(0, dtype=np.int64)
        # behind a letter with which it is one token, a word is spelled as behind a sign: without a mark of its own
        for anchor in (f"a{before}", "") if before.isspace() else (before, "(" if before else "", ""):
            with held(self._tokenizer):
                ids, offsets = tokenised.tokens_of(self._tokenizer, anchor + word)
            length = len(anchor.rstrip())
            behind = [start >= length for start, _ in offsets]
            whole = all(start >= length or end <= length for start, end in offsets)
            if whole and any(behind):
                return np.asarray(ids, dtype=np.int64)[behind]
        return np.empty(0, dtype=np.int64)

    def _stand(self, ids: Ints, text: str, span: Span) -> int:
        """Say what a feature of these tokens stands behind; a vocabulary without marks does not tell."""
        if not len(ids) or not self.masked.marks or not self.masked.pieces[ids[0]]:
            return APART
        before = text[: span.start]
        if one_word(before, text[span.start : span.end]):
            return WITHIN
        return BEHIND_LETTER if ends_in_word(before) else JOINED

    def _best(self, logits: torch.Tensor, stands: Ints, *, top: int, fragments: bool) -> Likely:
        alike = stands[:1] if (stands == stands[0]).all() else stands  # nearly always
        allowed = np.stack([self.masked.allowed(fragments=fragments, stands=int(one)) for one in alike])
        given = torch.as_tensor(allowed, device=logits.device)
        scores = logits[:, : allowed.shape[1]].double().masked_fill(~given, -torch.inf)
        values, tokens = torch.softmax(scores, dim=-1).topk(min(top, allowed.shape[1]), dim=-1)
        return Likely(tokens.cpu().numpy(), values.cpu().numpy())


def _packed(likely: Likely) -> tuple[bytes, ...]:
    """Return the words of each blank as a few bytes.

    Python has room of its own for these. Thousands of small arrays would stand between the large ones that a network
    takes and gives back, whose room could then not be used again: the process would grow by megabytes per text.
    """
    both = np.stack([likely.tokens.astype(np.float64), likely.probabilities], axis=1)  # [blanks, 2, words]
    return tuple(own.tobytes() for own in both)


def _unpacked(packed: tuple[bytes, ...]) -> Likely:
    """Return what was packed."""
    both = np.frombuffer(b"".join(packed)).reshape(len(packed), 2, -1)
    return Likely(both[:, 0].astype(np.int64), both[:, 1])


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


def _tokens_of_features(windows: Sequence[TokenWindow], best: Ints) -> list[Ints]:
    """Return the tokens of each feature in the window in which it is asked about; none where no window holds it."""
    none = np.empty(0, dtype=np.int64)
    return [
        windows[number].ids[windows[number].feature == feature] if number >= 0 else none
        for feature, number in enumerate(best.tolist())
    ]


def filler_of(classifier: Classifier, path: str) -> MaskedFiller:
    """Return a masked language model in front of a classifier, opened once, and again if its folder changes.

    Args:
        classifier: The classifier.
        path: Folder or hub id of the masked language model.
    """
    known, state = _FILLERS.setdefault(classifier, {}), _state_of(path)
    found, filler = known.get(path, (None, None))
    if filler is None or found != state:
        network = getattr(classifier, "network", None)
        tokenizer = None if network is None else network.tokenizer
        limit = None if network is None else int(network.limit)
        device = None if network is None else network.device
        filler = MaskedFiller(_masked(path, state, device), tokenizer, limit=limit)
        known[path] = (state, filler)
    return filler


@lru_cache(maxsize=2)
def _masked(path: str, state: _FolderState, device: torch.device | None) -> MaskedModel:  # noqa: ARG001  a folder may change
    """Read a masked language model once for all classifiers that it stands in front of, such as randomised twins."""
    return read_masked(path, device=device)


def _state_of(path: str) -> _FolderState:
    """Return names, sizes and times of the files of a folder, which are others once it is written again."""
    folder = existing(path)
    try:
        files = [(one.name, one.lstat()) for one in sorted(folder.iterdir())] if folder is not None else []
    except OSError:  # no folder, or one that cannot be read: whoever reads it says so
        return ()
    return tuple((name, one.st_size, one.st_mtime_ns) for name, one in files)
