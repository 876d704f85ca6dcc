"""Claims A1 to A6: evidence for diagnosis codes, with and without training for it.

    python findings/coding.py

PLM-CA over a small encoder learns 50 codes from 1,500 generated discharge notes, three seeds. From each of these models
training goes on in five ways: plainly, with IGR, PGD, token masking or supervised attention. Every model is tested on
500 notes; the words of 100 notes are held against the phrases that the codes rest on. Models and runs are kept, so that
a stopped script goes on.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from document import WORK, Table, put, spread
from encoders import small_encoder
from multilabel import (
    FAITHFUL,
    METHODS,
    PLAUSIBLE,
    PUNCTUATION,
    Data,
    Measured,
    Values,
    classified,
    difference,
    mean_of,
    measure,
    micro_f1_change,
    word_baseline,
)

import whylight as wl
from whylight.data.dataset import Dataset
from whylight.training.recipe import Recipe, make_terms
from whylight.training.train import train

SEEDS = (0, 1, 2)
PLACE = WORK / "coding"
FIRST: dict[str, Any] = {"epochs": 12, "learning_rate": 1.5e-3, "batch_size": 8, "max_tokens": 384}
LATER: dict[str, Any] = FIRST | {"epochs": 2, "learning_rate": 3e-4}
EARLIER = "0.937"
"""Micro-F1 on test of the only model of a first series, whose recipe (larger batches) was given up."""


@dataclass(frozen=True)
class Training:
    """How training goes on from the first model; on fewer notes where a step is dear."""

    objective: str
    settings: dict[str, Any] = field(default_factory=dict)
    notes: int | None = None
    validation: int | None = None


TRAININGS = {
    "plain": Training("classification"),
    "IGR": Training("input_gradient_penalty=0.03"),
    "PGD": Training("adversarial_noise", {"epsilon": 0.003}),
    "TM": Training("token_masking", {"steps": 30, "rate": 0.6}, notes=320, validation=32),
    "supervised": Training("attention_supervision"),
}
CLAIMS = (
    ("A1", "AttInGrad - attention, plain", ("plain", "attingrad"), ("plain", "attention")),
    ("A2", "AttInGrad - attention, plain", ("plain", "attingrad"), ("plain", "attention")),
    ("A3", "input x gradient: IGR - plain", ("IGR", "input_x_gradient"), ("plain", "input_x_gradient")),
    ("A3", "input x gradient: PGD - plain", ("PGD", "input_x_gradient"), ("plain", "input_x_gradient")),
    ("A3", "input x gradient: TM - plain", ("TM", "input_x_gradient"), ("plain", "input_x_gradient")),
    ("A4", "TM AttInGrad - supervised attention", ("TM", "attingrad"), ("supervised", "attention")),
    ("A4", "TM AttInGrad - plain AttInGrad", ("TM", "attingrad"), ("plain", "attingrad")),
)


def main() -> None:
    """Train, measure, and put the tables into the document."""
    data = {split: wl.dataset("discharge:", split=split) for split in ("train", "dev", "test")}
    words, _ = word_baseline(data)
    found: dict[str, list[Measured]] = {}
    for seed in SEEDS:
        first = first_model(data, seed)
        for name, training in TRAININGS.items():
            folder = PLACE / f"{name}-{seed}"
            later_model(data, training, start=first, seed=seed, folder=folder)
            one = measure(folder, data, texts=100, tuning=50, thorough=name == "plain")
            found.setdefault(name, []).append(one)
            print(name, seed, one.figures, flush=True)
    _write(found, words, data["test"])


def first_model(data: Data, seed: int) -> Path:
    """Train the model that all others start from, unless it is there, and return its folder."""
    texts = [record.example.text for record in data["train"]]
    encoder = small_encoder(PLACE / f"encoder-{seed}", texts, seed=seed)
    recipe = Recipe(terms=make_terms([], {}, combine="joint"), seed=seed, **FIRST)
    done = train(encoder, data["train"], data["dev"], recipe, out=PLACE / f"first-{seed}", architecture="plm_ca")
    return done.folder


def later_model(data: Data, training: Training, *, start: Path, seed: int, folder: Path) -> None:
    """Train on from the first model, unless that is done."""
    recipe = Recipe(terms=make_terms([training.objective], training.settings, combine="joint"), seed=seed, **LATER)
    learnt, dev = data["train"], data["dev"]
    if training.notes is not None and training.validation is not None:
        learnt, dev = learnt.sample(training.notes, seed=0), dev.sample(training.validation, seed=0)
    train(start, learnt, dev, recipe, out=folder)


def _write(found: dict[str, list[Measured]], words: dict[str, float], test: Dataset) -> None:
    changes = [
        ", ".join(
            f"{one.figures['micro_f1'] - base.figures['micro_f1']:+.3f}"
            for one, base in zip(runs, found["plain"], strict=True)
        )
        for runs in found.values()
    ]
    rows = [[*row, change] for row, change in zip(classified(found, words), [*changes, ""], strict=True)]
    tables = {
        "classification": Table(["training", *words, "micro_f1 minus plain, by seed"], rows),
        "evidence": _evidence(found),
        "claims": _claims(found, test),
        "punctuation": _punctuation(found),
        "remarks": Table(["what was noted", "value"], _remarks()),
    }
    put("coding", tables)


def _remarks() -> list[list[str]]:
    """Return what says whether trainings did anything: the penalty that IGR lowers, and what token masking masks."""
    receipts = {
        name: [json.loads((PLACE / f"{name}-{seed}" / "training.json").read_text(encoding="utf-8")) for seed in SEEDS]
        for name in ("IGR", "TM")
    }
    slopes = [_logged(one, "input_gradient_penalty") for one in receipts["IGR"]]
    shares = [share for one in receipts["TM"] for share in _logged(one, "masked_share")]
    return [
        ["gradient norm in training batches, before IGR", f"{np.mean([one[0] for one in slopes]):.2f}"],
        ["gradient norm in training batches, after IGR", f"{np.mean([one[-1] for one in slopes]):.2f}"],
        ["masked share, least", f"{min(shares):.2f}"],
        ["masked share, most", f"{max(shares):.2f}"],
        ["beta taken", ", ".join(f"{one['beta']:g}" for one in receipts["TM"])],
        ["micro_f1 of seed 0 before the recipe was changed", EARLIER],
    ]


def _logged(receipt: dict[str, Any], name: str) -> list[float]:
    return [one[name] for one in receipt["history"] if name in one]


def _evidence(found: dict[str, list[Measured]]) -> Table:
    """Tabulate every training and method, mean and standard deviation over seeds."""
    names = (*PLAUSIBLE, PUNCTUATION)
    rows = [
        [training, method, *(spread([mean_of(one.values, method, metric) for one in runs]) for metric in names)]
        for training, runs in found.items()
        for method in METHODS
    ]
    return Table(["training", "method", *names], rows, names=2)


def _claims(found: dict[str, list[Measured]], test: Dataset) -> Table:
    """Tabulate the paired differences that claims are about."""

    def own(place: tuple[str, str], metric: str) -> list[dict[str, float]]:
        return [one.values[place[1], metric] for one in found[place[0]]]

    rows = [
        [claim, what, metric, difference(own(first, metric), own(second, metric))]
        for claim, what, first, second in CLAIMS
        for metric in (PLAUSIBLE if claim != "A2" else FAITHFUL)
    ]
    answers = {name: [one.answers for one in runs] for name, runs in found.items()}
    rows += [
        ["A5", f"{name} - plain", "micro_f1", micro_f1_change(own, answers["plain"], test)]
        for name, own in answers.items()
        if name != "plain"
    ]
    return Table(["claim", "difference", "in", "mean and 95 % interval"], rows, names=3)


def _punctuation(found: dict[str, list[Measured]]) -> Table:
    """Tabulate what changes when words without a letter or digit lose their score."""

    def own(values: list[Values], method: str, metric: str) -> list[dict[str, float]]:
        return [one[method, metric] for one in values]

    rows = []
    for method in METHODS:
        cells = []
        for metric in PLAUSIBLE:
            runs = found["plain"]
            cells.append(
                difference(*(own(v, method, metric) for v in ([r.cleaned for r in runs], [r.values for r in runs])))
            )
        rows.append([method, *cells])
    return Table(["plain model, punctuation set to 0: change of", *PLAUSIBLE], rows)


if __name__ == "__main__":
    main()
