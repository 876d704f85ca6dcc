"""Claims B4 and B5: do people agree with masks that were made to be faithful, and what do these cost as texts grow?

    python findings/aml_costs.py path/to/data

The network is fitted as in `aml.py`, to the classifier of SST sentences, with the weights that are best by A-C. Costs
are passes and time for texts of 20 and 200 words. What solvex would ask for at 200 words is counted on an additive
game that costs nothing: orders of its beam share more sets there than on a network, so that it is less than a network
would be asked. Agreement with people is the F1 of the 25 highest tokens of movie reviews, which the classifier of
sentences reads in windows. What finetuning loses where only heads are trained is measured on test
sentences.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import minilm
import numpy as np
from aml import NUMBERS, STEPS, Corpus, Run, best_before
from document import WORK, Table, put, told
from paired import over_all_words
from processes import in_processes

import whylight as wl
from whylight.core.arrays import Bools, Floats
from whylight.core.registry import METHODS
from whylight.core.text import text_of
from whylight.data.dataset import Dataset
from whylight.explaining.options import Options
from whylight.run.compare import compare_rows, select
from whylight.run.evaluation import Evaluation
from whylight.store.tables import HUMAN, RANDOM
from whylight.views.classifier import Classifier
from whylight.views.game import Game

LENGTHS, TEXTS, REVIEWS, SENTENCES = (20, 200), 3, 10, 40
MACRO, MICRO, TOP = "f1_at_k", "micro_f1_at_k", 25
SOLVEX, BEAM = "solvex", 10
TOKENS = 256
"""Read at once; no sentence is that long."""
TRAINED = ("all", "head")


class Reader(Corpus):
    """SST and its classifier, which reads reviews in windows of `TOKENS`."""

    @property
    def classifier(self) -> Classifier:
        """The classifier of sentences, trained unless it is there."""
        return _windowed(self)

    @property
    def tested(self) -> Dataset:
        """Sentences on which networks are finetuned, whole and by their heads alone."""
        return self.sample("test", SENTENCES)

    @property
    def work(self) -> Path:
        """Where its network and runs are kept."""
        return WORK / "aml" / "costs"


@dataclass(frozen=True)
class Asked:
    """Reviews by one way to explain, or sentences by a finetuned network."""

    corpus: Reader
    network: Path
    name: str

    @property
    def run(self) -> Evaluation:
        """The evaluation; what was done before is read."""
        if self.name in TRAINED:
            return self.corpus.done(_trained(self.network, self.name))
        return _reviews(self.corpus, self.name, *_ways(self.network)[self.name])


def main() -> None:
    """Measure both, and put the tables into the document."""
    corpus = Reader("sst", Path(sys.argv[1]))
    network = best_before(corpus, "A-C")
    asked = {name: Asked(corpus, network, name) for name in (*_ways(network), *TRAINED)}
    list(in_processes(_done, list(asked.values())))
    runs = {name: one.run for name, one in asked.items()}
    tuned = {name: runs.pop(name) for name in TRAINED}
    costs = _kept_costs(corpus, network)
    put(
        "aml_costs",
        {
            "costs": costs,
            "agreement": _highest(runs),
            "agreement, fAML minus others": _beside(runs),
            "heads": _heads(tuned),
        },
    )


@cache
def _windowed(corpus: Reader) -> Classifier:
    plain = Corpus(corpus.name, corpus.path)
    plain.trained_as  # noqa: B018  trained, if it was not
    return wl.load(minilm.folder(corpus.name), max_tokens=TOKENS)


def _done(asked: Asked) -> None:
    _ = asked.run


def _trained(network: Path, trainable: str) -> Run:
    """Finetune all weights, at the rate of the fit, or heads alone, at the method's own."""
    how = {"folder": str(network), "steps": STEPS, "metric": "aopc_comprehensiveness", "trainable": trainable}
    if trainable == "all":
        how["rate"] = NUMBERS["learning_rate"]
    return Run(f"finetuned-{trainable}", ("aml",), {"settings": {f"aml.{key}": value for key, value in how.items()}})


def _ways(network: Path) -> dict[str, tuple[str, Mapping[str, object]]]:
    folder = {"folder": str(network)}
    tuned = {**folder, "steps": STEPS, "metric": "aopc_comprehensiveness", "rate": NUMBERS["learning_rate"]}
    others = ("sequential_integrated_gradients", "decompx")
    return {"pAML": ("aml", folder), "fAML": ("aml", tuned), **{name: (name, {}) for name in others}}


def _kept_costs(corpus: Corpus, network: Path) -> Table:
    """Return the costs; what was measured before is read."""
    kept = corpus.work / "costs.json"
    if not kept.is_file():
        kept.write_text(json.dumps(asdict(_costs(corpus, network))), encoding="utf-8")
    return Table(**json.loads(kept.read_text(encoding="utf-8")))


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


def _reviews(corpus: Reader, name: str, method: str, settings: Mapping[str, object]) -> Evaluation:
    """Hold the highest tokens of reviews against what people marked."""
    data = wl.dataset(f"eraser:{corpus.path / 'eraser_movies'}", split="test").sample(REVIEWS, seed=0)
    return wl.evaluate(
        corpus.classifier,
        data,
        methods=[method],
        metrics=(MACRO, MICRO),
        options=Options(unit="token"),
        settings={"k": TOP, **{f"{method}.{key}": value for key, value in settings.items()}},
        out=corpus.work / "movies" / name,
    )


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
    others = {name: (run, run.summary.lines[0].method) for name, run in runs.items() if name != "fAML"}
    for name, other in {**others, RANDOM: (runs["fAML"], RANDOM)}.items():
        (found,) = compare_rows(*(select(one.scores, method) for one, method in (own, other)))
        micro = over_all_words(MICRO, own, other, settings={"k": TOP})
        rows.append([name, f"{told(found.difference, sign='+')}, {found.standing}", told(micro, sign="+")])
    return Table(["fAML minus", "macro F1 at 25", "micro F1 at 25"], rows)


def _heads(runs: Mapping[str, Evaluation]) -> Table:
    """Compare heads that are finetuned alone with whole networks, sentence by sentence."""
    whole, heads = (runs[name] for name in TRAINED)
    rows = [
        [f"{found.metric}, {found.remover}", f"{told(found.difference, sign='+')}, {found.standing}"]
        for found in compare_rows(select(heads.scores, "aml"), select(whole.scores, "aml"))
    ]
    seconds = [run.summary.lines[0].seconds for run in (whole, heads)]
    rows.append(["seconds per sentence, all weights and heads", ", ".join(f"{one:.3g}" for one in seconds)])
    return Table(["metric", "heads alone minus all weights"], rows)


if __name__ == "__main__":
    main()
