"""Claims B1 to B3: is a network that was fitted to mask, and finetuned on each text, the most faithful of all methods?

    python findings/aml.py path/to/data            both corpora
    python findings/aml.py path/to/data sst        one of them

MiniLM classifies sentences of SST, or tweets by emotion. Twelve triples of weights are drawn once; for each an
attribution network is fitted, from the pretrained encoder, and measured on validation texts by the five metrics of the
paper, so that each column of the table has its own best network at the price of one search. Test texts are explained by
these networks (pAML), by their finetuning on each text (fAML, selected by the metric of the column) and by ten other
methods. The best of the others is measured once more as the best of ten maps, as fAML is. Everything is kept, so that a
stopped script goes on.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path

import aml_tables
import minilm
import numpy as np
from aml_tables import COLUMNS, Found, Search
from document import HERE, WORK
from networks import alikeness, measured
from processes import in_processes

import whylight as wl
from whylight.data.dataset import Dataset, Record
from whylight.explaining.options import Options
from whylight.run.evaluation import Evaluation
from whylight.views.classifier import Classifier

TRIALS, STEPS = 12, 10
WEIGHTS = ("prediction", "inverse", "sparsity")
SEARCHES = HERE / "searches"
NUMBERS = {"epochs": 2, "learning_rate": 3e-4}
TRAINING, VALIDATION, FEW = 2000, 100, 20
TEST = {"sst": 100, "emotion": 60}
METRICS = tuple(dict.fromkeys(metric for metric, _ in COLUMNS.values()))
AREAS = ("insertion_auc", "deletion_auc")
SLOW = ("solvex[beam=5]",)
OTHERS = (
    *("integrated_gradients", "sequential_integrated_gradients", "lime", "decompx", "alti", "globenc"),
    *("deeplift", "gradient_shap", "input_x_gradient"),
)
ABLATED = ("inverse", "prediction")


@dataclass(frozen=True)
class Run:
    """An evaluation on the test texts: methods, and what is asked of them."""

    name: str
    methods: tuple[str, ...]
    asked: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Corpus:
    """One corpus with the classifier that is explained on it."""

    name: str
    path: Path

    def split(self, name: str) -> Dataset:
        """Read a split."""
        folder = self.path / {"sst": "sst_trees", "emotion": "emotion"}[self.name]
        return wl.dataset(f"{self.name}:{folder}", split=name)

    def sample(self, split: str, count: int) -> Dataset:
        """Draw texts of a split, without what people marked: it is not asked about here."""
        drawn = self.training if split == "train" else self.split(split)
        drawn = drawn.sample(count, seed=0)
        return replace(drawn, records=tuple(map(_unmarked, drawn)))

    @property
    def training(self) -> Dataset:
        """Texts to learn from, without those that are looked at later."""
        return self.split("train").without(self.split("dev")).without(self.split("test"))

    @property
    def tested(self) -> Dataset:
        """The texts that are explained."""
        return self.sample("test", TEST[self.name])

    @property
    def classifier(self) -> Classifier:
        """The classifier, trained unless it is there."""
        return _loaded(self)

    @property
    def trained_as(self) -> str:
        """What the classifier learnt from and how: the same training ends on other bits on another machine."""
        _loaded(self)  # trained, if it was not
        return str(minilm.receipt(self.name)["training"])

    @property
    def work(self) -> Path:
        """Where its networks and runs are kept."""
        return WORK / "aml" / self.name

    def fitted(self, name: str, weights: Mapping[str, float]) -> Path:
        """Fit a network with these weights, unless it is there.

        Its last epoch is chosen by next to no texts: all networks are compared by the validation texts afterwards.
        """
        done = wl.fit(
            "aml",
            self.classifier,
            self.sample("train", TRAINING),
            self.sample("dev", FEW),
            out=self.work / name,
            trials=0,
            encoder=minilm.encoder(),
            remover="delete",
            **NUMBERS,
            **weights,
        )
        return next(iter(done.values())).folder

    def done(self, run: Run) -> Evaluation:
        """Measure methods, by words deleted and by words masked; what was done before is read."""
        asked = {"remover": "delete", "metrics": METRICS, **run.asked}
        return wl.evaluate(
            self.classifier,
            self.tested,
            methods=run.methods,
            metric_removers=("delete", "mask"),
            options=Options(unit="token"),
            out=self.work / "runs" / run.name,
            **asked,
        )


def main() -> None:
    """Run what is asked for, and put its tables into the document."""
    path, names = Path(sys.argv[1]), sys.argv[2:] or ["sst", "emotion"]
    for name in names:
        aml_tables.write(name, _found(Corpus(name, path)))


@cache
def _loaded(corpus: Corpus) -> Classifier:
    numbers = {"epochs": 3, "learning_rate": 5e-5, "max_tokens": 128}
    return wl.load(minilm.classifier(corpus.name, corpus.training, corpus.split("dev"), **numbers))


def _unmarked(record: Record) -> Record:
    return replace(record, rationales={})


def search(corpus: Corpus) -> Search:
    """Fit a network with each triple of weights, and see which is best for which column.

    What came of the trials is kept with the figures, so that networks that are best for nothing are fitted once only.
    It is that of a classifier that was trained likewise: where both were tried, means differed in the third digit.
    """
    drawn = np.random.default_rng(0).random((TRIALS, 3))
    trials = [dict(zip(WEIGHTS, map(float, row), strict=True)) for row in drawn]
    kept = SEARCHES / f"{corpus.name}.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    shared = {"training": corpus.trained_as, "texts": TRAINING, "validation": VALIDATION}
    asked = [{**shared, **NUMBERS, **weights} for weights in trials]
    missing = [number for number in range(TRIALS) if known.get(str(number), {}).get("asked") != asked[number]]
    tasks = [(corpus, number, trials[number]) for number in missing]
    kept.parent.mkdir(exist_ok=True)
    for number, found in zip(missing, in_processes(_validated, tasks), strict=True):
        known[str(number)] = {"asked": asked[number], "validated": found}
        ordered = {str(one): known[str(one)] for one in range(TRIALS) if str(one) in known}
        kept.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
        print(corpus.name, number, found, flush=True)
    validated = [known[str(number)]["validated"] for number in range(TRIALS)]
    chosen = {column: int(np.argmax([own[column] for own in validated])) for column in COLUMNS}
    best = sorted(set(chosen.values()))
    folders = in_processes(_fitted, [(corpus, f"trial-{number}", trials[number]) for number in best])
    return Search(trials, dict(zip(best, folders, strict=True)), validated, chosen)


def best_before(corpus: Corpus, column: str) -> Path:
    """Fit a network with the weights that a search found best, also one on a classifier that was trained likewise.

    Trainings do not end with the same bits on every machine; what a search says of weights outlives these.
    """
    known = json.loads((SEARCHES / f"{corpus.name}.json").read_text(encoding="utf-8"))
    number = max(known, key=lambda one: known[one]["validated"][column])
    weights = {name: known[number]["asked"][name] for name in WEIGHTS}
    return corpus.fitted(f"trial-{number}", weights)


def _fitted(task: tuple[Corpus, str, Mapping[str, float]]) -> Path:
    corpus, name, weights = task
    return corpus.fitted(name, weights)


def _validated(task: tuple[Corpus, int, Mapping[str, float]]) -> dict[str, float]:
    """Return the columns of a trial on the validation texts; more is better."""
    corpus, number, weights = task
    folder = corpus.fitted(f"trial-{number}", weights)
    return measured(corpus.classifier, corpus.sample("dev", VALIDATION), folder, COLUMNS)


def _done(task: tuple[Corpus, Run]) -> None:
    corpus, run = task
    corpus.done(run)


def _found(corpus: Corpus) -> Found:
    """Search, explain the test texts by everything, and measure."""
    right = minilm.accuracy(corpus.classifier, corpus.split("test"))
    found = search(corpus)
    rate = NUMBERS["learning_rate"]
    tau = alikeness(corpus.classifier, corpus.sample("test", FEW), found.network("A-C"), steps=STEPS, rate=rate)
    control = {"control": f"best-of={STEPS},tau={tau:.3f}"}
    # what is slow is explained once, and so with its control
    others = [
        Run("slow", SLOW, {"metrics": (*METRICS, *AREAS), **control}),
        Run("others", OTHERS, {"metrics": (*METRICS, *AREAS)}),
    ]
    plain = {column: _pretrained(found, column) for column in COLUMNS}
    tuned = {column: _finetuned(found, column) for column in COLUMNS}
    ablated = _ablated(corpus, found)
    every = {run.name: run for run in chain(others, plain.values(), tuned.values(), ablated.values())}
    list(in_processes(_done, [(corpus, run) for run in every.values()]))
    both = [corpus.done(run) for run in others]
    runners = tuple(sorted({aml_tables.best_other(both, column)[1] for column in COLUMNS} - {*SLOW}))
    return Found(
        accuracy=right,
        search=found,
        others=both,
        pretrained={column: corpus.done(run) for column, run in plain.items()},
        finetuned={column: corpus.done(run) for column, run in tuned.items()},
        controls=[both[0], *([corpus.done(Run("controls", runners, control))] if runners else [])],
        tau=tau,
        ablated={name: corpus.done(run) for name, run in ablated.items()},
    )


def _pretrained(found: Search, column: str) -> Run:
    settings = {"folder": str(found.network(column))}
    return Run(f"pretrained-{found.chosen[column]}", ("aml",), {"settings": settings})


def _finetuned(found: Search, column: str) -> Run:
    metric, remover = COLUMNS[column]
    rate = NUMBERS["learning_rate"]  # that of the fit, as published
    network = str(found.network(column))
    # by the method's name: metrics have steps too
    settings = {"aml.folder": network, "aml.steps": STEPS, "aml.metric": metric, "aml.rate": rate}
    return Run(f"finetuned-{column}", ("aml",), {"remover": remover, "settings": settings})


def _ablated(corpus: Corpus, found: Search) -> dict[str, Run]:
    """Leave out a term of the networks that are best by sufficiency and by comprehensiveness."""
    cases = [(column, term) for column in ("Suff", "Comp") for term in ABLATED]
    names = [f"without-{term}-{found.chosen[column]}" for column, term in cases]
    weights = [{**found.trials[found.chosen[column]], term: 0.0} for column, term in cases]
    distinct = {name: (corpus, name, own) for name, own in zip(names, weights, strict=True)}
    folders = dict(zip(distinct, in_processes(_fitted, list(distinct.values())), strict=True))
    return {
        f"{column}, without {term}": Run(name, ("aml",), {"settings": {"folder": str(folders[name])}})
        for (column, term), name in zip(cases, names, strict=True)
    }


if __name__ == "__main__":
    main()
