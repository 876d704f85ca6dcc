"""How faithful are decompositions of one pass, beside gradients, attention and LIME, and what do they cost?

    python findings/decomposition.py path/to/data

The bundled model on sentences of the Stanford Sentiment Treebank and on whole movie reviews, which it reads in windows:
AOPC comprehensiveness and sufficiency, paired differences from `input_x_gradient`, seconds per text. `decompx` carries
N x N vectors through every layer, so that it explains fewer of the reviews.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from document import WORK, Table, put, told

import whylight as wl
from whylight.data.dataset import Dataset
from whylight.run.compare import compare_rows, select
from whylight.run.evaluation import Evaluation

CARRIED, SAMPLED = "decompx", "lime"
BASE = "input_x_gradient"
METHODS = (
    *("decompx_linear", "alti", "globenc", BASE),
    *("integrated_gradients", "attention", "attention_rollout"),
)
METRICS = ("aopc_comprehensiveness", "aopc_sufficiency")
SENTENCES, REVIEWS, SOME = 200, 50, 10
HEAD = ["method", "texts", *METRICS, *(f"{metric}, minus {BASE}" for metric in METRICS), "seconds per text"]


def main() -> None:
    """Run all of them, and put the tables into the document."""
    data = Path(sys.argv[1])
    sentences = wl.dataset(f"sst:{data / 'sst_trees'}", split="dev").sample(SENTENCES, seed=0)
    reviews = wl.dataset(f"eraser:{data / 'eraser_movies'}", split="test").sample(REVIEWS, seed=0)
    every = (CARRIED, SAMPLED, *METHODS)
    short = _run("sentences", sentences, every)
    some = _run("some_reviews", reviews.sample(SOME, seed=0), (CARRIED, BASE))
    long = _run("reviews", reviews, METHODS)
    sampled = _run("sampled_reviews", reviews, (SAMPLED, BASE))
    mixed = [*_rows(some, (CARRIED,)), *_rows(sampled, (SAMPLED,)), *_rows(long, (*METHODS, "random"))]
    tables = {
        "sentences": Table(HEAD, _rows(short, (*every, "random"))),
        "reviews": Table(HEAD, mixed),
        "paths": Table(
            ["decompx_linear minus integrated_gradients", "texts", *METRICS],
            [_beside_paths("sentences", short), _beside_paths("reviews", long)],
        ),
    }
    put("decomposition", tables)


def _run(name: str, data: Dataset, methods: Sequence[str]) -> Evaluation:
    return wl.evaluate(wl.load(), data, methods=methods, metrics=METRICS, out=WORK / "decomposition" / name)


def _rows(run: Evaluation, methods: Sequence[str]) -> list[list[str]]:
    """Return one line per method: its means, and how it differs from the base, text by text."""
    lines = {line.method: line for line in run.summary.lines}
    return [
        [
            method,
            str(lines[method].cells[METRICS[0]].texts),
            *(told(lines[method].cells[metric]) for metric in METRICS),
            *_differences(run, method),
            f"{lines[method].seconds:.3g}",
        ]
        for method in methods
    ]


def _differences(run: Evaluation, method: str) -> list[str]:
    if method == BASE:
        return ["", ""]
    found = compare_rows(select(run.scores, method), select(run.scores, BASE))
    by_metric = {one.metric: one.difference for one in found}
    return [told(by_metric[metric], sign="+") for metric in METRICS]


def _beside_paths(name: str, run: Evaluation) -> list[str]:
    """Return how the cheap decomposition differs from path integrals, text by text."""
    found = compare_rows(select(run.scores, "decompx_linear"), select(run.scores, "integrated_gradients"))
    by_metric = {one.metric: one.difference for one in found}
    return [name, str(by_metric[METRICS[0]].texts), *(told(by_metric[metric], sign="+") for metric in METRICS)]


if __name__ == "__main__":
    main()
