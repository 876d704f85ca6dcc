"""PLM-CA on a document of 6,000 tokens, 50 labels, of which 15 are explained; random weights, the shape of MiniLM.

- Occlusion against one forward pass of the network a word: those are timed on 100 words and scaled to all.
- AttInGrad of 15 labels against one forward and backward pass of the network for one label.
- KernelSHAP with pools against independent draws. The game is planted, so that its Shapley values are known: a sum over
  47 blocks with products of three features inside them. What would take hours is not run: the time of either way is
  the number of distinct block variants that it asks for, times what the network needs to encode one chunk in the
  engine's batches, and all that the method does besides (drawing, regression), as measured. Reading summaries together
  is left out of both.
- Peak memory above the model's, in the same run.
"""

import time
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import torch
from clock import Result, at_least, at_most, medians, seconds
from memory import peak_megabytes
from subjects import bundled
from torch import Tensor
from transformers import AutoModel, BertConfig

from whylight.core.arrays import Bools, Floats
from whylight.core.example import Example
from whylight.core.explanation import Explanation
from whylight.core.registry import METHODS
from whylight.facade.case import open_case
from whylight.facade.explain import Options, explain_case
from whylight.methods.kernel_shap import kernel_shap
from whylight.models.chunked import ChunkedClassifier
from whylight.models.load import load
from whylight.models.networks import PlmCaForSequenceClassification
from whylight.models.networks.plm_ca import cut_chunks
from whylight.models.unchanged import word_embeddings
from whylight.views.game import Game

LABELS, EXPLAINED = 50, 15
TOKENS = 6000
TIMED_WORDS = 100
BLOCKS, BLOCK = 47, 40
POOLS = (8, 12, 16)
SEEDS = range(2)


@cache
def classifier() -> ChunkedClassifier:
    """Build the network, in the shape of MiniLM with BERT's vocabulary."""
    torch.manual_seed(0)
    shape = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    encoder = AutoModel.from_config(BertConfig(vocab_size=30522, **shape))
    names = [f"label {number}" for number in range(LABELS)]
    model = PlmCaForSequenceClassification.from_encoder(encoder, labels=names).eval()
    built = load(model, bundled().tokenizer)
    if not isinstance(built, ChunkedClassifier):
        raise TypeError(type(built))
    return built


@cache
def document() -> str:
    """Return a text of 6,000 tokens, special ones included, of which no two chunks are alike."""
    vocabulary = sorted(word for word in bundled().tokenizer.get_vocab() if word.isalpha() and word.isascii())
    return " ".join(np.random.default_rng(0).choice(vocabulary, TOKENS - 2))


def chunked() -> list[Result]:
    """Run all of it."""
    return [*occlusion(), *attingrad(), *pools()]


def occlusion() -> list[Result]:
    """Time occlusion of every word, and hold its scores against the network's own."""
    encoded = classifier().encode(Example(document()), unit="word", long="refuse")
    (window,) = encoded.windows
    _logits(window.ids[:768])  # what stays in memory from a first pass on is not the method's
    found: list[Explanation] = []
    took: list[float] = []
    memory = peak_megabytes(lambda: took.append(seconds(lambda: found.append(_explain("occlusion")))))
    (explanation,) = found
    words = np.random.default_rng(1).choice(encoded.n_features, TIMED_WORDS, replace=False)
    mask = classifier().tokenizer.mask_token_id
    full, started = _logits(window.ids), time.perf_counter()
    drops = np.stack([full - _logits(np.where(window.feature == word, mask, window.ids)) for word in words])
    baseline = (time.perf_counter() - started) / TIMED_WORDS * encoded.n_features
    gap = float(np.abs(drops.T - explanation.scores[:, words]).max())
    detail = (
        f"{took[0]:.0f} s, documents {baseline:.0f} s ({TIMED_WORDS} of {encoded.n_features} words timed), "
        f"{explanation.provenance.forward_passes} chunks encoded"
    )
    return [
        at_least("occlusion, 6,000 tokens, documents / ours", baseline / took[0], 20.0, detail),
        at_most("occlusion, largest difference from the network", gap, 1e-4),
        Result("occlusion, peak memory above the model, MB", memory, "-", met=True, detail=f"{EXPLAINED} labels"),
    ]


def attingrad() -> list[Result]:
    """Time AttInGrad of 15 labels against one forward and backward pass of the document."""
    memory = peak_megabytes(lambda: _explain("attingrad"))
    ours, once = medians([lambda: _explain("attingrad"), forward_and_backward], rounds=1, warm_up=False)
    detail = f"{ours:.1f} s, once forward and backward {once:.1f} s"
    return [
        at_most(f"AttInGrad, {EXPLAINED} labels / one forward and backward", ours / once, 12.0, detail),
        Result("AttInGrad, peak memory above the model, MB", memory, "-", met=True, detail=f"{EXPLAINED} labels"),
    ]


def pools() -> list[Result]:
    """Compare the time in which KernelSHAP reaches the error of independent draws, with and without pools."""
    each = _seconds_a_chunk()
    n = BLOCKS * BLOCK
    target = _measured(samples=4 * n, pool=None)
    tried = [_measured(samples=16 * n, pool=pool) for pool in POOLS]
    reached = [one for one in tried if one.error <= target.error]
    if not reached:
        return [at_least("KernelSHAP, independent draws / pools, time to the same error", 0.0, 10.0, str(tried))]
    best = min(reached, key=lambda one: one.time(each))
    detail = f"{target.told(each)}; {best.told(each)}; {1000 * each:.0f} ms a chunk, {n} features in {BLOCKS} blocks"
    ratio = target.time(each) / best.time(each)
    return [at_least("KernelSHAP, independent draws / pools, time to the same error", ratio, 10.0, detail)]


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
    found = kernel_shap(game, samples=samples, pool=pool, seed=seed)[0]
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


def _explain(method: str) -> Explanation:
    case = open_case(classifier(), Example(document()), long="refuse")
    spec = METHODS[method]
    return explain_case(case, spec, spec.complete_settings({}), Options(target=list(range(EXPLAINED)), long="refuse"))


def _logits(ids: np.ndarray) -> np.ndarray:
    """Return the network's logits of the explained labels."""
    with torch.inference_mode():
        logits: Tensor = classifier().model(torch.as_tensor(ids)[None]).logits
    return logits[0, :EXPLAINED].double().numpy()


def forward_and_backward() -> None:
    """Differentiate one label by the word embeddings of the whole document, as one graph."""
    model = classifier().model.requires_grad_(requires_grad=False)
    ids = torch.as_tensor(classifier().tokenizer(document(), verbose=False)["input_ids"])[None]
    leaf = model.get_input_embeddings()(ids).detach().requires_grad_(requires_grad=True)
    with word_embeddings(model, lambda _out: cut_chunks(leaf, size=model.config.chunk_size)[0]):
        torch.autograd.grad(model(ids).logits[0, 0], leaf)


def _seconds_a_chunk() -> float:
    """Return what the encoder needs for a chunk in a batch of the size that the engine takes."""
    model, size = classifier().model, classifier().model.config.chunk_size
    ids = torch.as_tensor(classifier().tokenizer(document(), verbose=False)["input_ids"])
    rows = max(1, classifier().engine.token_budget // size)
    batch = ids[: rows * size].reshape(rows, size)

    def work() -> None:
        with torch.inference_mode():
            model.encode_chunks(batch)

    return medians([work], rounds=5)[0] / rows
