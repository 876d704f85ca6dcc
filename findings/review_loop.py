"""The workbench's loop: corrections are exported, a model learns from them, and its evidence moves toward them.

    python findings/review_loop.py

A simulated reviewer goes through generated notes on the workbench, with the bundled coder in front of them: labels are
accepted, rejected and added, and of their evidence the phrases of the generator are marked and everything else is
refused. Each action is an event that the workbench has checked. What it exports teaches the coder, with
`rationale_attention` and, as the control, by its labels alone; the taught models come back to the workbench, and their
evidence on notes that nobody corrected is held against that of the coder. Also: which order of the queue finds notes
with a wrong label. Models are kept, so that a stopped script goes on. About ten minutes of one core.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from document import WORK, Table, put
from multilabel import difference, interval_of, marks, micro_f1_change
from sklearn.metrics import roc_auc_score

import whylight as wl
from whylight.core.text import Span, text_of
from whylight.data.dataset import Dataset, Record
from whylight.explaining.case import open_case
from whylight.models.bundled_start import CODER_NAME
from whylight.training.figures import multi_label
from whylight.workbench.agreement import f1
from whylight.workbench.bench import Bench, make_bench
from whylight.workbench.database import open_database
from whylight.workbench.journal import Document, stream_of
from whylight.workbench.reviewing import checked_event
from whylight.workbench.routes.exports import lines

PLACE = WORK / "review_loop"
REVIEWED, CHOOSING, HELD_OUT, QUEUED = 600, 100, 100, 300
"""Notes to learn from, to choose checkpoints by, that nobody corrects, and in the queue; no seed is the coder's own."""
SIZES = (100, REVIEWED)
SEEDS = (0, 1, 2)
REVIEWED_SEED, HELD_OUT_SEED = 2, 4
REVIEWER = "simulated"
METHODS = ("attingrad", "decompx_linear")
NUMBERS: dict[str, Any] = {"epochs": 3, "learning_rate": 1e-3, "batch_size": 8}
OBJECTIVE, CRITERION = "rationale_attention=1", {"criterion": "kl", "scale": 10}
"""The usual sharpening of 100 is for attention over all words; label attention is sharp, and would not learn."""
TRAININGS = {"with corrections": [OBJECTIVE], "labels alone": []}
ORDERS = ("uncertainty", "doubt", "disagreement")
DRAWS = 2000
Values = dict[str, float]


def main() -> None:
    """Review, export, train, come back, and put the tables into the document."""
    PLACE.mkdir(parents=True, exist_ok=True)
    learnt, chosen = notes("train", REVIEWED, REVIEWED_SEED), notes("dev", CHOOSING, REVIEWED_SEED)
    files = {
        size: exported(learnt.sample(size, seed=0) if size < REVIEWED else learnt, PLACE / f"reviewed-{size}")
        for size in SIZES
    }
    dev = exported(chosen, PLACE / "choosing")
    held_out = notes("test", HELD_OUT, HELD_OUT_SEED)
    start = measured(CODER_NAME, held_out, PLACE / "start")
    found = {
        (size, name): [
            measured(str(taught(path, dev, name, size, seed)), held_out, PLACE / f"{name}-{size}-{seed}" / "page")
            for seed in SEEDS
        ]
        for size, path in files.items()
        for name in TRAININGS
    }
    write(start, found, held_out, queue_rows(learnt, PLACE / "queue"))


def notes(split: str, size: int, seed: int) -> Dataset:
    """Return generated notes."""
    return wl.dataset("discharge:", split=split, size=size, seed=seed)


def on_page(model: str, data: Dataset, place: Path) -> Bench:
    """Put a model in front of notes, in a database of its own."""
    place.mkdir(parents=True, exist_ok=True)
    engine = open_database(f"sqlite:///{place / 'review.db'}")
    return make_bench(engine, wl.load(model), data, methods=METHODS, password=None)


def exported(data: Dataset, place: Path) -> Path:
    """Review notes, and write what the workbench exports; both are done once."""
    path = place / "rationales.jsonl"
    if not path.exists():
        bench = on_page(CODER_NAME, data, place)
        for document, record in zip(bench.journal.documents(), data, strict=True):
            review(bench, document, record)
        path.write_text("".join(lines(bench)), encoding="utf-8")
    return path


