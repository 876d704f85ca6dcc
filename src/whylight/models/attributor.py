"""A fitted attribution network with its tokenizer: how it reads a text, and how its folder is opened.

It reads of each text what the model reads of it, in windows of its own where that is more than it takes at once; a
token that two windows hold counts once in each. Its tokens are brought to the model's by characters
(`core/alignment.py`).

A folder is of one model: the hashes of that model stand in its configuration, and another one is refused by what
differs. They are computed when a folder is first opened in front of a classifier, and again when torch has counted a
change of the weights.
"""

import copy
import dataclasses
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoTokenizer

from whylight.core.alignment import Alignment, align
from whylight.core.errors import IncompatibleError, ModelError, SettingError
from whylight.core.text import Span, Text, text_of
from whylight.models import tokenised
from whylight.models.batching import default_token_budget
from whylight.models.contents import tokenizer_contents
from whylight.models.folder import ATTRIBUTION, CONFIG, check_inside, has_tokenizer, quoted, read_object
from whylight.models.holding import held
from whylight.models.networks.attribution import AttributionNetwork, head_scores
from whylight.models.reading import loading
from whylight.views.attributed import AttributedView
from whylight.views.attributor import DualMask, Reading, aligned
from whylight.views.classifier import Classifier
from whylight.views.tokens import NO_FEATURE, TokenWindow

CHECKPOINTS = "checkpoints"
"""Where a fit that is not finished keeps what it has."""
_OPENED: MutableMapping[Classifier, dict[str, "_Opened"]] = WeakKeyDictionary()


