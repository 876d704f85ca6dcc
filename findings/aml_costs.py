"""Claims B4 and B5: do people agree with masks that were made to be faithful, and what do these cost as texts grow?

    python findings/aml_costs.py path/to/data

The network is that of `aml.py` for SST sentences whose weights are best by A-C. Costs are passes and time for texts
of 20 and 200 words. What solvex would ask for at 200 words is counted on an additive game that costs nothing: orders of
its beam share more sets there than on a network, so that it is less than a network would be asked. Agreement with
people is the F1 of the 25 highest tokens of movie reviews, which the classifier of sentences reads in windows.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from aml import NUMBERS, STEPS, Corpus, best_before
from document import WORK, Table, put, told
from paired import over_all_words

import whylight as wl
from whylight.core.arrays import Bools, Floats
from whylight.core.registry import METHODS
from whylight.core.text import text_of
from whylight.explaining.options import Options
from whylight.run.compare import compare_rows, select
from whylight.run.evaluation import Evaluation
from whylight.store.tables import HUMAN, RANDOM
from whylight.views.game import Game

LENGTHS, TEXTS, REVIEWS = (20, 200), 3, 10
MACRO, MICRO, TOP = "f1_at_k", "micro_f1_at_k", 25
SOLVEX, BEAM = "solvex", 10


def main() -> None:
    """Measure both, and put the tables into the document."""
    path = Path(sys.argv[1])
    corpus = Corpus("sst", path)
    network = best_before(corpus, "A-C")
    put("aml_costs", {"costs": _costs(corpus, network), **_agreement(corpus, network, path)})


def _ways(network: Path) -> dict[str, tuple[str, Mapping[str, object]]]:
    folder = {"folder": str(network)}
    tuned = {**folder, "steps": STEPS, "metric": "aopc_comprehensiveness", "rate": NUMBERS["learning_rate"]}
    others = ("sequential_integrated_gradients", "decompx")
    return {"pAML": ("aml", folder), "fAML": ("aml", tuned), **{name: (name, {}) for name in others}}


def _costs(corpus: Corpus, network: Path) -> Table:
    """Count passes and time for short and long texts."""
    ways = {**_ways(network), "integrated_gradients": ("integrated_gradients", {}), "lime": ("lime", {})}
    rows = []
    for name, (method, settings) in {**ways, SOLVEX: (SOLVEX, {"beam": BEAM})}.items():
        cells = []
        for length in LENGTHS:
            if name == SOLVEX and length == max(LENGTHS):
                cells += [f"{_counted(length):,}", "0", "-"]
                continue
            found = [wl.explain(corpus.classifier, one, method=method, **settings) for one in _texts(corpus, length)]
            receipts = [one.provenance for one in found]
            forward, backward = (
                np.mean([getattr(one, what) for one in receipts]) for what in ("forward_passes", "backward_passes")
            )
            cells += [f"{forward:,.0f}", f"{backward:,.0f}", f"{np.median([one.seconds for one in receipts]):.3g}"]
        rows.append([name, *cells])
    heads = [f"{what}, {length} words" for length in LENGTHS for what in ("forward", "backward", "seconds")]
    return Table(["method", *heads], rows)


def _texts(corpus: Corpus, length: int) -> list[str]:
    """Make texts of so many words from test sentences."""
    words = [word for record in corpus.tested for word in text_of(record.example).text.split()]
    return [" ".join(words[start : start + length]) for start in range(0, TEXTS * length, length)]


def _counted(length: int) -> int:
    """Count the sets that solvex asks about where asking is free."""
    weights, asked = np.random.default_rng(0).standard_normal(length), 0

    def value(keep: Bools) -> Floats:
        nonlocal asked
        asked += len(keep)
        return np.asarray(1 / (1 + np.exp(-(keep @ weights) / np.sqrt(length))))[:, None]

    METHODS[SOLVEX].function(Game(value, n_features=length), beam=BEAM, max_evaluations=10**9)
    return asked


def _agreement(corpus: Corpus, network: Path, path: Path) -> dict[str, Table]:
    """Hold the highest tokens of reviews against what people marked."""
    data = wl.dataset(f"eraser:{path / 'eraser_movies'}", split="test").sample(REVIEWS, seed=0)
    runs = {
        name: wl.evaluate(
            corpus.classifier,
            data,
            methods=[method],
            metrics=(MACRO, MICRO),
            options=Options(unit="token"),
            settings={"k": TOP, **{f"{method}.{key}": value for key, value in settings.items()}},
            out=WORK / "aml" / "movies" / name,
        )
        for name, (method, settings) in _ways(network).items()
    }
    return {"agreement": _highest(runs), "agreement, fAML minus others": _beside(runs)}


def _highest(runs: Mapping[str, Evaluation]) -> Table:
    """Tabulate both kinds of F1."""
    rows = []
    first = next(iter(runs.values()))
    own = {name: (run, run.summary.lines[0].method) for name, run in runs.items()}
    for name, (run, method) in {**own, RANDOM: (first, RANDOM), HUMAN: (first, HUMAN)}.items():
        line = next(line for line in run.summary.lines if line.method == method)
        words = next(one for one in run.corpus.lines if one.method == method) if run.corpus else line
        both = line.cells[MACRO], words.cells[MICRO]
        rows.append([name, str(both[0].texts), *map(told, both), f"{line.seconds:.3g}"])
    return Table(["method", "reviews", "macro F1 at 25", "micro F1 at 25", "seconds per review"], rows)


def _beside(runs: Mapping[str, Evaluation]) -> Table:
    """Compare fAML with the others, review by review."""
    rows, own = [], (runs["fAML"], "aml")
    for name, run in runs.items():
        if name != "fAML":
            other = run, run.summary.lines[0].method
            (found,) = compare_rows(*(select(one.scores, method) for one, method in (own, other)))
            micro = over_all_words(MICRO, own, other, settings={"k": TOP})
            rows.append([name, f"{told(found.difference, sign='+')}, {found.standing}", told(micro, sign="+")])
    return Table(["fAML minus", "macro F1 at 25", "micro F1 at 25"], rows)


if __name__ == "__main__":
    main()