def review(bench: Bench, document: Document, record: Record) -> None:
    """Do what a reviewer who knows the generator's phrases would do, one checked event after the other."""
    predicted = [bench.desk.labels.names[i] for i in bench.desk.prediction(document.text).predicted]
    index = bench.desk.labels.names.index
    proposed = {
        label: [one.span for one in bench.desk.evidence(document.text, METHODS[0], index(label), document=document.id)]
        for label in predicted
    }
    stream = stream_of(REVIEWER)
    events = bench.journal.events(document.id, stream)
    for told in list(actions(record, proposed))[len(events) :]:
        event = checked_event(told, parts=document.text.parts, labels=bench.desk.labels.names, before=events)
        events.append(bench.journal.add(document.id, stream, event, reviewer=REVIEWER, seen=len(events)))


def actions(record: Record, proposed: dict[str, list[Span]]) -> Iterator[dict[str, Any]]:
    """Yield the actions on a note: labels first, then their evidence."""
    text = text_of(record.example)

    def about(kind: str, label: str, span: Span | None = None) -> dict[str, Any]:
        place = {} if span is None else {"span": {**asdict(span), "text": text.show(span)}}
        return {"kind": kind, "label": label, **place}

    for label, spans in proposed.items():
        if label not in record.labels:
            yield about("reject", label)
            continue
        yield about("accept", label)
        true = record.rationales[label].places
        yield from (about("unmark", label, one) for one in spans if one not in true)
        yield from (about("mark", label, one) for one in true)
    for label in record.labels:
        if label not in proposed:
            yield about("add", label)
            yield from (about("mark", label, one) for one in record.rationales[label].places)
    yield {"kind": "done"}


def taught(path: Path, dev: Path, name: str, size: int, seed: int) -> Path:
    """Train on from the coder by what was exported, unless that is done."""
    objectives = TRAININGS[name]
    settings = {**NUMBERS, **(CRITERION if objectives else {})}
    data, validation = (wl.dataset(str(one)) for one in (path, dev))
    out = PLACE / f"{name}-{size}-{seed}"
    done = wl.train(CODER_NAME, data, validation, out=out, objectives=objectives, seed=seed, progress=False, **settings)
    if done.receipt["fresh_head"]:
        raise RuntimeError("the head is new: it is not the coder that was taught")
    return done.folder


def measured(model: str, data: Dataset, place: Path) -> dict[str, Any]:
    """Look at a model's evidence and answers on notes, as the workbench shows them; what was measured is read."""
    kept = place / "measured.json"
    if kept.exists():
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return found
    bench = on_page(model, data, place)
    run = wl.evaluate(bench.desk.classifier, data, methods=[METHODS[0]], metrics=["average_precision"], progress=False)
    ranked: dict[str, list[float]] = {}
    for row in run.scores:
        if row["method"] == METHODS[0]:
            ranked.setdefault(row["example_id"], []).append(row["value"])
    found = {
        "evidence": {record.id: value for record in data if (value := page_f1(bench, record)) is not None},
        "average precision": {name: float(np.mean(values)) for name, values in ranked.items()},
        "probabilities": [list(open_case(bench.desk.classifier, one.example).prediction.probabilities) for one in data],
        "threshold": bench.desk.labels.threshold,
    }
    kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def page_f1(bench: Bench, record: Record) -> float | None:
    """Return the F1 of the characters that the page names for true labels, the mean over those that are predicted."""
    text, names = text_of(record.example), bench.desk.labels.names
    values = [
        f1([one.span for one in bench.desk.evidence(text, METHODS[0], index)], record.rationales[names[index]].places)
        for index in bench.desk.prediction(text).predicted
        if names[index] in record.rationales
    ]
    return float(np.mean(values)) if values else None


def queue_rows(data: Dataset, place: Path) -> list[list[str]]:
    """Say how well each order of the queue finds notes with a wrong or missing label."""
    some = data.sample(QUEUED, seed=1)
    bench = on_page(CODER_NAME, some, place)
    known = bench.desk.findings.placed()
    figures: dict[str, list[float]] = {name: [] for name in ORDERS}
    wrong = []
    for document, record in zip(bench.journal.documents(), some, strict=True):
        kept = place / f"{document.id}.json"
        if document.id not in known or not kept.exists():
            standing = bench.desk.standing(document)
            bench.desk.findings.place(document.id, standing)
            kept.write_text(json.dumps([getattr(standing, name) or 0.0 for name in ORDERS]), encoding="utf-8")
        for name, value in zip(ORDERS, json.loads(kept.read_text(encoding="utf-8")), strict=True):
            figures[name].append(value)
        answer = bench.desk.prediction(document.text)
        wrong.append({bench.desk.labels.names[i] for i in answer.predicted} != set(record.labels))
    return [[name, found_by(figures[name], wrong), first_fifth(figures[name], wrong)] for name in ORDERS]


