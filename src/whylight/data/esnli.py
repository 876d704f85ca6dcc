"""e-SNLI with highlights: premise and hypothesis, and the words that people marked as the reason.

Layout: `dev_highlights*.jsonl` (or `SPLIT*.jsonl`), one object per line: `label`, `premise` and `hypothesis` as lists
of tokens, `premise_highlight` and `hypothesis_highlight` as 0/1 for each token; `dev_index` becomes the id.
Counts at hand: 6351 dev pairs, entailment and contradiction only, in which all three annotators marked both
sentences.

Text: tokens joined by one blank; the premise is part 0, the hypothesis part 1. Words: the tokens (six empty ones are
left out). Rationale: each longest run of marked words. The masks at hand are probably the words that two of three
annotators marked; their source does not say.

Reference: Camburu et al. 2018.
"""

from collections import Counter
from pathlib import Path

from whylight.core.errors import unknown
from whylight.core.rationale import Rationale
from whylight.core.text import Span, Text
from whylight.data import _reading, _tokens
from whylight.data._checks import Flaw, add, name_of, quotable, visible_text
from whylight.data._reading import RawRow, Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

LABELS = ("entailment", "neutral", "contradiction")
_PARTS = ("premise", "hypothesis")


@corpus(cite="camburu2018", splits=("train", "dev", "test"))
def esnli(path: Path, split: str, reading: Reading) -> Dataset:
    """Sentence pairs of e-SNLI with highlighted words."""
    file = _reading.find_file(path, f"{split}_highlights*.jsonl", f"{split}*.jsonl")
    records: dict[str, Record] = {}
    counts: Counter[str] = Counter()
    for number, row in reading.json_lines(file):
        try:
            record = _record(row, name=name_of(row.get("dev_index", number), "id"), counts=counts)
            add(records, record.id, record)
        except Flaw as flaw:
            reading.drop(file, number, flaw)
    notes = ["rationale: runs of highlighted words, as merged over annotators by whoever made the file"]
    notes += [f"{count} {what}" for what, count in sorted(counts.items()) if count]
    return Dataset("esnli", split, LABELS, tuple(records.values()), notes=tuple(notes))


def _record(row: RawRow, *, name: str, counts: Counter[str]) -> Record:
    label = row.get("label")
    if label not in LABELS:
        raise Flaw(f"has an {str(unknown('label', quotable(label), LABELS)).rstrip('.')}")
    texts: list[str] = []
    words: list[Span] = []
    marked: list[Span] = []
    for part, key in enumerate(_PARTS):
        tokens, marks = _sentence(row, key, counts)
        text, spans = _tokens.join_tokens(tokens, part=part)
        texts.append(visible_text(text, key))
        words += spans
        marked += _tokens.marked_spans(spans, marks)
    rationales = {label: Rationale(tuple(marked))} if marked else {}
    return Record(name, Text(texts[0], texts[1], words=tuple(words)), (label,), rationales)


def _sentence(row: RawRow, key: str, counts: Counter[str]) -> tuple[list[str], list[int]]:
    """Return the tokens of one sentence and their marks, without tokens that hold no character."""
    tokens, marks = row.get(key), row.get(f"{key}_highlight")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise Flaw(f"has no '{key}' as a list of tokens")
    if not isinstance(marks, list) or len(marks) != len(tokens) or any(mark not in (0, 1) for mark in marks):
        raise Flaw(f"has no '{key}_highlight' with one 0 or 1 for each of {len(tokens)} tokens")
    kept = [(token, int(mark)) for token, mark in zip(tokens, marks, strict=True) if token.strip()]
    if not kept:
        raise Flaw(f"has an empty '{key}'")
    counts["empty tokens are left out"] += len(tokens) - len(kept)
    return [token for token, _ in kept], [mark for _, mark in kept]
