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
from dataclasses import dataclass, replace
from pathlib import Path

import aml_tables
import minilm
import numpy as np
from aml_tables import COLUMNS, Found, Search
from document import HERE, WORK
from networks import alikeness, measured

import whylight as wl
from whylight.data.dataset import Dataset, Record
from whylight.explaining.options import Options
from whylight.run.evaluation import Evaluation
from whylight.views.classifier import Classifier

TRIALS, STEPS = 12, 10
WEIGHTS = ("prediction", "inverse", "sparsity")
SEARCHES = HERE / "searches"
NUMBERS = {"epochs": 2, "learning_rate": 3e-4}
TRAINING, VALIDATION, TEST, FEW = 2000, 100, 100, 20
METRICS = tuple(dict.fromkeys(metric for metric, _ in COLUMNS.values()))
AREAS = ("insertion_auc", "deletion_auc")
OTHERS = (
    *("integrated_gradients", "sequential_integrated_gradients", "lime", "solvex", "decompx", "alti", "globenc"),
    *("deeplift", "gradient_shap", "input_x_gradient"),
)
SETTINGS: Mapping[str, object] = {"solvex.beam": 10}
ABLATED = ("inverse", "prediction")


@dataclass(frozen=True)
class Corpus:
    """One corpus with the classifier that is explained on it, and that one's accuracy on all test texts."""

    name: str
    classifier: Classifier
    training: Dataset
    validation: Dataset
    test: Dataset
    accuracy: float

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
            self.training,
            self.validation.sample(FEW, seed=0),
            out=self.work / name,
            trials=0,
            encoder=minilm.encoder(),
            remover="delete",
            **NUMBERS,
            **weights,
        )
        return next(iter(done.values())).folder

    def run(self, name: str, methods: tuple[str, ...], **asked: object) -> Evaluation:
        """Measure methods, by words deleted and by words masked; what was done before is read."""
        asked = {"remover": "delete", "metrics": METRICS, **asked}
        return wl.evaluate(
            self.classifier,
            self.test,
            methods=methods,
            metric_removers=("delete", "mask"),
            options=Options(unit="token"),
            out=self.work / "runs" / name,
            **asked,
        )


def main() -> None:
    """Run what is asked for, and put its tables into the document."""
    path, names = Path(sys.argv[1]), sys.argv[2:] or ["sst", "emotion"]
    for name in names:
        aml_tables.write(name, _found(open_corpus(name, path)))


def open_corpus(name: str, path: Path) -> Corpus:
    """Read a corpus, and train its classifier unless it is there."""
    folder = path / {"sst": "sst_trees", "emotion": "emotion"}[name]
    train, dev, test = (wl.dataset(f"{name}:{folder}", split=split) for split in ("train", "dev", "test"))
    train = train.without(dev).without(test)
    made = minilm.classifier(name, train, dev, epochs=3, learning_rate=5e-5, max_tokens=128)
    some = train.sample(TRAINING, seed=0), dev.sample(VALIDATION, seed=0), test.sample(TEST, seed=0)
    learnt, validation, explained = (replace(one, records=tuple(map(_unmarked, one))) for one in some)
    clf = wl.load(made)
    return Corpus(name, clf, learnt, validation, explained, minilm.accuracy(clf, test))


def _unmarked(record: Record) -> Record:
    """Leave out what people marked: it is not asked about here."""
    return replace(record, rationales={})


def search(corpus: Corpus) -> Search:
    """Fit a network with each triple of weights, and see which is best for which column.

    What came of the trials is kept with the figures, so that networks that are best for nothing are fitted once only.
    """
    drawn = np.random.default_rng(0).random((TRIALS, 3))
    trials = [dict(zip(WEIGHTS, map(float, row), strict=True)) for row in drawn]
    validated = [_validated(corpus, number, weights) for number, weights in enumerate(trials)]
    chosen = {column: int(np.argmax([own[column] for own in validated])) for column in COLUMNS}
    folders = {number: corpus.fitted(f"trial-{number}", trials[number]) for number in sorted(set(chosen.values()))}
    return Search(trials, folders, validated, chosen)


def _validated(corpus: Corpus, number: int, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the columns of a trial on the validation texts; more is better."""
    kept = SEARCHES / f"{corpus.name}.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    asked = {"texts": len(corpus.training), "validation": len(corpus.validation), **NUMBERS, **weights}
    if known.get(str(number), {}).get("asked") != asked:
        folder = corpus.fitted(f"trial-{number}", weights)
        found = measured(corpus.classifier, corpus.validation, folder, COLUMNS)
        known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
        known[str(number)] = {"asked": asked, "validated": found}
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(dict(sorted(known.items(), key=lambda one: int(one[0]))), indent=1) + "\n")
        print(corpus.name, number, found, flush=True)
    validated: dict[str, float] = known[str(number)]["validated"]
    return validated


def _found(corpus: Corpus) -> Found:
    """Search, explain the test texts by everything, and measure."""
    found = search(corpus)
    others = corpus.run("others", OTHERS, metrics=(*METRICS, *AREAS), settings=SETTINGS)
    pretrained, finetuned = {}, {}
    for column in COLUMNS:
        settings = {"folder": str(found.network(column))}
        pretrained[column] = corpus.run(f"pretrained-{found.chosen[column]}", ("aml",), settings=settings)
        finetuned[column] = _finetuned(corpus, column, found.network(column))
    some, rate = corpus.test.sample(FEW, seed=0), NUMBERS["learning_rate"]
    tau = alikeness(corpus.classifier, some, found.network("A-C"), steps=STEPS, rate=rate)
    runners = sorted({aml_tables.best_other(others, column) for column in COLUMNS})
    settings = {key: value for key, value in SETTINGS.items() if key.split(".")[0] in runners}
    controls = corpus.run("controls", tuple(runners), settings=settings, control=f"best-of={STEPS},tau={tau:.3f}")
    return Found(
        accuracy=corpus.accuracy,
        search=found,
        others=others,
        pretrained=pretrained,
        finetuned=finetuned,
        controls=controls,
        tau=tau,
        ablated=_ablated(corpus, found),
    )


def _finetuned(corpus: Corpus, column: str, folder: Path) -> Evaluation:
    metric, remover = COLUMNS[column]
    rate = NUMBERS["learning_rate"]  # that of the fit, as published
    settings = {"folder": str(folder), "steps": STEPS, "metric": metric, "rate": rate}
    return corpus.run(f"finetuned-{column}", ("aml",), remover=remover, settings=settings)


def _ablated(corpus: Corpus, found: Search) -> dict[str, Evaluation]:
    """Leave out a term of the networks that are best by sufficiency and by comprehensiveness."""
    ablated = {}
    for column in ("Suff", "Comp"):
        number = found.chosen[column]
        for term in ABLATED:
            name = f"without-{term}-{number}"
            folder = corpus.fitted(name, {**found.trials[number], term: 0.0})
            ablated[f"{column}, without {term}"] = corpus.run(name, ("aml",), settings={"folder": str(folder)})
    return ablated


if __name__ == "__main__":
    main()