def found_by(values: Sequence[float], wrong: Sequence[bool]) -> str:
    """Return the area under the ROC curve, with an interval that draws notes anew."""
    each, truth, generator = np.asarray(values), np.asarray(wrong), np.random.default_rng(0)
    drawn = []
    while len(drawn) < DRAWS:
        rows = generator.integers(len(each), size=len(each))
        if 0 < truth[rows].sum() < len(rows):
            drawn.append(roc_auc_score(truth[rows], each[rows]))
    low, high = np.percentile(drawn, (2.5, 97.5))
    return f"{roc_auc_score(truth, each):.3f} [{low:.3f}, {high:.3f}]"


def first_fifth(values: Sequence[float], wrong: Sequence[bool]) -> str:
    """Say how many of the wrong notes stand in the first fifth of the queue."""
    first = np.argsort(-np.asarray(values), kind="stable")[: len(values) // 5]
    return f"{int(np.asarray(wrong)[first].sum())} of {int(np.sum(wrong))}"


def write(
    start: dict[str, Any], found: dict[tuple[int, str], list[dict[str, Any]]], data: Dataset, queue: list[list[str]]
) -> None:
    """Tabulate what came of it."""
    names = ("evidence", "average precision")
    base = [start] * len(SEEDS)
    rows = [["0", "the coder as it is bundled", *(interval_of([start[name]]) for name in names), figure(start, data)]]
    rows += [
        [str(size), name, *(interval_of([one[key] for one in runs]) for key in names), figures(runs, data)]
        for (size, name), runs in found.items()
    ]
    paired = []
    for size in SIZES:
        own, control = found[size, "with corrections"], found[size, "labels alone"]
        for what, other in (("corrections - the coder", base), ("corrections - labels alone", control)):
            changes = [difference(*([one[key] for one in runs] for runs in (own, other))) for key in names]
            paired.append([str(size), what, *changes, micro_f1_change(answers(own), answers(other), data)])
    put(
        "review_loop",
        {
            "models": Table(["notes reviewed", "model", *names, "micro_f1"], rows, names=2),
            "changes": Table(["notes reviewed", "difference", *names, "micro_f1"], paired, names=2),
            "queue": Table(["order", "area under the ROC curve", "wrong notes in the first fifth"], queue),
            "remarks": Table(["what was noted", "value"], remarks()),
        },
    )


def answers(runs: list[dict[str, Any]]) -> list[Any]:
    """Return which labels each model gives."""
    return [np.asarray(one["probabilities"]) >= one["threshold"] for one in runs]


def figure(one: dict[str, Any], data: Dataset) -> str:
    """Return the micro-F1 of a model."""
    found = multi_label(np.asarray(one["probabilities"]), marks(data), threshold=one["threshold"])
    return f"{found.values['micro_f1']:.3f}"


def figures(runs: list[dict[str, Any]], data: Dataset) -> str:
    """Return the micro-F1 of models, by seed."""
    return ", ".join(figure(one, data) for one in runs)


def remarks() -> list[list[str]]:
    """Count what the simulated reviewer did to all notes to learn from, and say which epochs were taken."""
    bench = on_page(CODER_NAME, notes("train", REVIEWED, REVIEWED_SEED), PLACE / f"reviewed-{REVIEWED}")
    kinds: dict[str, int] = {}
    for events in bench.journal.work(stream_of(REVIEWER)).values():
        for one in events:
            kinds[one.kind] = kinds.get(one.kind, 0) + 1
    taken = [[f"epoch taken, {name}, {size} notes", epochs_taken(name, size)] for size in SIZES for name in TRAININGS]
    return [*([f"actions: {kind}", str(count)] for kind, count in sorted(kinds.items())), *taken]


def epochs_taken(name: str, size: int) -> str:
    """Return which epoch of each training became the model."""
    receipts = [json.loads((PLACE / f"{name}-{size}-{seed}" / "training.json").read_text("utf-8")) for seed in SEEDS]
    return ", ".join(f"{one['best_epoch']:.0f}" for one in receipts)


if __name__ == "__main__":
    main()
