"""ALTI, GlobEnc and DecompX in the shape of BERT-base, with random weights.

- Peak memory above the model's, each in a process of its own, against the bare tensors that the method must have: of
  DecompX the decomposed states, N x N x D; of ALTI and GlobEnc one layer's attention, heads x N x N, twice (what
  softmax reads and what it returns), and what each head makes of each token, N x heads x D. Two layers suffice: the
  attention of one stands in memory at a time.
- DecompX against the bare matrix products of the same shapes, in blocks of the same size, at 256 tokens and three
  layers: the first, which starts from single tokens, one in the middle, and the last, of which one row is wanted.
"""

import sys
from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import torch
from clock import Result, at_most, take_turns
from memory import MEGABYTE, in_fresh_process, peak_megabytes
from subjects import bundled
from torch import Tensor
from transformers import AutoModelForSequenceClassification, BertConfig

from whylight.core.explanation import Explanation
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining.case import Case, open_case
from whylight.explaining.options import Options
from whylight.explaining.receipts import explain_case
from whylight.methods.decompx import BLOCK_BYTES
from whylight.models.load import load
from whylight.views.classifier import Classifier

WIDTH, HEADS, INNER = 768, 12, 3072
MEMORY = (("alti", 1024), ("globenc", 1024), ("decompx", 512), ("decompx", 1024))
"""Method and tokens."""
MEMORY_AT_MOST = 1.3
TIMED = 256
AT_MOST = 1.5


def decomposition() -> list[Result]:
    """Measure all of it."""
    return [*_memory(), *_time()]


def _memory() -> list[Result]:
    found = []
    for method, tokens in MEMORY:
        peak, bare = in_fresh_process("decomposition", method, tokens), _bare(method, tokens)
        detail = f"{peak:.0f} MB above the model, bare tensors {bare:.0f} MB"
        found.append(
            at_most(f"{method}, {tokens:,} tokens, peak memory / bare tensors", peak / bare, MEMORY_AT_MOST, detail)
        )
    return found


def _bare(method: str, tokens: int) -> float:
    """Return the megabytes of the tensors that a method cannot do without."""
    attention, vectors = HEADS * tokens**2, tokens * HEADS * WIDTH
    return 4 * (tokens**2 * WIDTH if method == "decompx" else 2 * attention + vectors) / MEGABYTE


def _measure(method: str, tokens: int) -> float:
    """Return the peak megabytes of a method in this process."""
    case = _case(tokens, layers=2)
    _explain(_case(16, layers=2), method)  # what stays in memory from a first pass on is not the method's
    return peak_megabytes(partial(_explain, case, method))


def _time() -> list[Result]:
    case = _case(TIMED, layers=3)
    turns = take_turns([partial(_explain, case, "decompx"), _products], rounds=3, warm_up=False)
    detail = f"{turns.median(0):.0f} s, products {turns.median(1):.0f} s, three layers"
    gaps = _explain(_case(64, layers=3), "decompx").provenance.completeness_gap
    if gaps is None:
        raise TypeError(gaps)
    return [
        at_most(f"decompx, {TIMED} tokens / bare matrix products", turns.ratio(0, 1), AT_MOST, detail),
        at_most("decompx, by how much sources miss the logit", float(np.abs(gaps).max()), 1e-4),
    ]


@torch.no_grad()
def _products() -> None:
    """Multiply matrices of the shapes that DecompX does, and nothing else."""
    n, d, head = TIMED, WIDTH, WIDTH // HEADS
    value, output, up, down = (torch.randn(shape) for shape in ((d, d), (d, d), (d, INNER), (INNER, d)))
    attention, vectors = torch.rand(HEADS, n, n), torch.randn(n, HEADS, d)
    parts = torch.randn(n, n, d)
    for rows in _blocks(n, 2 * n * d):  # the first layer
        torch.matmul(attention[:, rows].permute(2, 1, 0), vectors)
    _mlp(parts, up, down)
    for rows_wanted in (n, 1):  # one in the middle, and the last
        weights = attention[:, :rows_wanted]
        for sources in _blocks(n, 6 * n * d):
            count = sources.stop - sources.start
            torch.matmul(parts[:, sources], value)
            read = torch.matmul(weights, torch.empty(HEADS, n, count * head).fill_(0.5))
            torch.matmul(read.reshape(rows_wanted, count, d), output)
        _mlp(parts[:rows_wanted], up, down)


def _mlp(parts: Tensor, up: Tensor, down: Tensor) -> None:
    for rows in _blocks(len(parts), parts.shape[1] * (2 * WIDTH + INNER)):
        torch.matmul(torch.matmul(parts[rows], up), down)


def _blocks(count: int, numbers: int) -> Iterator[slice]:
    step = max(1, BLOCK_BYTES // (4 * numbers))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


@cache
def _base(layers: int) -> Classifier:
    torch.manual_seed(0)
    config = BertConfig(vocab_size=30522, num_hidden_layers=layers, max_position_embeddings=1024, num_labels=2)
    tokenizer = bundled().tokenizer
    tokenizer.model_max_length = 1024
    return load(AutoModelForSequenceClassification.from_config(config), tokenizer)


def _case(tokens: int, *, layers: int) -> Case:
    vocabulary = sorted(word for word in bundled().tokenizer.get_vocab() if word.isalpha() and word.isascii())
    text = " ".join(np.random.default_rng(0).choice(vocabulary, tokens - 2))
    case = open_case(_base(layers), Text(text), long="refuse")
    case.targets("predicted")  # asks for the prediction, which is not the method's
    return case


def _explain(case: Case, method: str) -> Explanation:
    spec = METHODS[method]
    return explain_case(case, spec, spec.complete_settings({}), Options(long="refuse"))


if __name__ == "__main__":
    print(_measure(sys.argv[1], int(sys.argv[2])))
