"""A transformer that is built in code: a vocabulary of a few words, random weights, and no file to load.

Weights are eight times as large as fresh ones, so that words tell the labels apart and differences show.
"""

from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from whylight.models.load import load
from whylight.views.classifier import Classifier

WORDS = """a the film movie plot ending is was good bad great awful not never moving gripping drags dull and but though
very , . ! ? - ' it this that of for with acting script""".split()  # noqa: SIM905  a vocabulary reads best as a text
SUFFIXES = ["##ing", "##s", "##ly", "##ed", "##n't"]
LIMIT = 64
"""Tokens that the network reads at once; longer texts are cut into windows."""
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
SPECIALS = {
    "bert": {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
    "roberta": {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"},
    "llama": {"unk": "<unk>", "bos": "<s>", "eos": "</s>"},
}
"""Special tokens, in the order of their ids, by whose they are."""
ENLARGED = 8.0


@cache
def tiny_tokenizer(style: str = "bert") -> Any:  # noqa: ANN401  a transformers tokenizer
    """Return a WordPiece tokenizer with BERT's special tokens, or with RoBERTa's or Llama's."""
    names = SPECIALS[style]
    characters = [chr(c) for c in range(97, 123)] + [chr(c) for c in range(48, 58)]
    pieces = [*names.values(), *WORDS, *SUFFIXES, *characters, *("##" + c for c in characters)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=names["unk"]))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    first, last = names.get("cls", names.get("bos")), names.get("sep")
    single = f"{first} $A" + (f" {last}" if last else "")
    pair = f"{first} $A {last} $B:1 {last}:1" if last else f"{first} $A $B"
    if style == "roberta":
        pair = f"{first} $A {last} {last} $B {last}"
    specials = [(token, vocabulary[token]) for token in (first, last) if token]
    backend.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=specials)
    options: dict[str, Any] = {f"{name}_token": token for name, token in names.items()}
    if style == "bert":
        options["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=LIMIT, **options)


def tiny_model(*, labels: int = 3, seed: int = 0) -> Any:  # noqa: ANN401  a transformers model
    """Return a BERT classifier of two layers."""
    tokenizer = tiny_tokenizer()
    config = BertConfig(
        **SIZES,
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        max_position_embeddings=LIMIT,
        num_labels=labels,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return enlarge(BertForSequenceClassification(config)).eval()


def enlarge(model: Any) -> Any:  # noqa: ANN401  as above
    """Make the weights of a fresh model so large that its answers differ from text to text."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(ENLARGED)
            elif not bool((parameter == 1).all()):
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@cache
def tiny_classifier() -> Classifier:
    """Return the one classifier that plug-ins are checked on where none is given."""
    return load(tiny_model(), tiny_tokenizer())
