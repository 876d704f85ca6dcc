"""Texts without their most important words, written as texts, so that another model can be trained on them.

    k = max(1, ceil(share (n - 1)))     of n words go: those with the highest signed scores, ties in reading order

That is the published code of Pham et al. 2022. At least one word goes, and of two or more at least one stays; a text of
one word would be empty, and is left out of all data alike. Words are removed by the removers that methods and metrics
use, as they work on plain text: `delete` joins the words that stay by one blank, `infill` writes other words in the
place of removed ones. Where a remover draws several texts, the likeliest is written. `mask`, `unk`, `pad` and `zero`
change tokens, which no text says ("[MASK]" in a text is read as text), and are refused.

Reference: Pham et al. 2022, section 5.1 (ROAR, ROAR_BERT). Cost: none; `infill`: one pass of the masked language
model per text.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np

from whylight.core.arrays import Floats
from whylight.core.errors import InputError, SettingError
from whylight.core.registry import REMOVERS
from whylight.core.text import Span, Text, text_of
from whylight.data.dataset import LOST, Dataset, Record, named
from whylight.explaining.removing import chosen_removal
from whylight.metrics._curves import EXACT, top
from whylight.models.tokenised import units
from whylight.perturb.binding import available
from whylight.store.tables import Row
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier
from whylight.views.texts import TextWindow


def removed_count(share: float, n_words: int) -> int:
    """Return how many of a text's words a share is."""
    return max(1, ceil(round(share * (n_words - 1), EXACT)))


def text_removal(classifier: Classifier, name: str, settings: Mapping[str, object]) -> Removal:
    """Return a remover that writes texts; one that changes tokens is refused.

    Args:
        classifier: The classifier that is explained.
        name: The remover.
        settings: Its settings.
    """
    written = available(TextWindow, ())
    if name in REMOVERS.names() and name not in written:
        raise SettingError(
            f"the remover '{name}' changes tokens, and a model is trained on texts; use {' or '.join(written)}."
        )
    return chosen_removal(classifier, name, settings)


def removable(data: Dataset) -> Dataset:
    """Return data of which words can be removed: single texts of two words or more, without rationales.

    Raises:
        InputError: There are pairs of texts, or no text is left.
    """
    kept: list[Record] = []
    lost: list[Record] = []
    for record in data:
        text = text_of(record.example)
        if text.pair is not None:
            raise InputError(f"'{data.name}' ({data.split}) has pairs of texts; words are removed of single ones only.")
        several = len(units(text, "word")) > 1
        (kept if several else lost).append(replace(record, rationales={}))
    if not kept:
        raise InputError(f"'{data.name}' ({data.split}) has no text of two words or more, of which one could go.")
    note = f"{LOST}{len(lost)} of {data.split} that have one word, and would be empty without it: {named(lost)}"
    return replace(data, records=tuple(kept), notes=(*data.notes, *([note] if lost else [])))


def without_top(data: Dataset, rows: Iterable[Row], *, method: str, share: float, removal: Removal) -> Dataset:
    """Return the data with the most important words of each text removed.

    Args:
        data: The data.
        rows: Its explanations in its order, of any methods, one label each.
        method: The method whose scores say what is important.
        share: Share of the words.
        removal: What "removed" means, on plain text.
    """
    own = (row for row in rows if row["method"] == method)
    records = tuple(_without_words(record, row, share, removal) for record, row in zip(data, own, strict=True))
    note = f"{removal.name} took the top {share:.0%} of the words of each text, by {method}"
    return replace(data, records=records, notes=(*data.notes, note))


def _without_words(record: Record, row: Row, share: float, removal: Removal) -> Record:
    if row["example_id"] != record.id:
        raise InputError(f"the text '{record.id}' has no explanation at its place; remove the folder, and start again.")
    spans, scores = tuple(Span(*place) for place in row["places"]), np.asarray([row["scores"]])
    gone = top(scores, [removed_count(share, len(spans))])[0]  # [1, words]
    variants = removal(TextWindow(text_of(record.example).text, spans), ~gone)
    batch: Any = variants.batch  # of texts, as the window is
    return replace(record, example=Text(batch.texts[_likeliest(variants.weights)]))


def _likeliest(weights: Floats | None) -> int:
    """Return which draw of one coalition to write; the first of equals."""
    return 0 if weights is None else int(weights[0].argmax())
