"""KernelSHAP beside Captum's: speed, and error at equal numbers of evaluations."""

from collections.abc import Callable
from functools import partial
from statistics import geometric_mean

import numpy as np
import torch
from captum.attr import KernelShap
from clock import Result, at_least, at_most, fastest, medians
from subjects import SENTENCES, bundled, fresh_game, peer_function
from torch import Tensor

from whylight.core.example import Example
from whylight.methods.kernel_shap import kernel_shap
from whylight.models.encoder import TransformerClassifier

SAMPLES = 500
EVALUATIONS = (200, 500)
SEEDS = range(5)
ALL = 2**20
BATCHES = (8, 16, 32, 64, 128)


def captum_values(
    function: Callable[[Tensor], Tensor], n_features: int, *, samples: int, batch: int = 1, seed: int = 0
) -> Tensor:
    """Run Captum's KernelSHAP on the presence of words."""
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002  Captum draws from the global generator
    explainer = KernelShap(lambda present: function(present)[:, 1])
    values: Tensor = explainer.attribute(
        torch.ones(1, n_features),
        baselines=torch.zeros(1, n_features),
        n_samples=samples,
        perturbations_per_eval=batch,
    )
    return values[0]


def speed() -> list[Result]:
    """Time 500 samples on one sentence."""
    classifier, text = bundled(), SENTENCES[0]
    encoded = classifier.encode(Example(text), unit="word", long="window")
    function, n = peer_function(classifier, encoded), encoded.n_features

    def ours() -> object:
        return kernel_shap(fresh_game(classifier, text), samples=SAMPLES)

    default = partial(captum_values, function, n, samples=SAMPLES)
    best = fastest([partial(captum_values, function, n, samples=SAMPLES, batch=batch) for batch in BATCHES])
    own, theirs, theirs_best = medians([ours, default, best], rounds=3)
    detail = f"{own:.2f} s, Captum {theirs:.2f} s, at its best batch {theirs_best:.2f} s"
    return [
        at_least("KernelSHAP, Captum's default / ours", theirs / own, 1.8, detail),
        at_most("KernelSHAP, ours / Captum's best", own / theirs_best, 1.10, detail),
    ]


def error() -> list[Result]:
    """Compare mean squared errors against exact Shapley values."""
    classifier = bundled()
    ratios: dict[int, list[float]] = {count: [] for count in EVALUATIONS}
    for text in SENTENCES:
        for count, ratio in _errors(classifier, text).items():
            ratios[count].append(ratio)
    return [
        at_least(f"KernelSHAP, Captum's MSE / ours, {count} evaluations", geometric_mean(values), 3.0, _span(values))
        for count, values in ratios.items()
    ]


def _errors(classifier: TransformerClassifier, text: str) -> dict[int, float]:
    """Return Captum's error over ours for each number of evaluations, the two ends counted in both."""
    encoded = classifier.encode(Example(text), unit="word", long="window")
    function, n = peer_function(classifier, encoded), encoded.n_features
    game = fresh_game(classifier, text)
    exact = kernel_shap(game, samples=ALL)[0]
    ratios = {}
    for count in EVALUATIONS:
        ours = [kernel_shap(game, samples=count - 2, seed=seed)[0] for seed in SEEDS]
        theirs = [captum_values(function, n, samples=count, batch=64, seed=seed).numpy() for seed in SEEDS]
        ratios[count] = _mean_square(theirs, exact) / _mean_square(ours, exact)
    return ratios


def _mean_square(values: list[np.ndarray], exact: np.ndarray) -> float:
    return float(np.mean([(one - exact) ** 2 for one in values]))


def _span(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f} over {len(values)} texts"
