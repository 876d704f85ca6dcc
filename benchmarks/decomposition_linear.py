"""`decompx_linear` against one forward and backward pass of the same model for one label; random weights.

- BERT-base's shape with four layers (depth changes neither side of the ratio), at 128, 512 and 1,024 tokens.
- PLM-CA on the document of `chunked`, 6,000 tokens, for one label and for fifteen at once.

What is compared takes turns in one run. The method's own pass that makes the prediction is not in its time: neither is
it in that of the bare model.
"""

from functools import cache, partial

import numpy as np
import torch
from chunked import EXPLAINED, classifier as chunked_classifier, document, forward_and_backward
from clock import Result, at_most, for_orientation, take_turns
from subjects import bundled, embeddings_replaced
from transformers import AutoModelForSequenceClassification, BertConfig

from whylight.core.explanation import Explanation
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining.case import Case, open_case
from whylight.explaining.options import Options
from whylight.explaining.receipts import explain_case
from whylight.models.load import load
from whylight.models.unchanged import unchanged
from whylight.views.classifier import Classifier

LENGTHS = (128, 512, 1024)
LAYERS = 4
AT_MOST = 3.0


def decomposition_linear() -> list[Result]:
    """Time all of it, and state by how much the sources miss the logit."""
    return [one for length in LENGTHS for one in _one_row(length)] + _one_document()


def _one_row(length: int) -> list[Result]:
    case = open_case(_base(), Text(_words(length - 2)), long="refuse")
    turns = take_turns([partial(_explain, case, 1), partial(_pass, case)], rounds=7)
    name = f"decompx_linear, {length:,} tokens"
    detail = f"{1000 * turns.median(0):.0f} ms, once forward and backward {1000 * turns.median(1):.0f} ms"
    ratio = at_most(f"{name} / one forward and backward", turns.ratio(0, 1), AT_MOST, detail)
    return [ratio, _gap(name, _explain(case, 1))]


def _one_document() -> list[Result]:
    case = open_case(chunked_classifier(), Text(document()), long="refuse")
    works = [partial(_explain, case, 1), forward_and_backward, partial(_explain, case, EXPLAINED)]
    turns = take_turns(works, rounds=3, warm_up=False)
    name = "decompx_linear, PLM-CA, 6,000 tokens"
    detail = f"{turns.median(0):.1f} s, once forward and backward {turns.median(1):.1f} s"
    together = for_orientation(f"{name}, {EXPLAINED} labels / one", turns.ratio(2, 0), f"{turns.median(2):.1f} s")
    ratio = at_most(f"{name} / one forward and backward", turns.ratio(0, 1), AT_MOST, detail)
    return [ratio, together, _gap(name, _explain(case, 1))]


def _gap(name: str, explanation: Explanation) -> Result:
    gaps = explanation.provenance.completeness_gap
    if gaps is None:
        raise TypeError(gaps)
    return at_most(f"{name}, sources miss the logit by", max(map(abs, gaps)), 1e-3)


def _explain(case: Case, targets: int) -> Explanation:
    spec = METHODS["decompx_linear"]
    return explain_case(case, spec, spec.complete_settings({}), Options(target=list(range(targets)), long="refuse"))


def _pass(case: Case) -> None:
    """Differentiate one logit by the word embeddings, as anyone would."""
    model = _base().model
    ids = torch.as_tensor(case.encoded.windows[0].ids)[None]
    leaf = model.get_input_embeddings()(ids).detach().requires_grad_(requires_grad=True)
    with unchanged(model), embeddings_replaced(model, lambda _out: leaf):
        torch.autograd.grad(model(ids).logits[0, 0], leaf)


@cache
def _base() -> Classifier:
    """Build a classifier of BERT-base's shape that reads longer texts."""
    torch.manual_seed(0)
    config = BertConfig(vocab_size=30522, num_hidden_layers=LAYERS, max_position_embeddings=max(LENGTHS))
    tokenizer = bundled().tokenizer
    tokenizer.model_max_length = max(LENGTHS)
    return load(AutoModelForSequenceClassification.from_config(config), tokenizer)


def _words(count: int) -> str:
    """Return so many words of one token each."""
    vocabulary = sorted(word for word in bundled().tokenizer.get_vocab() if word.isalpha() and word.isascii())
    return " ".join(np.random.default_rng(0).choice(vocabulary, count))
