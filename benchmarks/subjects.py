"""What the benchmarks run on: the bundled model, texts written for them, and the same game in a peer's words."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedModel

import whylight as wl
from whylight.core.encoded import Encoded
from whylight.core.labels import Target
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.explaining.provide import game
from whylight.models.bundled_start import BUNDLED
from whylight.models.encoder import TransformerClassifier
from whylight.models.load import load
from whylight.perturb.binding import bound
from whylight.views.classifier import Request
from whylight.views.game import Game

SENTENCES = (
    "A gripping and moving film, though the ending drags far too long.",
    "The jokes never land and the plot makes no sense at all.",
    "Its leads are charming, but the script gives them nothing.",
    "I laughed, I cried, and would gladly watch it.",
    "Not the disaster I feared, yet hardly the triumph promised.",
)
PARAGRAPH = (
    "The first hour is a quiet marvel: patient, funny and beautifully shot, with a lead performance that never begs "
    "for sympathy. Then the story loses its nerve. Scenes that should hurt are smothered in music, a clumsy subplot "
    "about a stolen letter goes nowhere, and the dialogue starts to explain what the faces had already said. "
)
LONG_WORDS = 300


def bundled() -> TransformerClassifier:
    """Load the bundled classifier."""
    classifier = wl.load()
    if not isinstance(classifier, TransformerClassifier):
        raise TypeError(type(classifier))
    return classifier


def many_labels(count: int = 50) -> TransformerClassifier:
    """Load the bundled encoder with a random head of many labels; only its speed is looked at."""
    torch.manual_seed(0)
    small = bundled()
    names = {number: f"label {number}" for number in range(count)}
    numbers = {name: number for number, name in names.items()}
    config = AutoConfig.from_pretrained(
        BUNDLED, id2label=names, label2id=numbers, problem_type="multi_label_classification"
    )
    model = AutoModelForSequenceClassification.from_config(
        config, dtype=torch.float32
    ).eval()  # for the peers: ours sees to it
    model.bert.load_state_dict(small.model.bert.state_dict())
    classifier = load(model, small.tokenizer)
    if not isinstance(classifier, TransformerClassifier):
        raise TypeError(type(classifier))
    return classifier


def long_text(words: int = LONG_WORDS) -> str:
    """Return a text of so many blank-separated words."""
    return " ".join((PARAGRAPH * 20).split()[:words])


def fresh_game(classifier: TransformerClassifier, text: str, *, remover: str = "mask", label: int = 1) -> Game:
    """Build the game of one label with an empty cache."""
    case = open_case(classifier, Text(text))
    case.cache.clear()
    target = Target(label, classifier.labels.names[label])
    return game(case, Request((target,), "logit"), bound(remover))


def peer_function(classifier: TransformerClassifier, encoded: Encoded) -> Callable[[Tensor], Tensor]:
    """Return the same game for Captum: presence of words `[batch, words]` -> logits; removed words are masked."""
    window = encoded.windows[0]
    ids = torch.as_tensor(window.ids)
    feature = torch.as_tensor(window.feature)
    mask = classifier.tokenizer.mask_token_id

    def logits(present: Tensor) -> Tensor:
        keep = torch.cat([present, torch.ones_like(present[:, :1])], dim=1)[:, feature] > 0
        rows = torch.where(keep, ids, mask)
        with torch.inference_mode():
            out: Tensor = classifier.model(input_ids=rows, attention_mask=torch.ones_like(rows)).logits
        return out

    return logits


@contextmanager
def embeddings_replaced(model: PreTrainedModel, replace: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Put something else in the place of the word embeddings, by a plain hook: what a bare measurement needs."""
    handle = model.get_input_embeddings().register_forward_hook(lambda _module, _args, output: replace(output))
    try:
        yield
    finally:
        handle.remove()
