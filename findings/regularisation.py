"""Claims C1 to C5: does training with human rationales change what a model relies on, and does it help elsewhere?

    python findings/regularisation.py path/to/data

The bundled encoder with a fresh head learns from 2,000 SST sentences, at most 6 epochs, three seeds, guided on
attention, rollout or input x gradient, jointly or under a bound. Each model is tested on SST, movie reviews, Yelp and
IMDB, and what five methods say of it is held against human rationales of SST dev sentences. Models and figures are
kept, so that a stopped script goes on.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from document import WORK, Table, put, spread
from scipy import stats

import whylight as wl
from whylight.core.errors import UnmetError
from whylight.data.dataset import Dataset
from whylight.explaining.case import open_case
from whylight.training.figures import single_label
from whylight.training.recipe import Recipe, make_terms
from whylight.training.train import train
from whylight.training.trainer import MARGIN

SEEDS = (0, 1, 2)
GUIDES = ("attention", "rollout", "gradient")
SHOWN = ("attention", "attention_rollout", "input_x_gradient", "alti", "decompx_linear")
OUTSIDE = ("movies", "Yelp", "IMDB")
SWEEP = (0.0, 0.5, 1.0, 5.0, 10.0, 100.0)
JOINT = 1.0
LOSS = "guiding loss"
NUMBERS: dict[str, Any] = {"epochs": 6, "patience": 2, "learning_rate": 5e-5}
LENGTH = 128


@dataclass(frozen=True)
class Data:
    """Everything that is read once."""

    train: Dataset
    dev: Dataset
    tests: dict[str, Dataset]
    marked: Dataset


def main() -> None:
    """Train, measure, and put the tables into the document."""
    data = _data(Path(sys.argv[1]))
    found: dict[str, list[dict[str, float]]] = {}
    bounds = {guide: _bound(guide, data) for guide in GUIDES}
    alone = {guide: _alone(guide, data) for guide in GUIDES}
    found["baseline"] = [_measured("baseline", [], seed, data) for seed in SEEDS]
    sweep: list[tuple[float, dict[str, float]]] = []
    for guide in GUIDES:
        for seed in SEEDS:
            joint = _measured(f"joint {guide}", [f"rationale_{guide}={JOINT}"], seed, data)
            found.setdefault(f"joint {guide}", []).append(joint)
            held = _measured(f"constrained {guide}", [f"rationale_{guide}"], seed, data, bound=bounds[guide])
            found.setdefault(f"constrained {guide}", []).append(held)
        sweep = sweep or _sweep(found, data)
    _write(found, alone, sweep, bounds)


def _sweep(found: dict[str, list[dict[str, float]]], data: Data) -> list[tuple[float, dict[str, float]]]:
    """Vary the weight of joint attention guidance; two of the weights are runs that exist anyway."""
    known = {0.0: found["baseline"][0], JOINT: found["joint attention"][0]}
    return [
        (weight, known.get(weight) or _measured(f"sweep {weight:g}", [f"rationale_attention={weight}"], 0, data))
        for weight in SWEEP
    ]


def _data(path: Path) -> Data:
    trees = f"sst:{path / 'sst_trees'}"
    tests = {
        "SST": wl.dataset(trees, split="test").sample(500, seed=0),
        "movies": wl.dataset(f"eraser:{path / 'eraser_movies'}", split="test"),
        "Yelp": wl.dataset(f"yelp:{path / 'yelp_1k'}", split="test").sample(300, seed=0),
        "IMDB": wl.dataset(f"imdb:{path / 'imdb'}", split="test").sample(300, seed=0),
    }
    dev = wl.dataset(trees, split="dev")
    return Data(
        wl.dataset(trees, split="train").sample(2000, seed=0),
        dev.sample(400, seed=1),
        tests,
        dev.with_rationales().sample(200, seed=2),
    )


def _recipe(objectives: list[str], *, combine: Any, seed: int, **bounds: float) -> Recipe:
    terms = make_terms(objectives, {}, combine=combine)
    return Recipe(terms=terms, combine=combine, seed=seed, max_tokens=LENGTH, **NUMBERS, **bounds)


def _bound(guide: str, data: Data) -> dict[str, float]:
    """Train on the guiding term alone, and take the proposed bounds."""
    recipe = _recipe([f"rationale_{guide}"], combine="alone", seed=0)
    found = train(start(), data.train, data.dev, recipe, out=WORK / "regularisation" / f"alone-{guide}")
    return dict(found.receipt["bounds"])


def _alone(guide: str, data: Data) -> dict[str, float]:
    """Measure the model that learned nothing but the guiding term: how far plausibility goes when it alone counts."""
    folder = WORK / "regularisation" / f"alone-{guide}"
    return _kept(folder / "figures.json", lambda: _plausibility(wl.load(folder), data))


def _kept(figures: Path, measure: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Return figures that are there already, or measure and keep them."""
    if not figures.is_file():
        figures.write_text(json.dumps(measure()), encoding="utf-8")
    known: dict[str, float] = json.loads(figures.read_text(encoding="utf-8"))
    print(figures.parent.name, {key: round(value, 3) for key, value in known.items()}, flush=True)
    return known