class TokenAttributor:
    """An attribution network and its tokenizer.

    Args:
        network: The network.
        tokenizer: Its fast tokenizer.
        notes: What every receipt must say about it.
    """

    def __init__(self, network: AttributionNetwork, tokenizer: Any, *, notes: tuple[str, ...] = ()) -> None:  # noqa: ANN401
        self.network, self.tokenizer, self.notes = network, tokenizer, notes
        self.mask = DualMask(**network.config.mask)
        self.metric = str(network.config.metric)
        self._budget = default_token_budget(network.device)

    @cached_property
    def _shares_tokens(self) -> bool:
        """Whether its tokenizer is the model's own."""
        return tokenizer_contents(self.tokenizer) == str(self.network.config.explains.get("tokenizer"))

    def read(self, view: AttributedView) -> Reading:
        """Read what the model reads of a text."""
        rows = tuple(window for window in view.encoded.windows if isinstance(window, TokenWindow))
        if self._shares_tokens and len(rows) == 1 and len(rows[0].ids) <= self.network.config.limit:
            each = np.arange(len(view.content))
            return Reading(rows, Alignment(each, view.content, len(each)), len(view.token))
        return self._aligned_reading(view)

    def _aligned_reading(self, view: AttributedView) -> Reading:
        """Read a text in tokens or windows of its own."""
        spans = view.model.spans()
        own = [spans[number] for number in view.token[view.content]]
        text, first = _stretch(text_of(view.encoded.example), own)
        limit = int(self.network.config.limit)
        with held(self.tokenizer):
            encoded = tokenised.encode(self.tokenizer, text, unit="token", long="window", limit=limit)
            every = token_spans(self.tokenizer, text)
        rows = tuple(window for window in encoded.windows if isinstance(window, TokenWindow))
        numbers = [int(number) for row in rows for number in row.token if number != NO_FEATURE]
        sources = [_moved(every[number], first) for number in numbers]
        # windows overlap, and alignment takes tokens in reading order
        order = sorted(range(len(sources)), key=lambda i: sources[i])
        found = align([sources[i] for i in order], own)
        if not found.shared:
            raise IncompatibleError(
                "the tokenizer of the fitted network cannot be aligned with the model's: no token of one shares a "
                "character with a token of the other."
            )
        source, target = np.asarray(order, dtype=np.int64)[found.source], view.content[found.target]
        return Reading(rows, dataclasses.replace(found, source=source, target=target), len(view.token))

    def hidden(self, readings: Sequence[Reading], classes: Tensor) -> list[Tensor]:
        """Return the states of its tokens, special ones left out, `[tokens, width]` for each text."""
        rows = [(row, number) for number, reading in enumerate(readings) for row in reading.rows]
        states: dict[int, list[Tensor]] = {number: [] for number in range(len(readings))}
        size = max(1, self._budget // max(len(row.ids) + 1 for row, _ in rows))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            told = classes[[number for _, number in some]]
            for (row, number), own in zip(some, self._run([row for row, _ in some], told), strict=True):
                real = torch.as_tensor(np.flatnonzero(row.token != NO_FEATURE), device=own.device)
                states[number].append(own[real])
        return [torch.cat(own) for own in states.values()]

    def maps(self, readings: Sequence[Reading], classes: Tensor) -> list[Tensor]:
        """Return its maps, `[positions]` for each text."""
        states = self.hidden(readings, classes)
        return [
            aligned(self.scored(own, self.head()), reading, self.mask.merge)
            for own, reading in zip(states, readings, strict=True)
        ]

    def head(self) -> Mapping[str, Tensor]:
        """Return the weights of its head."""
        return self.network.head()

    def scored(self, hidden: Tensor, head: Mapping[str, Tensor]) -> Tensor:
        """Score states by the weights of a head."""
        return head_scores(hidden, head)

    def copy(self) -> "TokenAttributor":
        """Return a copy that can be trained without this one changing."""
        return TokenAttributor(copy.deepcopy(self.network).eval(), self.tokenizer, notes=self.notes)

    def restore(self, other: "TokenAttributor") -> None:
        """Take over the weights of another."""
        self.network.load_state_dict(other.network.state_dict())

    def parameters(self) -> list[nn.Parameter]:
        """Return the weights of encoder and head; as published, those of the embeddings are not among them."""
        fixed = {id(one) for one in self.network.embedding_parameters()} if self.mask.published else set()
        names = ("encoder.", "hidden.", "output.")
        own = self.network.named_parameters()
        return [one for name, one in own if name.startswith(names) and id(one) not in fixed]

    @property
    def learned(self) -> Tensor | None:
        """The learned embedding that stands for a masked token, if there is one."""
        return self.network.mask

    def _run(self, rows: Sequence[TokenWindow], classes: Tensor) -> Tensor:
        """Run some rows as one batch, `[rows, tokens, width]`."""
        device, width = self.network.device, max(len(row.ids) for row in rows)
        ids, types, mask = np.zeros((3, len(rows), width), dtype=np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row.ids)], types[place, : len(row.ids)] = row.ids, row.types
            mask[place, : len(row.ids)] = 1
        pad = self.tokenizer.pad_token_id or 0
        ids = np.where(mask, ids, pad)
        given = [torch.as_tensor(one, device=device) for one in (ids, mask)]
        states: Tensor = self.network(*given, classes.to(device), torch.as_tensor(types, device=device))
        return states


def token_spans(tokenizer: Any, text: Text) -> list[Span]:  # noqa: ANN401  transformers' own type
    """Return the characters of every token of a text, by the token's number."""
    return [
        Span(part, int(start), int(end))
        for part, own in enumerate(text.parts)
        for start, end in tokenised.tokens_of(tokenizer, own)[1]
    ]


def _stretch(text: Text, spans: Sequence[Span]) -> tuple[Text, list[int]]:
    """Return what of a text is covered by some tokens, from the first to the last, and where each part starts."""
    parts, first = [], []
    for number, own in enumerate(text.parts):
        edges = [(span.start, span.end) for span in spans if span.part == number and span.end > span.start]
        start, end = (min(a for a, _ in edges), max(b for _, b in edges)) if edges else (0, len(own))
        parts.append(own[start:end] if own[start:end].strip() else own)
        first.append(start if own[start:end].strip() else 0)
    return Text(parts[0], parts[1] if parts[1:] else None), first


