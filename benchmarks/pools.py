"""KernelSHAP with pools against independent draws, on models that encode a document in blocks.

- On a real network: a small PLM-CA (two layers, 128 wide, random weights) reads 24 chunks of 32 tokens. Seconds are
  those of the whole method on this network, with four samples per feature either way. Its Shapley values are not known,
  but errors are: independent draws err each on their own, so that the mean over features of (x - a)(x - b), with a and
  b two independent runs, is the mean squared error of x, and that of (a - b)^2 / 2 is a's.
- For 6,000 tokens in 47 chunks of the network of `chunked`, where a run would take hours: a projection. The game is
  planted, so that its Shapley values are known: a sum over 47 blocks with products of three features inside them. The
  time of either way is the number of distinct block variants that it asks for, times what the network needs to encode
  one chunk in the engine's batches, and all that the method does besides (drawing, regression), as measured. Reading
  summaries together is left out of both.

Structural: independent draws have a new variant of every block in each of 4 n coalitions, pools 32 `pool` of them.
"""

import time
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from statistics import median

import numpy as np
import torch
from chunked import classifier, document
from clock import Result, at_least, for_orientation, seconds, take_turns
from subjects import bundled
from transformers import AutoModel, BertConfig

from whylight.core.arrays import Bools, Floats
from whylight.core.labels import Target
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.explaining.provide import game as game_of
from whylight.methods.kernel_shap import kernel_shap
from whylight.models.load import load
from whylight.models.networks import PlmCaForSequenceClassification
from whylight.perturb.binding import bound
from whylight.views.classifier import Classifier, Request
from whylight.views.game import Game

REAL_BLOCKS, REAL_BLOCK = 24, 32
REAL_POOLS = (8, 16, 32)
ROUNDS = 3
BLOCKS, BLOCK = 47, 40
POOLS = (8, 12, 16)
SEEDS = range(2)


def pools() -> list[Result]:
    """Measure on the real network, and project to 6,000 tokens."""
    return [*_on_a_network(), *_projected()]


def _on_a_network() -> list[Result]:
    """Compare time and error of a real network, round by round: one run of independent draws, one of each pool."""
    ways: tuple[int | None, ...] = (None, *REAL_POOLS)
    took: dict[int | None, list[float]] = {way: [] for way in ways}
    found: dict[int | None, list[Floats]] = {way: [] for way in ways}
    for seed in range(ROUNDS):
        for way in ways:
            began = time.perf_counter()
            game = _real_game()
            found[way].append(kernel_shap(game, samples=4 * game.n_features, pool=way, seed=seed).values[0])
            took[way].append(time.perf_counter() - began)
    pairs = list(combinations(found[None], 2))
    own = float(np.mean([(a - b) ** 2 for a, b in pairs])) / 2
    lines = []
    for pool in REAL_POOLS:
        error = float(np.mean([(x - a) * (x - b) for x in found[pool] for a, b in pairs]))
        ratio = median(slow / fast for slow, fast in zip(took[None], took[pool], strict=True))
        detail = (
            f"{median(took[None]):.1f} s / {median(took[pool]):.1f} s, mean squared error {own:.2e} / {error:.2e}; "
            f"{REAL_BLOCKS} chunks of {REAL_BLOCK}; structural: {REAL_BLOCKS * REAL_BLOCK / (8 * pool):.0f} by passes"
        )
        lines.append(for_orientation(f"KernelSHAP on a network, independent draws / pool {pool}, time", ratio, detail))
        lines.append(for_orientation(f"KernelSHAP on a network, independent draws / pool {pool}, error", own / error))
    return lines


@cache
def _real_network() -> Classifier:
    """Build a small PLM-CA with random weights."""
    torch.manual_seed(0)
    shape = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
    encoder = AutoModel.from_config(BertConfig(vocab_size=30522, **shape))
    model = PlmCaForSequenceClassification.from_encoder(encoder, labels=["one", "two"], chunk_size=REAL_BLOCK)
    return load(model.eval(), bundled().tokenizer)


def _real_game() -> Game:
    """Return the game of the network's first label, with nothing known of it."""
    words = document().split()[: REAL_BLOCKS * REAL_BLOCK - 2]
    case = open_case(_real_network(), Text(" ".join(words)), long="refuse")
    return game_of(case, Request((Target(0, "one"),), "logit"), bound("mask"))


