"""PLM-CA on a document of 6,000 tokens, 50 labels, of which 15 are explained; random weights, the shape of MiniLM.

- Occlusion against one forward pass of the network a word: those are timed on 40 words and scaled to all.
- AttInGrad of 15 labels against one forward and backward pass of the network for one label.
- Peak memory above the model's, in the same run.
"""

from functools import cache

import numpy as np
import torch
from clock import Result, at_least, at_most, for_orientation, seconds, take_turns
from memory import peak_megabytes
from subjects import bundled, embeddings_replaced
from torch import Tensor
from transformers import AutoModel, BertConfig

from whylight.core.explanation import Explanation
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.explaining.options import Options
from whylight.explaining.receipts import explain_case
from whylight.models.chunked import ChunkedClassifier
from whylight.models.load import load
from whylight.models.networks import PlmCaForSequenceClassification
from whylight.models.networks.plm_ca import cut_chunks

LABELS, EXPLAINED = 50, 15
TOKENS = 6000
TIMED_WORDS = 40


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
    return [*occlusion(), *attingrad()]


def occlusion() -> list[Result]:
    """Time occlusion of every word, and hold its scores against the network's own."""
    encoded = classifier().encode(Text(document()), unit="word", long="refuse")
    (window,) = encoded.windows
    _logits(window.ids[:768])  # what stays in memory from a first pass on is not the method's
    found: list[Explanation] = []
    took: list[float] = []
    words = np.random.default_rng(1).choice(encoded.n_features, TIMED_WORDS, replace=False)
    mask = classifier().tokenizer.mask_token_id
    full, drops = _logits(window.ids), []

    def documents(some: np.ndarray) -> None:
        drops.extend(full - _logits(np.where(window.feature == word, mask, window.ids)) for word in some)

    half = TIMED_WORDS // 2  # before and after ours, which is too long to take more turns
    before = seconds(lambda: documents(words[:half]))
    memory = peak_megabytes(lambda: took.append(seconds(lambda: found.append(_explain("occlusion")))))
    after = seconds(lambda: documents(words[half:]))
    (explanation,) = found
    baseline = (before + after) / TIMED_WORDS * encoded.n_features
    gap = float(np.abs(np.stack(drops).T - explanation.scores[:, words]).max())
    detail = (
        f"{took[0]:.0f} s, documents {baseline:.0f} s ({TIMED_WORDS} of {encoded.n_features} words timed, half of them "
        f"before and half after); structural: {explanation.provenance.forward_passes} chunks encoded, where documents "
        f"encode {encoded.n_features * -(-TOKENS // classifier().model.config.chunk_size)}"
    )
    return [
        at_least("occlusion, 6,000 tokens, documents / ours", baseline / took[0], 20.0, detail),
        at_most("occlusion, largest difference from the network", gap, 1e-4),
        for_orientation("occlusion, peak memory above the model, MB", memory, f"{EXPLAINED} labels"),
    ]


def attingrad() -> list[Result]:
    """Time AttInGrad of 15 labels against one forward and backward pass of the document."""
    memory = peak_megabytes(lambda: _explain("attingrad"))
    turns = take_turns([lambda: _explain("attingrad"), forward_and_backward], rounds=3, warm_up=False)
    detail = f"{turns.median(0):.1f} s, once forward and backward {turns.median(1):.1f} s"
    return [
        at_most(f"AttInGrad, {EXPLAINED} labels / one forward and backward", turns.ratio(0, 1), 12.0, detail),
        for_orientation("AttInGrad, peak memory above the model, MB", memory, f"{EXPLAINED} labels"),
    ]


def _explain(method: str) -> Explanation:
    case = open_case(classifier(), Text(document()), long="refuse")
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
    with embeddings_replaced(model, lambda _out: cut_chunks(leaf, size=model.config.chunk_size)[0]):
        torch.autograd.grad(model(ids).logits[0, 0], leaf)
