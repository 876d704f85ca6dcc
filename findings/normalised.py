"""Can faithfulness of two models be compared? AOPC of trainings, beside AOPC between its bounds (NAOPC).

    python findings/normalised.py path/to/data

How far a probability can fall depends on the model, so that the AOPC of two models may differ although their
explanations are equally good. NAOPC (Edin et al. 2025) places each text's AOPC between those of the best and the worst
order of its words. The bundled encoder with a fresh head learns from 2,000 SST sentences in four ways, by three seeds:
from labels alone, guided by human rationales (attention or input x gradient), and on texts with gaps. Each model is
explained on short dev sentences; what a training changes is told by both measures. Models and runs are kept, so that a
stopped script goes on.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from document import NUMBER, WORK, Table, put
from multilabel import Values, difference, interval_of, values_of
from processes import in_processes
from regularisation import start

import whylight as wl
from whylight.core.text import text_of
from whylight.data.dataset import Dataset
from whylight.explaining.options import Options
from whylight.models.tokenised import units

SEEDS = (0, 1, 2)
PLAIN = "plain"
TRAININGS: Mapping[str, tuple[str, ...]] = {
    PLAIN: (),
    "guided attention": ("rationale_attention=1",),
    "guided gradient": ("rationale_gradient=1",),
    "texts with gaps": ("random_masking",),
}
METHODS = ("occlusion", "input_x_gradient", "attention")
METRICS = {
    "comprehensiveness": ("aopc_comprehensiveness", "normalised_aopc_comprehensiveness"),
    "sufficiency": ("aopc_sufficiency", "normalised_aopc_sufficiency"),
}
TRAINING, TEXTS, WORDS = 2000, 60, 10
NUMBERS = {"epochs": 4, "patience": 2, "learning_rate": 5e-5, "max_tokens": 128}
Task = tuple[Path, str, int]


def main() -> None:
    """Train, measure, and put the tables into the document."""
    trees = Path(sys.argv[1]) / "sst_trees"
    tasks = [(trees, name, seed) for seed in SEEDS for name in TRAININGS]
    start()  # written once, before two processes look for it
    found: dict[str, list[tuple[float, Values]]] = {}
    for (_, name, _), one in zip(tasks, in_processes(measured, tasks), strict=True):
        found.setdefault(name, []).append(one)
    values = {name: [own for _, own in runs] for name, runs in found.items()}
    accuracies = [[name, ", ".join(f"{accuracy:.3f}" for accuracy, _ in runs)] for name, runs in found.items()]
    put(
        "normalised",
        {
            "accuracy": Table(["training", "accuracy on dev, seeds 0, 1, 2"], accuracies),
            "means": _means(values),
            "changes": _changes(values),
        },
    )


def measured(task: Task) -> tuple[float, Values]:
    """Return the accuracy of one training on dev, and how faithful its explanations are, text by text."""
    trees, name, seed = task
    data, dev = (wl.dataset(f"sst:{trees}", split=split) for split in ("train", "dev"))
    made = wl.train(
        start(),
        data.without(dev).sample(TRAINING, seed=0),
        dev,
        objectives=list(TRAININGS[name]),
        seed=seed,
        out=WORK / "normalised" / f"{name}-{seed}",
        **NUMBERS,
    )
    run = wl.evaluate(
        wl.load(made.folder),
        short(dev).sample(TEXTS, seed=0),
        methods=METHODS,
        metrics=[metric for pair in METRICS.values() for metric in pair],
        options=Options(target="gold"),  # the same label for every model
        out=made.folder / "run",
        progress=False,
    )
    return float(made.receipt["validation"]["accuracy"]), values_of(run.scores)


def short(data: Dataset) -> Dataset:
    """Return the texts whose bounds are found exactly."""
    kept = tuple(one for one in data if 2 <= len(units(text_of(one.example), "word")) <= WORDS)
    return replace(data, records=kept)


def _means(found: Mapping[str, list[Values]]) -> Table:
    rows = [
        [name, method, *(interval_of(_each(runs, method, metric)) for pair in METRICS.values() for metric in pair)]
        for name, runs in found.items()
        for method in METHODS
    ]
    return Table(["training", "method", *_columns()], rows, names=2)


def _changes(found: Mapping[str, list[Values]]) -> Table:
    """Tabulate what each training changes by both measures, and whether they say the same."""
    rows = []
    for name in [one for one in found if one != PLAIN]:
        for method in METHODS:
            row = [name, method]
            for pair in METRICS.values():
                told = [difference(*(_each(found[one], method, metric) for one in (name, PLAIN))) for metric in pair]
                row += [*told, "yes" if _direction(told[0]) == _direction(told[1]) else "no"]
            rows.append(row)
    head = [title for kind in METRICS for title in (*_columns(kind), f"{kind}: the same verdict")]
    return Table(["training, minus plain", "method", *head], rows, names=2)


def _columns(*kinds: str) -> list[str]:
    return [f"{measure} {kind}" for kind in kinds or METRICS for measure in ("AOPC", "NAOPC")]


def _each(runs: list[Values], method: str, metric: str) -> list[dict[str, float]]:
    return [own[method, metric] for own in runs]


def _direction(told: str) -> int:
    """Return 1 or -1 for a difference whose interval leaves out 0, else 0."""
    low, high = map(float, NUMBER.findall(told)[1:])
    return (low > 0) - (high < 0)


if __name__ == "__main__":
    main()