def _projected() -> list[Result]:
    """Compare the time in which KernelSHAP reaches the error of independent draws, with and without pools."""
    each = _seconds_a_chunk()
    n = BLOCKS * BLOCK
    target = _measured(samples=4 * n, pool=None)
    tried = [_measured(samples=16 * n, pool=pool) for pool in POOLS]
    reached = [one for one in tried if one.error <= target.error]
    if not reached:
        return [
            at_least(
                "KernelSHAP, 6,000 tokens, independent draws / pools, projected time to the same error",
                0.0,
                10.0,
                str(tried),
            )
        ]
    best = min(reached, key=lambda one: one.time(each))
    detail = f"{target.told(each)}; {best.told(each)}; {1000 * each:.0f} ms a chunk, {n} features in {BLOCKS} blocks"
    ratio = target.time(each) / best.time(each)
    return [
        at_least(
            "KernelSHAP, 6,000 tokens, independent draws / pools, projected time to the same error", ratio, 10.0, detail
        )
    ]


@dataclass(frozen=True)
class Measured:
    """What KernelSHAP needed, as a mean over seeds: mean squared error, block variants, and seconds besides them."""

    pool: int | None
    error: float
    variants: float
    besides: float

    def time(self, each: float) -> float:
        """Return the seconds that it takes on a network that encodes a chunk in `each` seconds."""
        return self.variants * each + self.besides

    def told(self, each: float) -> str:
        """Say it in words."""
        name = "independent" if self.pool is None else f"pool {self.pool}"
        return f"{name}: MSE {self.error:.3f}, {self.variants:.0f} variants, {self.time(each):.0f} s"


def _measured(*, samples: int, pool: int | None) -> Measured:
    errors, variants, besides = [], [], []
    for seed in SEEDS:
        game, values, asked = _planted(seed)
        took = seconds(partial(_keep_error, errors, game, values, samples=samples, pool=pool, seed=seed))
        besides.append(took - asked.seconds)
        variants.append(sum(len(known) for known in asked.variants))
    return Measured(pool, float(np.mean(errors)), float(np.mean(variants)), float(np.mean(besides)))


def _keep_error(errors: list[float], game: Game, values: Floats, *, samples: int, pool: int | None, seed: int) -> None:
    found = kernel_shap(game, samples=samples, pool=pool, seed=seed).values[0]
    errors.append(float(np.mean((found - values) ** 2)))


class Asked:
    """Which variants of each block were asked for, and how long the planted game itself took to answer."""

    def __init__(self) -> None:
        self.variants: list[set[bytes]] = [set() for _ in range(BLOCKS)]
        self.seconds = 0.0


def _planted(seed: int) -> tuple[Game, Floats, Asked]:
    """Return a sum over blocks with products of three inside them, its Shapley values, and what it is asked."""
    generator, asked = np.random.default_rng(seed), Asked()
    blocks = tuple(np.arange(number * BLOCK, (number + 1) * BLOCK) for number in range(BLOCKS))
    worth = generator.standard_normal(BLOCKS * BLOCK)
    three = np.concatenate([generator.permuted(np.tile(block, (BLOCK, 1)), axis=1)[:, :3] for block in blocks])
    gains = generator.standard_normal(len(three))
    values = worth.copy()
    np.add.at(values, three, gains[:, None] / 3)

    def value(keep: Bools) -> Floats:
        started = time.perf_counter()
        for known, block in zip(asked.variants, blocks, strict=True):
            known.update(row.tobytes() for row in np.packbits(keep[:, block], axis=1))
        together = np.logical_and.reduce([keep[:, column] for column in three.T])
        answer = np.asarray((keep @ worth + together @ gains)[:, None])
        asked.seconds += time.perf_counter() - started
        return answer

    return Game(value, n_features=len(worth), blocks=blocks), values, asked


def _seconds_a_chunk() -> float:
    """Return what the encoder needs for a chunk in a batch of the size that the engine takes."""
    model, size = classifier().model, classifier().model.config.chunk_size
    ids = torch.as_tensor(classifier().tokenizer(document(), verbose=False)["input_ids"])
    rows = max(1, classifier().engine.budget // size)
    batch = ids[: rows * size].reshape(rows, size)

    def work() -> None:
        with torch.inference_mode():
            model.encode_chunks(batch)

    return take_turns([work], rounds=5).median(0) / rows
