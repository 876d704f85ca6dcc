"""Which metric can be believed: explainers are made worse on purpose, so that the right ranking is known.

    python findings/degraded.py path/to/data

Scores of occlusion are shuffled among a share of the words: none, a third, two thirds or all of them, by three seeds.
A metric that measures quality ranks these ten explainers by that share. Measured on SST sentences with the bundled
classifier: AOPC, AOPC between its bounds (NAOPC), F-Fidelity on a copy that was fine-tuned on texts with gaps, the same
metric on the classifier itself, and ROAR, for which a model is trained anew for each explainer. Everything is kept, so
that a stopped script goes on.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import minilm
import numpy as np
from document import WORK, Table, put, told
from processes import in_processes
from scipy.stats import spearmanr

import whylight as wl
from whylight.core.arrays import Floats
from whylight.core.registry import METRICS, method
from whylight.data.dataset import Dataset
from whylight.methods.occlusion import occlusion
from whylight.models.bundled_start import BUNDLED
from whylight.run.evaluation import Evaluation
from whylight.run.summary import Cell
from whylight.study.retrained import Roar
from whylight.views.game import Game

LEVELS = {"none": 0.0, "a third": 1 / 3, "two thirds": 2 / 3, "all": 1.0}
EXPLAINERS = [("none", 0), *((level, seed) for level in LEVELS if level != "none" for seed in (0, 1, 2))]
TEXTS, TRAINING, SHARE, DRAWS = 100, 2000, 0.2, 1000
ALPHA, BETA = 1.0, 0.1
AOPC = ("aopc_comprehensiveness", "aopc_sufficiency")
NAOPC = ("normalised_aopc_comprehensiveness", "normalised_aopc_sufficiency")
FIDELITY = ("f_fidelity_plus", "f_fidelity_minus")
Values = Mapping[tuple[str, int], Floats]
"""Values of all texts, by level and seed; more is better."""


@method(cite="", signed=True)
def degraded(game: Game, *, level: float = 0.0, seed: int = 0) -> Floats:
    """Score as occlusion does, with the scores of a share of the features shuffled among them."""
    scores = np.array(occlusion(game))
    generator = np.random.default_rng([seed, *np.abs(scores[0] * 1e6).astype(np.int64)])  # of the text's own
    chosen = generator.permutation(game.n_features)[: round(level * game.n_features)]
    scores[:, chosen] = scores[:, generator.permutation(chosen)]
    return scores


def main() -> None:
    """Measure, retrain, and put the table into the document."""
    trees = Path(sys.argv[1]) / "sst_trees"
    list(in_processes(_part, [(trees, one) for one in PARTS]))
    data, dev = _data(trees)
    found = {"": _on_itself(data, dev), " on the copy": _on_the_copy(data, dev)}
    put("degraded", {"metrics": _table(found, _retrained(data, dev))})


def _part(task: tuple[Path, str]) -> None:
    """Do a part of the work, the longest first; all of it is kept."""
    trees, name = task
    PARTS[name](*_data(trees))


def _data(trees: Path) -> tuple[Dataset, Dataset]:
    data, dev = (wl.dataset(f"sst:{trees}", split=split) for split in ("train", "dev"))
    return data.without(dev), dev


def _name(level: str, seed: int) -> str:
    return f"degraded[level={LEVELS[level]:.4f},seed={seed}]"


def _on_itself(data: Dataset, dev: Dataset) -> Evaluation:
    """Measure the explainers on the classifier."""
    del data
    return _measured(dev, "itself", metrics=(*AOPC, *NAOPC, *FIDELITY))


def _on_the_copy(data: Dataset, dev: Dataset) -> Evaluation:
    """Measure the explainers on a copy of the classifier that knows texts with gaps."""
    numbers = {"epochs": 2, "learning_rate": 2e-5, "precision": "bfloat16", "beta": BETA}
    made = wl.train(BUNDLED, data, dev, objectives=["random_masking"], out=WORK / "degraded" / "copy", **numbers)
    return _measured(dev, "copy", metrics=FIDELITY, metric_model=wl.load(made.folder))


def _measured(dev: Dataset, name: str, **asked: Any) -> Evaluation:
    settings = {f"{metric}.{name}": value for metric in FIDELITY for name, value in (("alpha", ALPHA), ("beta", BETA))}
    methods, out = [_name(*one) for one in EXPLAINERS], WORK / "degraded" / "runs" / name
    return wl.evaluate(wl.load(), dev.sample(TEXTS, seed=0), methods=methods, settings=settings, out=out, **asked)


def _retrained(data: Dataset, dev: Dataset) -> Roar:
    return wl.roar(
        wl.load(),
        data.sample(TRAINING, seed=0),
        dev,
        encoder=minilm.encoder(),
        methods=[_name(*one) for one in EXPLAINERS],
        shares=[SHARE],
        seeds=[0],
        learning_rate=5e-5,
        precision="bfloat16",
        out=WORK / "degraded" / "roar",
    )


PARTS = {"itself": _on_itself, "copy": _on_the_copy, "retrained": _retrained}


def _table(found: Mapping[str, Evaluation], roar: Roar) -> Table:
    rows = [
        [f"{metric}{where}", *_line(_values(run, metric))]
        for where, run in found.items()
        for metric in dict.fromkeys(row["metric"] for row in run.scores)
    ]
    better = {method: -own[0] for (method, _), own in roar.accuracies.items()}
    values = {one: np.asarray([better[_name(*one)]]) for one in EXPLAINERS}
    rows.append([f"ROAR, {SHARE:.0%} of the words", *_line(values)])
    return Table(["metric, more is better", *(f"shuffled: {level}" for level in LEVELS), "Spearman"], rows)


def _values(run: Evaluation, metric: str) -> Values:
    sign = 1 if METRICS[metric].facts["higher_is_better"] else -1
    own = [row for row in run.scores if row["metric"] == metric]
    texts = list(dict.fromkeys(row["example_id"] for row in own))
    by_method = {(row["method"], row["example_id"]): sign * row["value"] for row in own}
    return {one: np.asarray([by_method[_name(*one), text] for text in texts]) for one in EXPLAINERS}


def _line(values: Values) -> list[str]:
    """Write the mean of each level, and how far the metric ranks explainers rightly."""
    means = [np.nanmean([own for (shuffled, _), own in values.items() if shuffled == level]) for level in LEVELS]
    return [*(f"{mean:.4f}" for mean in means), _rank(values)]


def _rank(values: Values) -> str:
    """Write the Spearman correlation with the truth, with its interval over texts, where there are several."""
    quality = [-LEVELS[level] for level, _ in values]
    each = np.stack(list(values.values()))  # [explainers, texts]
    right = _spearman(quality, np.nanmean(each, axis=1))
    if each.shape[1] == 1:
        return f"{right:.3f}"
    generator = np.random.default_rng(0)
    drawn = generator.integers(0, each.shape[1], (DRAWS, each.shape[1]))
    draws = [_spearman(quality, np.nanmean(each[:, own], axis=1)) for own in drawn]
    low, high = np.percentile(draws, [2.5, 97.5])
    return told(Cell(right, float(low), float(high), each.shape[1]))


def _spearman(quality: Sequence[float], means: Floats) -> float:
    return float(spearmanr(quality, means).statistic)


if __name__ == "__main__":
    main()
