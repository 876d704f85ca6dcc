"""CodiEsp: evidence for the codes of Spanish clinical cases, by models that saw few of them.

    python findings/codiesp.py path/to/codiesp

PLM-CA over a small encoder without pretraining learns the 20 most frequent categories of diagnoses from the 500 cases
of train, once from labels alone and once with supervised attention, three seeds. Beside it stands a logistic regression
on TF-IDF of the same cases. Evidence is measured on all cases of test, with intervals over seeds and cases.
"""

import sys
from pathlib import Path
from typing import Any

from document import WORK, Table, put
from encoders import small_encoder
from multilabel import (
    METHODS,
    PLAUSIBLE,
    Data,
    Marks,
    Measured,
    classified,
    difference,
    interval_of,
    measure,
    micro_f1_change,
    word_baseline,
)

import whylight as wl
from whylight.data.dataset import Dataset
from whylight.training.recipe import Recipe, make_terms
from whylight.training.train import train

SEEDS = (0, 1, 2)
PLACE = WORK / "codiesp"
TRAININGS = {"plain": "classification", "supervised": "attention_supervision"}
NUMBERS: dict[str, Any] = {"epochs": 20, "patience": 6, "learning_rate": 2e-3, "batch_size": 16, "max_tokens": 1024}


def main() -> None:
    """Train, measure, and put the tables into the document."""
    data = read_data(sys.argv[1])
    words, answers = word_baseline(data)
    found: dict[str, list[Measured]] = {}
    for seed in SEEDS:
        for name in TRAININGS:
            found.setdefault(name, []).append(_measured(data, name, seed))
    _write(found, words, _changes(found, answers, data["test"]))


def read_data(path: str) -> Data:
    """Read the splits, with the 20 most frequent categories of diagnoses."""
    return {
        split: wl.dataset(f"codiesp:{path}", split=split, level="category", top=20)
        for split in ("train", "dev", "test")
    }


def trained_model(data: Data, name: str, seed: int) -> Path:
    """Train a model, unless it is there, and return its folder."""
    texts = [record.example.text for record in data["train"]]
    encoder = small_encoder(PLACE / f"encoder-{seed}", texts, seed=seed, pieces=8000)
    recipe = Recipe(terms=make_terms([TRAININGS[name]], {}, combine="joint"), seed=seed, **NUMBERS)
    folder = PLACE / f"{name}-{seed}"
    train(encoder, data["train"], data["dev"], recipe, out=folder, architecture="plm_ca")
    return folder


def _measured(data: Data, name: str, seed: int) -> Measured:
    one = measure(trained_model(data, name, seed), data, texts=len(data["test"]), tuning=100, thorough=False)
    print(name, seed, one.figures, flush=True)
    return one


def _changes(found: dict[str, list[Measured]], words: Marks, test: Dataset) -> list[list[str]]:
    """Return how micro-F1 differs between the trainings and from the word baseline."""
    answers = {name: [one.answers for one in runs] for name, runs in found.items()}
    answers["TF-IDF"] = [words] * len(answers["plain"])
    pairs = (("plain", "TF-IDF"), ("supervised", "TF-IDF"), ("supervised", "plain"))
    return [[f"{a} - {b}", "micro_f1", micro_f1_change(answers[a], answers[b], test)] for a, b in pairs]


def _write(found: dict[str, list[Measured]], words: dict[str, float], changes: list[list[str]]) -> None:
    evidence = [
        [name, method, *(interval_of([one.values[method, metric] for one in runs]) for metric in PLAUSIBLE)]
        for name, runs in found.items()
        for method in (*METHODS, "random")
    ]
    gains = [
        [
            f"AttInGrad - attention, {name}",
            metric,
            difference(*([one.values[m, metric] for one in runs] for m in ("attingrad", "attention"))),
        ]
        for name, runs in found.items()
        for metric in PLAUSIBLE
    ]
    tables = {
        "classification": Table(["training", *words], classified(found, words)),
        "evidence": Table(["training", "method", *PLAUSIBLE], evidence, names=2),
        "differences": Table(["difference", "in", "mean and 95 % interval"], [*changes, *gains], names=2),
    }
    put("codiesp", tables)


if __name__ == "__main__":
    main()