def _moved(span: Span, first: Sequence[int]) -> Span:
    return Span(span.part, span.start + first[span.part], span.end + first[span.part])


@dataclass(frozen=True, slots=True)
class _Opened:
    """A folder that was opened, with what its files and the model were like at the time."""

    stamp: tuple[Any, ...]
    attributor: TokenAttributor


def open_fitted(classifier: Classifier, folder: str) -> TokenAttributor:
    """Open a fitted folder in front of a classifier.

    Raises:
        SettingError: It is no fitted folder, or was fitted to another model.
    """
    path = Path(folder)
    model = getattr(classifier, "model", None)
    changes = tuple((id(one), one._version) for one in (model.parameters() if model is not None else ()))  # noqa: SLF001
    files = tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(path.glob("*.*")))
    stamp = (files, changes)
    known = _OPENED.setdefault(classifier, {}).get(str(path))
    if known is not None and known.stamp == stamp:
        return known.attributor
    _check_fitted(path)
    found = read_attributor(path, device=None if model is None else model.device)
    _check_explains(found.network.config.explains, classifier, path)
    _OPENED[classifier][str(path)] = _Opened(stamp, found)
    return found


def read_attributor(path: Path, *, device: torch.device | None = None) -> TokenAttributor:
    """Read a fitted network and its tokenizer, onto a device."""
    with loading(path), torch.random.fork_rng():
        network, report = AttributionNetwork.from_pretrained(
            path, use_safetensors=True, local_files_only=True, dtype=torch.float32, output_loading_info=True
        )
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    if report["missing_keys"] or report["mismatched_keys"]:
        raise ModelError(f"{quoted(path)} is damaged: its weights lack {min(map(str, report['missing_keys']))}.")
    check_offsets(tokenizer)
    stopped = str(network.config.interrupted)
    network = network if device is None else network.to(device)
    return TokenAttributor(network.eval(), tokenizer, notes=(f"the network's fit was {stopped}",) if stopped else ())


def check_offsets(tokenizer: Any) -> None:  # noqa: ANN401  transformers' own type
    """Refuse a tokenizer that does not say where its tokens stand."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"the tokenizer '{type(tokenizer).__name__}' of the attribution network cannot be aligned with the "
            "model's: it gives no character offsets; use a fast one."
        )


def _check_fitted(path: Path) -> None:
    """Refuse what `whylight fit aml` did not make."""
    what = "run `whylight fit aml` to make one"
    if not path.is_dir():
        raise SettingError(f"there is no folder {quoted(path)}; {what}.")
    if not (path / CONFIG).is_file():
        if (path / CHECKPOINTS).is_dir():
            raise SettingError(
                f"the fit in {quoted(path)} was stopped before it was done; the same call resumes there."
            )
        raise SettingError(f"{quoted(path)} is not a fitted folder: it has no {CONFIG}; {what}.")
    check_inside(path)
    kind = read_object(path / CONFIG).get("model_type")
    if kind != ATTRIBUTION:
        raise SettingError(f"{quoted(path)} is not a fitted folder but a {quoted(kind)} model; {what}.")
    if not any(path.glob("*.safetensors")) or not has_tokenizer(path):
        raise SettingError(
            f"{quoted(path)} is not a whole fitted folder: its weights or its tokenizer are gone; {what}."
        )


def _check_explains(known: Mapping[str, str], classifier: Classifier, path: Path) -> None:
    own = classifier.contents() or {}
    others = [name for name in dict.fromkeys([*own, *known]) if own.get(name) != known.get(name)]
    if others:
        raise SettingError(
            f"{quoted(path)} was fitted to another model, differing in {' and '.join(others)}; fit one to this model "
            "with `whylight fit aml`."
        )
