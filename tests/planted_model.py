"""A tiny classifier, made by hand, whose label hangs on one word of a text, and texts for it.

Every position attends to all others alike, and one direction of the embeddings says which label a word speaks for: that
of two words is far from 0, that of all others is 0. The head reads that direction where the text begins.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertForSequenceClassification

import tiny
from whylight.core.text import Text
from whylight.data.dataset import Dataset, Record
from whylight.models.load import load
from whylight.models.quiet import quiet

DECISIVE, LABELS = ("awful", "great"), ("negative", "positive")
FILLER = [word for word in tiny.WORDS if word.isalpha() and word not in DECISIVE]
SPEAKS, LOUD = 12.0, 8.0


def model() -> Any:
    """The network; words other than the two say nothing."""
    torch.manual_seed(0)
    built = BertForSequenceClassification(tiny.config("bert", id2label=dict(enumerate(LABELS)))).eval()
    vocabulary, bert = tiny.tokenizer().get_vocab(), built.bert
    with torch.no_grad():
        for name, value in built.named_parameters():
            if "LayerNorm.weight" not in name and "word_embeddings" not in name:
                value.zero_()
        words = bert.embeddings.word_embeddings.weight
        words[:, 0] = 0.0
        words[:, 1:] = torch.randn_like(words[:, 1:])
        for sign, word in zip((-1, 1), DECISIVE, strict=True):
            words[vocabulary[word], 0] = sign * SPEAKS
        first = bert.encoder.layer[0].attention
        first.self.value.weight.copy_(torch.eye(tiny.SIZES["hidden_size"]))
        first.output.dense.weight.copy_(torch.eye(tiny.SIZES["hidden_size"]))
        bert.pooler.dense.weight.copy_(torch.eye(tiny.SIZES["hidden_size"]))
        built.classifier.weight[0, 0], built.classifier.weight[1, 0] = -LOUD, LOUD
    return built


def classifier() -> Any:
    return load(model(), tiny.tokenizer())


class Rule:
    """A function whose label hangs on one of the two words, and that counts the texts it is asked about."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, texts: list[str]) -> Any:
        self.asked += len(texts)
        speaks = [(DECISIVE[1] in text.split()) - (DECISIVE[0] in text.split()) for text in texts]
        return np.asarray([[0.5 - 0.4 * one, 0.5 + 0.4 * one] for one in speaks])


def ruled(rule: Rule | None = None, name: str = "rule") -> Any:
    """A classifier that is such a function: only the two words count, exactly."""
    return load(rule or Rule(), labels=LABELS, identity=name)


def saved(model: Any, folder: Path) -> Path:
    """Write a model, with its tokenizer, into a folder."""
    with quiet():
        model.save_pretrained(folder)
        tiny.tokenizer("bert").save_pretrained(folder)
    return folder


def texts(split: str, size: int, *, length: int = 9) -> Dataset:
    """Texts of filler words, with one of the two words among them."""
    random = np.random.default_rng([{"train": 0, "dev": 1, "test": 2}[split], size])
    records = []
    for number in range(size):
        words = [str(word) for word in random.choice(FILLER, size=length)]
        words.insert(int(random.integers(length + 1)), DECISIVE[number % 2])
        label = LABELS[number % 2]
        records.append(Record(f"{split}-{number}", Text(" ".join(words)), (label,), {}))
    return Dataset("hand-made", split, LABELS, tuple(records))
