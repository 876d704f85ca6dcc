"""Small models of every supported architecture, built in code: random weights, enlarged so that differences show."""

from typing import Any

import torch
from transformers import (
    AlbertConfig,
    AutoModelForSequenceClassification,
    BertConfig,
    BigBirdConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    LlamaConfig,
    ModernBertConfig,
    RobertaConfig,
    XLMRobertaConfig,
)

from whylight.models.load import load
from whylight.models.networks import PlmCaForSequenceClassification
from whylight.testing.tiny import LIMIT, SIZES, WORDS, enlarge, tiny_tokenizer as tokenizer

__all__ = ["LIMIT", "SIZES", "WORDS", "tokenizer"]
"""What is shared with the checks of the package."""

ARCHITECTURES = (
    "bert",
    "roberta",
    "xlm_roberta",
    "distilbert",
    "electra",
    "albert",
    "deberta",
    "modernbert",
    "modernbert_mean",
    "bigbird",
    "llama",
)
CHUNKED = {"plm_ca": ("bert", "cross"), "plm_ca_laat": ("roberta", "laat")}
"""Networks that read a text in chunks: the encoder and the label attention of each."""
EVERY = (*ARCHITECTURES, *CHUNKED)
RELATIVES = ("electra", "xlm_roberta")
"""Built as `bert` and `roberta` are: where every method is tried, they are left to the slow tests."""
CHUNK = 8


def config(architecture: str, **options: Any) -> Any:  # noqa: C901, PLR0911  one case an architecture
    """The configuration of a tiny model."""
    style = style_of(architecture)
    tok = tokenizer(style)
    shared = {"vocab_size": len(tok), "pad_token_id": tok.pad_token_id, "num_labels": 2, **options}
    full = {**SIZES, **shared, "max_position_embeddings": LIMIT}
    match architecture:
        case "bert":
            return BertConfig(**full)
        case "roberta" | "xlm_roberta":
            kind = RobertaConfig if architecture == "roberta" else XLMRobertaConfig
            return kind(**{**full, "max_position_embeddings": LIMIT + 2, "type_vocab_size": 1})
        case "distilbert":
            return DistilBertConfig(
                dim=32, n_layers=2, n_heads=2, hidden_dim=48, max_position_embeddings=LIMIT, **shared
            )
        case "electra":
            return ElectraConfig(**{**full, "embedding_size": 24})
        case "albert":
            return AlbertConfig(**{**full, "embedding_size": 24})
        case "deberta":
            relative = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16}
            return DebertaV2Config(**full, **relative, position_biased_input=False)
        case "modernbert" | "modernbert_mean":
            pooling = "mean" if architecture.endswith("mean") else "cls"
            ends = {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
            return ModernBertConfig(**full, **ends, classifier_pooling=pooling, local_attention=16)
        case "bigbird":
            ends = {"bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3}
            return BigBirdConfig(**full, **ends, attention_type="original_full", block_size=4, num_random_blocks=1)
        case "llama":
            return LlamaConfig(**full, num_key_value_heads=2)
    raise ValueError(architecture)


def style_of(architecture: str) -> str:
    encoder = CHUNKED[architecture][0] if architecture in CHUNKED else architecture
    return {"roberta": "roberta", "xlm_roberta": "roberta", "llama": "llama"}.get(encoder, "bert")


def model(architecture: str = "bert", *, seed: int = 0, **options: Any) -> Any:
    """A tiny model whose weights are eight times as large as fresh ones."""
    if architecture in CHUNKED:
        return chunked(architecture, seed=seed, **options)
    torch.manual_seed(seed)
    built = AutoModelForSequenceClassification.from_config(config(architecture, **options))
    return enlarge(built).eval()


def chunked(architecture: str, *, seed: int = 0, num_labels: int = 2, **options: Any) -> Any:
    """A tiny PLM-CA network on an encoder from above, whose label attention is far from even."""
    encoder, attention = CHUNKED[architecture]
    names = [f"label {number}" for number in range(num_labels)]
    settings = {"chunk_size": CHUNK, "max_tokens": LIMIT, "label_block": 2, **options}
    torch.manual_seed(seed)
    built = PlmCaForSequenceClassification.from_encoder(
        model(encoder, seed=seed), labels=names, attention=attention, **settings
    )
    with torch.no_grad():
        for parameter in built.decoder.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return built


def classifier(architecture: str = "bert", **options: Any) -> Any:
    """A tiny classifier, ready to be explained."""
    load_options = {name: options.pop(name) for name in ("head", "labels", "max_tokens") if name in options}
    return load(model(architecture, **options), tokenizer(style_of(architecture)), **load_options)
