"""What is asked about: data sets and classifiers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from whylight.core.inputs import Input, numbers_of
from whylight.core.showing import register_display
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.report.layout import Column
from whylight.report.saving import sheet_display
from whylight.report.sheets import FactList, Grid, Sheet, count_of
from whylight.store.tables import Row

if TYPE_CHECKING:
    from whylight.views.classifier import Classifier

FIRST = 5
"""Records that are shown of a data set."""
BEGINNING = 60
"""Characters of a record that are shown."""
NAMED = 12
"""Labels that are named."""
WEIGHTS = "its weights are saved by clf.model.save_pretrained(folder)"


def dataset_sheet(data: Dataset) -> Sheet:
    """Return how many records there are, of which labels, what is to be known of them, and the first ones."""
    counts = Counter(label for record in data for label in record.labels)
    marked = sum(bool(record.rationales) for record in data)
    pairs = [
        ("labels", _names_of([f"{name} ({counts[name]:,})" for name in data.label_names])),
        (f"labels of a {data.noun.one}", "any number" if data.multi_label else "one"),
        ("with a rationale", f"{marked:,}"),
        *(("note", note) for note in data.notes),
    ]
    heads = (Column("id", "key"), Column("labels", "words"), Column(data.noun.one, "words"))
    rows = tuple((record.id, ", ".join(record.labels) or "-", _beginning(record)) for record in data.records[:FIRST])
    first = [Grid(heads, rows, title=f"The first {len(rows)}")] if rows else []
    return Sheet(f"{data.name} {data.split}: {data.noun.count(len(data))}", (FactList(tuple(pairs)), *first))


def dataset_records(data: Dataset) -> list[Row]:
    """Return one record per text, in the columns that data files have (docs/howto/own_data.md)."""
    rows = [_data_row(record, several=data.multi_label) for record in data]
    used = dict.fromkeys(name for row in rows for name, value in row.items() if value is not None)
    return [{name: row.get(name) for name in used} for row in rows]


def _data_row(record: Record, *, several: bool) -> Row:
    marks = {label: [numbers_of(place) for place in own.places] for label, own in record.rationales.items()}
    gold: Row = {"labels": list(record.labels), "rationales": marks or None}
    if not several:
        gold = {"label": next(iter(record.labels), None), "rationale": next(iter(marks.values()), None)}
    return {"id": record.id, **_input_columns(record.example), **gold}


def _input_columns(example: Input) -> Row:
    """Return the texts, and the words that came with them; of another kind of input, its JSON."""
    if not isinstance(example, Text):
        return {"kind": example.kind, **example.to_json()}
    words = [[example.show(word) for word in example.words or () if word.part == part] or None for part in (0, 1)]
    return {"text": example.text, "pair": example.pair, "words": words[0], "pair_words": words[1]}


def classifier_sheet(classifier: "Classifier") -> Sheet:
    """Return what a classifier is, which labels it gives, and what can be removed of its inputs."""
    labels = classifier.labels
    known = {
        "architecture": getattr(classifier, "architecture", None),
        "layers": getattr(classifier, "n_layers", None),
        "reads at once": _tokens(getattr(classifier, "limit", None)),
        f"labels ({len(labels):,})": _names_of(labels.names),
        "head": labels.head,
        "threshold": labels.threshold if labels.head == "sigmoid" else None,
        "removers": ", ".join(classifier.removers),
        "scores": ", ".join(classifier.score_spaces),
    }
    pairs = tuple((name, str(value)) for name, value in known.items() if value is not None)
    return Sheet(f"{classifier.identity}: {classifier.kind}", (FactList(pairs),))


def label_records(classifier: "Classifier") -> list[Row]:
    """Return one record per label."""
    labels = classifier.labels
    return [{"index": index, "label": name, "head": labels.head} for index, name in enumerate(labels.names)]


def _classifier_json(classifier: "Classifier") -> Mapping[str, object]:
    facts = next(block for block in classifier_sheet(classifier).blocks if isinstance(block, FactList))
    return {
        "identity": classifier.identity,
        "kind": classifier.kind,
        **dict(facts.pairs),
        "labels": classifier.labels.names,
    }


def _tokens(limit: int | None) -> str | None:
    return None if limit is None else count_of(limit, "token")


def _names_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _beginning(record: Record) -> str:
    """Return how a text begins; of another kind, how it is known."""
    example = record.example
    said = example.key.replace("\0", " / ") if isinstance(example, Text) else str(example)
    line = " ".join(said.split())
    return line if len(line) <= BEGINNING else f"{line[: BEGINNING - 1]}\u2026"


register_display("Dataset", sheet_display("a data set", dataset_sheet, records=dataset_records, lines=True))
for _name, _hint in {
    "TransformerClassifier": WEIGHTS,
    "ChunkedClassifier": WEIGHTS,
    "CallableClassifier": "",
    "ImageClassifier": "",
    "EndpointClassifier": "",
    "OnnxClassifier": "",
}.items():
    register_display(
        _name,
        sheet_display("a classifier", classifier_sheet, records=label_records, plain=_classifier_json, hint=_hint),
    )
