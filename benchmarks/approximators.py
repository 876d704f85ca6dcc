"""Everyone who estimates Shapley values, on one table of the values of all coalitions of a text.

An evaluation is a coalition that is read from the table for the first time; the empty one and the whole one count. A
peer that reads some twice gets a larger budget of its own, until it has read as many different ones as the others.
Each peer is run as it comes, and with the settings that do best in this game where its defaults do not.
"""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import shap
import shapiq
import torch
from captum.attr import KernelShap
from torch import Tensor

from whylight.core.arrays import Bools, Floats
from whylight.methods.kernel_shap import kernel_shap
from whylight.methods.shapley_sampling import shapley_sampling
from whylight.views.game import Game

OURS = "whylight kernel_shap"
ROUNDS = 20
"""How often the budget of a peer that repeats itself is raised, at most."""


class Table:
    """The values of all coalitions; remembers which were read.

    Args:
        values: `[2^n]`; the i-th is that of the coalition whose members are the bits of i.
    """

    def __init__(self, values: Floats) -> None:
        self.values = values
        self.n = len(values).bit_length() - 1
        self.read: set[int] = set()

    def __call__(self, present: np.ndarray) -> Floats:
        """Return the values `[coalitions]` of presences `[coalitions, n]`."""
        rows = (np.atleast_2d(present) > 0.5) @ (1 << np.arange(self.n))  # some ask for one, without a batch
        self.read.update(rows.tolist())
        return np.asarray(self.values[rows])

    def game(self) -> Game:
        """Return it as one of our games."""

        def value(keep: Bools) -> Floats:
            return self(keep)[:, None]

        return Game(value, n_features=self.n)


Approximate = Callable[[Table, int, int], Floats]
"""A table, a budget and a seed -> Shapley values."""


def _kernel_shap(table: Table, count: int, seed: int) -> Floats:
    return kernel_shap(table.game(), samples=count - 2, seed=seed).values[0]


def _shapley_sampling(table: Table, count: int, seed: int) -> Floats:
    orders = max(1, (count - 2) // (table.n - 1))
    return shapley_sampling(table.game(), permutations=orders, seed=seed).values[0]


def _captum(table: Table, count: int, seed: int) -> Floats:
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002  Captum draws from the global generator

    def forward(present: Tensor) -> Tensor:
        return torch.as_tensor(table(present.numpy()))

    found: Tensor = KernelShap(forward).attribute(
        torch.ones(1, table.n), baselines=torch.zeros(1, table.n), n_samples=count, perturbations_per_eval=count
    )
    return np.asarray(found[0].numpy())


def _shap_kernel(table: Table, count: int, seed: int, *, l1_reg: str | bool) -> Floats:
    np.random.seed(seed)  # noqa: NPY002  so does shap
    explainer = shap.KernelExplainer(table, np.zeros((1, table.n)))
    return np.asarray(explainer.shap_values(np.ones(table.n), nsamples=count - 2, l1_reg=l1_reg, silent=True))


def _shap_permutation(table: Table, count: int, seed: int) -> Floats:
    explainer = shap.PermutationExplainer(table, np.zeros((1, table.n)), seed=seed)
    return np.asarray(explainer(np.ones((1, table.n)), max_evals=count, silent=True).values[0])


def _shapiq(name: str, **settings: object) -> Approximate:
    def approximate(table: Table, count: int, seed: int) -> Floats:
        explainer = getattr(shapiq.approximator, name)(n=table.n, random_state=seed, **settings)
        found: Any = explainer.approximate(count, table)
        return np.asarray([found[(feature,)] for feature in range(table.n)])

    return approximate


PAIRED: Mapping[str, object] = {"pairing_trick": True}
SECOND: Mapping[str, object] = {"max_order": 2, "index": "SII"}
ALL: dict[str, Approximate] = {
    OURS: _kernel_shap,
    "whylight shapley_sampling": _shapley_sampling,
    "Captum KernelShap": _captum,
    "shap.KernelExplainer": partial(_shap_kernel, l1_reg="num_features(10)"),
    "shap.KernelExplainer, l1_reg=False": partial(_shap_kernel, l1_reg=False),
    "shap.PermutationExplainer": _shap_permutation,
    "shapiq KernelSHAP": _shapiq("KernelSHAP"),
    "shapiq KernelSHAP, paired": _shapiq("KernelSHAP", **PAIRED),
    "shapiq UnbiasedKernelSHAP": _shapiq("UnbiasedKernelSHAP"),
    "shapiq UnbiasedKernelSHAP, paired": _shapiq("UnbiasedKernelSHAP", **PAIRED),
    "shapiq kADDSHAP, order 2, paired": _shapiq("kADDSHAP", max_order=2, **PAIRED),
    "shapiq kADDSHAP, order 3": _shapiq("kADDSHAP", max_order=3),
    "shapiq kADDSHAP, order 3, paired": _shapiq("kADDSHAP", max_order=3, **PAIRED),
    "shapiq KernelSHAPIQ, order 2, paired": _shapiq("KernelSHAPIQ", **SECOND, **PAIRED),
    "shapiq InconsistentKernelSHAPIQ, order 2, paired": _shapiq("InconsistentKernelSHAPIQ", **SECOND, **PAIRED),
    "shapiq SVARM": _shapiq("SVARM"),
    "shapiq SVARM, paired": _shapiq("SVARM", **PAIRED),
    "shapiq PermutationSamplingSV": _shapiq("PermutationSamplingSV"),
    "shapiq StratifiedSamplingSV": _shapiq("StratifiedSamplingSV"),
    "shapiq OwenSamplingSV": _shapiq("OwenSamplingSV"),
}


def estimate(approximate: Approximate, values: Floats, count: int, seed: int) -> tuple[Floats, int]:
    """Return Shapley values from at most `count` different coalitions, and how many it were.

    Args:
        approximate: Who estimates.
        values: The table.
        count: Evaluations.
        seed: For the draw.
    """
    best, spent, budget, step = None, 0, count, 2 * count
    for _ in range(ROUNDS):
        table = Table(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of peers
            found = approximate(table, budget, seed)
        if len(table.read) <= count:
            best, spent = found, len(table.read)
            step = min(step, max(count - spent, 2 * table.n + 1))
            budget += step
        else:
            step //= 2
            budget -= step
        if spent == count or step < table.n:
            break
    if best is None:
        raise ValueError(f"it read {len(table.read)} coalitions where {count} were allowed")
    return best, spent
