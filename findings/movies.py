"""Claims E1 to E3: do optimised masks agree best with people, are Shapley values most faithful, is every term needed?

    python findings/movies.py path/to/data

MiniLM learns to classify stretches of the movie reviews of ERASER's train split. Whole reviews of its test split, which
the model reads in windows, are explained for their gold labels, with padding for what is removed, as in the paper.
Token F1 and IoU F1 mark the share of words that kernel regression over the other reviews predicts; sufficiency and
comprehensiveness are averaged over 19 shares. Everything is kept, so that a stopped script goes on.
"""

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import minilm
from document import WORK, Table, put, told
from paired import over_all_words

import whylight as wl
from whylight.core.text import Text, text_of
from whylight.data.dataset import Dataset, Record
from whylight.explaining.options import Options
from whylight.run.compare import compare, select
from whylight.run.evaluation import Evaluation
from whylight.store.tables import HUMAN, RANDOM
from whylight.views.classifier import Classifier

REVIEWS, FEW = 20, 10
STRETCH, DRAWN = 170, 3
"""Words of a stretch to learn from, and stretches per review."""
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
MARC: Mapping[str, object] = {"pace": 10}
"""A tenth of the paper's steps, each ten times as long."""


@dataclass(frozen=True)
class Way:
    """A method with its settings."""

    method: str
    settings: Mapping[str, object]
    reviews: int = REVIEWS


WAYS = {
    "MaRC": Way("marc", MARC),
    "saliency": Way("saliency", {}),
    "input x gradient, norm": Way("input_x_gradient", {"pooling": "l2"}),
    "input x gradient, sum": Way("input_x_gradient", {}),
    "decompx_linear": Way("decompx_linear", {}),
    "IG, norm": Way("integrated_gradients", {"pooling": "l2", "baseline": "pad", "integrated_gradients.steps": 20}),
    "IG, sum": Way("integrated_gradients", {"baseline": "pad", "integrated_gradients.steps": 20}),
    "occlusion, window 5": Way("occlusion", {"window": 5}),
    "LIME": Way("lime", {"sampler": "spans"}),
    "Shapley sampling": Way("shapley_sampling", {"permutations": 5}, FEW),
}
ABLATIONS = {
    "MaRC without noise": {"noise": 0.0, "flips": 0.0},
    "MaRC without Omega_lambda": {"sparsity": 0.0},
    "MaRC without Omega_sigma": {"smoothness": 0.0},
    "MaRC without the complement": {"complement": "none"},
}
WAYS |= {name: Way("marc", {**MARC, **own}, FEW) for name, own in ABLATIONS.items()}


def main() -> None:
    """Train, explain, measure, and put the tables into the document."""
    path = f"eraser:{Path(sys.argv[1]) / 'eraser_movies'}"
    train, dev, test = (wl.dataset(path, split=split) for split in ("train", "dev", "test"))
    made = minilm.classifier(
        "movies", stretches(train), stretches(dev), epochs=2, learning_rate=1e-4, max_tokens=256, batch_size=32
    )
    clf = wl.load(made)
    right = minilm.accuracy(clf, test)
    print(f"accuracy on the test reviews, by windows: {right:.3f}", flush=True)
    chosen = test.sample(REVIEWS, seed=0)
    runs = {name: _run(clf, chosen, name, way) for name, way in WAYS.items()}
    tables = {
        "methods": _methods(runs),
        "differences": _differences(runs, [name for name in WAYS if name not in ABLATIONS and name != "MaRC"]),
        "ablations": _differences(runs, list(ABLATIONS)),
        "remarks": Table(["what was noted", "value"], [["accuracy on all test reviews", f"{right:.3f}"]]),
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


def _run(clf: Classifier, data: Dataset, name: str, way: Way) -> Evaluation:
    print(name, flush=True)
    return wl.evaluate(
        clf,
        replace(data, records=data.records[: way.reviews]),
        methods=[way.method],
        metrics=tuple(COLUMNS.values()),
        remover="pad",
        options=Options(target="gold"),
        settings={**SHARED, **way.settings},
        out=WORK / "movies" / name.replace(" ", "-").replace(",", ""),
    )


def _methods(runs: Mapping[str, Evaluation]) -> Table:
    rows = []
    first = next(iter(runs.values()))
    own = {name: (run, WAYS[name].method) for name, run in runs.items()}
    for name, (run, method) in {**own, "random": (first, RANDOM), "human": (first, HUMAN)}.items():
        line = next(line for line in run.summary.lines if line.method == method)
        words = next(one for one in run.corpus.lines if one.method == method) if run.corpus else line
        cells = line.cells | words.cells
        figures = [told(cells[metric]) if metric in cells else "" for metric in COLUMNS.values()]
        rows.append([name, str(line.cells[MEAN_AP].texts), *figures, f"{line.seconds:.3g}"])
    return Table(["method", "reviews", *COLUMNS, "seconds per review"], rows)


def _differences(runs: Mapping[str, Evaluation], names: Sequence[str]) -> Table:
    """Hold MaRC against others, review by review."""
    rows = []
    for name in names:
        pair = (runs["MaRC"], "marc"), (runs[name], WAYS[name].method)
        by_metric = {one.metric: one for one in compare(*(select(run.scores, method) for run, method in pair))}
        cells = {metric: f"{told(one.difference, sign='+')}, {one.standing}" for metric, one in by_metric.items()}
        settings = {"leave_one_out": True}
        cells |= {metric: told(over_all_words(metric, *pair, settings=settings), sign="+") for metric in CORPUS}
        rows.append([f"MaRC - {name}", *(cells[metric] for metric in COLUMNS.values())])
    return Table(["review by review", *COLUMNS], rows)


if __name__ == "__main__":
    main()