def _measured(
    name: str, objectives: list[str], seed: int, data: Data, *, bound: dict[str, float] | None = None
) -> dict[str, float]:
    """Train one model, unless it is there, and measure it, unless its figures are there."""
    folder = WORK / "regularisation" / f"{name.replace(' ', '-')}-{seed}"
    combine = "joint" if bound is None else "constrained"
    recipe = _recipe(objectives, combine=combine, seed=seed)
    if bound is not None:
        recipe = replace(recipe, bound_train=bound["train"], bound_validation=bound["validation"])

    def measure() -> dict[str, float]:
        try:
            train(start(), data.train, data.dev, recipe, out=folder)
        except UnmetError:
            return _tested(folder / "unmet", data)
        return _tested(folder, data)

    return _kept(folder / "figures.json", measure) | _guided(folder)


def _guided(folder: Path) -> dict[str, float]:
    """Return the guiding loss on the validation sentences, without its weight; 0 where nothing guides."""
    figures = json.loads((folder / "training.json").read_text(encoding="utf-8"))["validation"]
    return {LOSS: sum(value for name, value in figures.items() if name.startswith("term_rationale"))}


def start() -> Path:
    """Return the bundled encoder under other label names, so that its head is drawn anew."""
    from whylight.models.bundled_start import BUNDLED  # noqa: PLC0415

    folder = WORK / "regularisation" / "encoder"
    if not (folder / "config.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        for path in BUNDLED.iterdir():
            text = path.read_bytes()
            if path.name == "config.json":
                text = text.replace(b'"negative"', b'"first"').replace(b'"positive"', b'"second"')
            (folder / path.name).write_bytes(text)
    return folder


def _tested(folder: Path, data: Data) -> dict[str, float]:
    clf = wl.load(folder)
    values = {f"F1 {name}": _macro_f1(clf, one) for name, one in data.tests.items()}
    return values | _plausibility(clf, data)


def _plausibility(clf: Any, data: Data) -> dict[str, float]:
    settings = {"sign": "absolute"}
    result = wl.evaluate(clf, data.marked, methods=SHOWN, metrics=["roc_auc"], settings=settings, progress=False)
    lines = [line for line in result.summary.lines if line.method in SHOWN]
    return {f"AUC {line.method}": line.cells["roc_auc"].mean for line in lines}


def _macro_f1(clf: Any, data: Dataset) -> float:
    cases = [open_case(clf, record.example, long="truncate") for record in data]
    probabilities = np.asarray([case.prediction.probabilities for case in cases])
    gold = np.asarray([clf.labels.names.index(record.labels[0]) for record in data])
    return single_label(probabilities, gold).values["macro_f1"]


def _write(
    found: dict[str, list[dict[str, float]]],
    alone: dict[str, dict[str, float]],
    sweep: list[tuple[float, dict[str, float]]],
    bounds: dict[str, dict[str, float]],
) -> None:
    names = [name for name in found["baseline"][0] if name != LOSS]
    rows = [[variant, *(spread([run[name] for run in runs]) for name in names)] for variant, runs in found.items()]
    rows += [[f"{guide} alone", *(f"{run[name]:.3f}" if name in run else "-" for name in names)]
             for guide, run in alone.items()]  # fmt: skip
    lines = [[f"{weight:g}", *(f"{run[name]:.3f}" for name in names)] for weight, run in sweep]
    every = [(seed, run) for runs in found.values() for seed, run in zip(SEEDS, runs, strict=True)]
    every += [(SEEDS[0], run) for _, run in sweep if (SEEDS[0], run) not in every]
    noted = [["bound on training texts, gradient", f"{bounds['gradient']['train']:.2f}"]]
    tables = {
        "models": Table(["training", *names], rows),
        "changes": _differences(found, names),
        "bounds": _losses(found, bounds),
        "sweep": Table(["weight", *names], lines),
        "correlations": _correlations(every, names),
        "remarks": Table(["what was noted", "value"], noted),
    }
    put("regularisation", tables)


def _losses(found: dict[str, list[dict[str, float]]], bounds: dict[str, dict[str, float]]) -> Table:
    """Tabulate how far the guiding loss came down, and in how many runs as far as the bound asks."""
    rows = []
    for variant, runs in found.items():
        if variant != "baseline":
            bound = MARGIN * bounds[variant.split()[1]]["validation"]
            values = ", ".join(f"{run[LOSS]:.3f}" for run in runs)
            rows.append([variant, values, f"{bound:.3f}", f"{sum(run[LOSS] <= bound for run in runs)} of {len(runs)}"])
    return Table(["guiding loss on dev", "reached, seeds 0, 1, 2", "bound", "runs within it"], rows)


def _differences(found: dict[str, list[dict[str, float]]], names: list[str]) -> Table:
    """Tabulate what each guidance changes, seed by seed; out of domain, the mean over the three."""

    def figures(run: dict[str, float]) -> dict[str, float]:
        outside = float(np.mean([run[f"F1 {name}"] for name in OUTSIDE]))
        return {"F1 SST": run["F1 SST"], "F1 out of domain": outside, **{n: run[n] for n in names if "AUC" in n}}

    rows = []
    for variant, runs in found.items():
        pairs = [(figures(run), figures(base)) for run, base in zip(runs, found["baseline"], strict=True)]
        cells = [", ".join(f"{run[name] - base[name]:+.3f}" for run, base in pairs) for name in pairs[0][0]]
        if variant != "baseline":
            rows.append([variant, *cells])
    head = ["change from the baseline of the same seed, seeds 0, 1, 2", *figures(found["baseline"][0])]
    return Table(head, rows)


def _correlations(models: list[tuple[int, dict[str, float]]], names: list[str]) -> Table:
    """Correlate what is seen in domain with the mean F1 elsewhere, over all models, and apart from their seeds."""
    seeds = np.asarray([seed for seed, _ in models])
    outside = np.asarray([np.mean([run[f"F1 {name}"] for name in OUTSIDE]) for _, run in models])
    rows = []
    for name in [name for name in names if name == "F1 SST" or name.startswith("AUC")]:
        own = np.asarray([run[name] for _, run in models])
        rows.append([name, _spearman(own, outside), _spearman(*(_without_means(v, seeds) for v in (own, outside)))])
    title = f"Spearman correlation with mean F1 out of domain, over {len(models)} models (intervals over models)"
    return Table(["in domain", title, "the same, less the mean of each seed"], rows)


def _without_means(values: Any, seeds: Any) -> Any:
    """Subtract the mean of the models of the same seed."""
    return values - np.asarray([values[seeds == seed].mean() for seed in seeds])


def _spearman(own: Any, outside: Any) -> str:
    generator = np.random.default_rng(0)
    drawn = np.stack([np.arange(len(own)), *(generator.integers(len(own), size=len(own)) for _ in range(2000))])
    ranks = [stats.rankdata(values[drawn], axis=1) for values in (own, outside)]
    first, second = (one - one.mean(axis=1, keepdims=True) for one in ranks)
    with np.errstate(invalid="ignore"):  # a draw of one value over and over has no correlation
        values = (first * second).sum(axis=1) / np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    low, high = np.nanpercentile(values[1:], (2.5, 97.5))
    return f"{values[0]:+.2f} [{low:+.2f}, {high:+.2f}]"


if __name__ == "__main__":
    main()
