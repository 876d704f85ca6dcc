"""KernelSHAP: its speed beside Captum's, and its error beside everyone's at equal numbers of evaluations."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from approximators import ALL, OURS, Approximate, estimate
from captum.attr import KernelShap
from clock import Result, at_least, at_most, fastest, take_turns
from shapley_games import Known, known_games
from subjects import SENTENCES, bundled, fresh_game, peer_function
from torch import Tensor

from whylight.core.arrays import Floats
from whylight.core.text import Text
from whylight.methods.kernel_shap import kernel_shap

SAMPLES = 500
EVALUATIONS = (200, 500)
SEEDS = range(5)
DRAWS = 10_000
SHAP_AT_LEAST = 1.5
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
    encoded = classifier.encode(Text(text), unit="word", long="window")
    function, n = peer_function(classifier, encoded), encoded.n_features

    def ours() -> object:
        return kernel_shap(fresh_game(classifier, text), samples=SAMPLES).values

    default = partial(captum_values, function, n, samples=SAMPLES)
    best = fastest([partial(captum_values, function, n, samples=SAMPLES, batch=batch) for batch in BATCHES])
    turns = take_turns([ours, default, best], rounds=5)
    detail = f"{turns.median(0):.2f} s, Captum {turns.median(1):.2f} s, at its best batch {turns.median(2):.2f} s"
    return [
        at_least("KernelSHAP, Captum's default / ours", turns.ratio(1, 0), 1.8, detail),
        at_most("KernelSHAP, ours / Captum's best", turns.ratio(0, 2), 1.10, detail),
    ]


def error() -> list[Result]:
    """Compare mean squared errors against exact Shapley values, on one table of values per text."""
    games = known_games()
    results: list[Result] = []
    for count in EVALUATIONS:
        found = {name: _errors(approximate, games, count) for name, approximate in ALL.items()}
        results += [_compared(name, count, found) for name in ALL if name != OURS]
    return results


def _errors(approximate: Approximate, games: list[Known], count: int) -> Floats:
    """Return the mean squared error of each text, over words and seeds."""
    return np.asarray(
        [
            np.mean([(estimate(approximate, one.values, count, seed)[0] - one.shapley) ** 2 for seed in SEEDS])
            for one in games
        ]
    )


def _compared(name: str, count: int, found: dict[str, Floats]) -> Result:
    """Hold a peer against ours: shap's two must be clearly worse, and none may be better beyond its interval."""
    ours, theirs = found[OURS], found[name]
    low, high = interval(theirs, ours)
    ratio = float(theirs.mean() / ours.mean())
    detail = f"{theirs.mean():.2e} / {ours.mean():.2e}, interval over {len(ours)} texts {low:.2f} to {high:.2f}"
    title = f"MSE at {count}, {name} / ours"
    if name.startswith("shap."):
        return at_least(title, ratio, SHAP_AT_LEAST, detail)
    return Result(title, ratio, "interval reaches 1", high >= 1, detail)


def interval(theirs: Floats, ours: Floats) -> tuple[float, float]:
    """Return a 95 % interval of the ratio of mean errors: texts are drawn again, the same for both."""
    drawn = np.random.default_rng(0).integers(len(ours), size=(DRAWS, len(ours)))
    low, high = np.percentile(theirs[drawn].mean(axis=1) / ours[drawn].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
