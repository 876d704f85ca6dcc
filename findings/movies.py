"""Claims E1 to E3: do optimised masks agree best with people, are Shapley values most faithful, is every term needed?

    python findings/movies.py path/to/data

MiniLM learns to classify stretches of the movie reviews of ERASER's train split. Whole reviews of its test split, which
the model reads in windows as long as those stretches, are explained for their gold labels, with padding for what is
removed, as in the paper.
Token F1 and IoU F1 mark the share of words that kernel regression over the other reviews predicts; sufficiency and
comprehensiveness are averaged over 19 shares. LIME asks 100 times, as their code does. Everything is kept, so that a
stopped script goes on.
"""

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import minilm
from document import WORK, Table, put, told
from paired import over_all_words
from processes import in_processes

import whylight as wl
from whylight.core.text import Text, text_of
from whylight.data.dataset import Dataset, Record
from whylight.explaining.options import Options
from whylight.run.compare import compare_rows, select
from whylight.run.evaluation import Evaluation
from whylight.store.tables import HUMAN, RANDOM

Row = tuple[Evaluation, str]
"""A run, and one of its methods."""
REVIEWS, FEW = 12, 5
STRETCH, DRAWN, TOKENS = 170, 3, 256
"""Words of a stretch to learn from, stretches per review, and tokens that are read at once."""
TOKEN_F1, IOU_F1, MEAN_AP = "kernel_regression_f1", "kernel_regression_iou_f1", "average_precision"
SUFFICIENCY, COMPREHENSIVENESS = "aopc_sufficiency", "aopc_comprehensiveness"
COLUMNS = {
    "Token F1 ↑": TOKEN_F1,
    "mAP ↑": MEAN_AP,
    "IoU F1 ↑": IOU_F1,
    "Suff ↓": SUFFICIENCY,
    "Comp ↑": COMPREHENSIVENESS,
}
CORPUS = (TOKEN_F1, IOU_F1)
SHARED: Mapping[str, object] = {
    f"{TOKEN_F1}.leave_one_out": True,
    f"{IOU_F1}.leave_one_out": True,
    f"{SUFFICIENCY}.steps": 19,
    f"{COMPREHENSIVENESS}.steps": 19,
}
MARC = "marc[pace=10]"
"""A tenth of the paper's steps, each ten times as long."""
WAYS = {
    "MaRC": MARC,
    "saliency": "saliency",
    "input x gradient, norm": "input_x_gradient[pooling=l2]",
    "input x gradient, sum": "input_x_gradient",
    "decompx_linear": "decompx_linear",
    "IG, norm": "integrated_gradients[pooling=l2,baseline=pad,steps=20]",
    "IG, sum": "integrated_gradients[baseline=pad,steps=20]",
    "occlusion, window 5": "occlusion[window=5]",
    "LIME": "lime[sampler=spans,samples=100]",
}
SHAPLEY = "Shapley sampling"
ON_FEW = {
    SHAPLEY: "shapley_sampling[permutations=5]",
    "MaRC without noise": "marc[pace=10,noise=0,flips=0]",
    "MaRC without Omega_lambda": "marc[pace=10,sparsity=0]",
    "MaRC without Omega_sigma": "marc[pace=10,smoothness=0]",
    "MaRC without the complement": "marc[pace=10,complement=none]",
}
"""What takes longest, on fewer reviews."""


@dataclass(frozen=True)
class Asked:
    """Reviews that some methods are to explain."""

    model: Path
    data: Dataset
    name: str
    methods: tuple[str, ...]


def main() -> None:
    """Train, explain, measure, and put the tables into the document."""
    path = f"eraser:{Path(sys.argv[1]) / 'eraser_movies'}"
    train, dev, test = (wl.dataset(path, split=split) for split in ("train", "dev", "test"))
    made = minilm.classifier(
        "movies", stretches(train), stretches(dev), epochs=2, learning_rate=1e-4, max_tokens=TOKENS, batch_size=32
    )
    right = minilm.accuracy(wl.load(made, max_tokens=TOKENS), test)
    print(f"accuracy on the test reviews, by windows: {right:.3f}", flush=True)
    chosen = test.sample(REVIEWS, seed=0)
    asked = [
        Asked(made, chosen, "every", tuple(WAYS.values())),
        Asked(made, replace(chosen, records=chosen.records[:FEW]), "few", tuple(ON_FEW.values())),
    ]
    list(in_processes(_explained, asked))
    every, few = map(_run, asked)
    rows = {name: (every, method) for name, method in WAYS.items()}
    rows |= {name: (few, method) for name, method in ON_FEW.items()}
    noted = [["accuracy on all test reviews", f"{right:.3f}"]]
    tables = {
        "methods": _methods({**rows, "random": (every, RANDOM), "human": (every, HUMAN)}),
        "differences": _differences("MaRC", rows, [name for name in rows if not name.startswith("MaRC")]),
        "shapley": _differences(SHAPLEY, rows, [*WAYS]),
        "ablations": _differences("MaRC", rows, [name for name in rows if name.startswith("MaRC without")]),
        "remarks": Table(["what was noted", "value"], noted),
    }
    put("movies", tables)


def stretches(data: Dataset) -> Dataset:
    """Return random stretches of reviews, which have the label of their review."""
    draw = random.Random(0)  # noqa: S311  places, not secrets
    records = []
    for record in data:
        words = text_of(record.example).text.split()
        for number in range(DRAWN):
            start = draw.randrange(max(1, len(words) - STRETCH))
            stretch = " ".join(words[start : start + STRETCH])
            records.append(Record(f"{record.id}.{number}", Text(stretch), record.labels, {}))
    return replace(data, records=tuple(records))


def _explained(asked: Asked) -> None:
    _run(asked)


def _run(asked: Asked) -> Evaluation:
    return wl.evaluate(
        wl.load(asked.model, max_tokens=TOKENS),
        asked.data,
        methods=asked.methods,
        metrics=tuple(COLUMNS.values()),
        remover="pad",
        options=Options(target="gold"),
        settings=SHARED,
        out=WORK / "movies" / asked.name,
    )


def _methods(rows: Mapping[str, Row]) -> Table:
    lines = []
    for name, (run, method) in rows.items():
        line = next(line for line in run.summary.lines if line.method == method)
        words = next(one for one in run.corpus.lines if one.method == method) if run.corpus else line
        cells = line.cells | words.cells
        figures = [told(cells[metric]) if metric in cells else "" for metric in COLUMNS.values()]
        lines.append([name, str(line.cells[MEAN_AP].texts), *figures, f"{line.seconds:.3g}"])
    return Table(["method", "reviews", *COLUMNS, "seconds per review"], lines)


def _differences(first: str, rows: Mapping[str, Row], names: Sequence[str]) -> Table:
    """Hold one method against others, review by review."""
    lines = []
    for name in names:
        pair = rows[first], rows[name]
        by_metric = {one.metric: one for one in compare_rows(*(select(run.scores, method) for run, method in pair))}
        cells = {metric: f"{told(one.difference, sign='+')}, {one.standing}" for metric, one in by_metric.items()}
        settings = {"leave_one_out": True}
        cells |= {metric: told(over_all_words(metric, *pair, settings=settings), sign="+") for metric in CORPUS}
        lines.append([f"{first} - {name}", *(cells[metric] for metric in COLUMNS.values())])
    return Table(["review by review", *COLUMNS], lines)


if __name__ == "__main__":
    main()
