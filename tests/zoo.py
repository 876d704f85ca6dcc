"""Tiny random sequence classifiers of nearly every architecture that transformers has, built from their configurations.

`tiny` has the few that every method is held against in full. These here are held against their own plain calls.
"""

import inspect
from functools import cache
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

import tiny
from whylight.models.load import load

ENCODERS = """albert bert big_bird camembert convbert data2vec-text deberta deberta-v2 distilbert electra ernie esm
eurobert flaubert fnet funnel gte jina_embeddings_v3 layoutlm longformer megatron-bert mobilebert modernbert mpnet
nomic_bert nystromformer rembert roberta roberta-prelayernorm roc_bert roformer squeezebert xlm xlm-roberta
xlm-roberta-xl xlnet""".split()  # noqa: SIM905  a list of names reads best as a text
DECODERS = """arcee biogpt bloom ctrl diffllama doge exaone4 falcon gemma gemma2 glm gpt2 gpt_bigcode gpt_neo gpt_neox
gptj helium llama ministral mistral mixtral modernbert-decoder mpt nemotron olmo olmo2 openai-gpt opt persimmon phi phi3
qwen2 qwen3 seed_oss smollm3 stablelm starcoder2""".split()  # noqa: SIM905  as above
BOTH = "bart mbart mvp plbart bigbird_pegasus t5 mt5 umt5".split()  # noqa: SIM905  as above
NAMES = (*ENCODERS, *DECODERS, *BOTH)
WITHOUT_GRADIENT = ("ibert",)
"""Models that answer, and whose word embeddings cannot be exchanged."""

_SHARED = {"num_labels": 3, "max_position_embeddings": tiny.LIMIT + 2, **tiny.SIZES}
_OWN: dict[str, Any] = {
    **dict.fromkeys(("d_model", "n_embd", "emb_dim", "word_embed_proj_dim", "embedding_size"), 32),
    **dict.fromkeys(("d_ff", "d_inner", "ffn_dim", "n_inner", "encoder_ffn_dim", "decoder_ffn_dim"), 48),
    **dict.fromkeys(("n_layer", "num_layers", "n_layers", "num_decoder_layers", "encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("n_head", "num_heads", "n_heads", "encoder_attention_heads", "decoder_attention_heads"), 2),
    **dict.fromkeys(("num_key_value_heads", "num_experts", "num_local_experts", "type_vocab_size"), 2),
    **dict.fromkeys(("d_kv", "d_head", "head_dim", "moe_intermediate_size"), 16),
    **dict.fromkeys(("num_experts_per_tok", "num_groups"), 1),
    "rotary_dim": 8,
    "n_positions": tiny.LIMIT + 2,
    "block_sizes": [1, 1],
    "bos_token_id": 0,
    "cls_token_id": 0,
    "eos_token_id": 2,
    "sep_token_id": 2,
}
_SPECIAL: dict[str, dict[str, Any]] = {
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "longformer": {"attention_window": 8},
}
_REFUSED = {"xlnet": {"max_position_embeddings"}, "funnel": {"num_hidden_layers"}}
_ENLARGED = {"mobilebert": 1.0}
"""By how much weights are enlarged; without norms they explode."""


@cache
def tokenizer() -> Any:
    """RoBERTa's specials: each text ends in `</s>`, which models with a decoder read."""
    return tiny.tokenizer("roberta")


def config(name: str) -> Any:
    """The configuration of a tiny model, in the words of its architecture."""
    kind = CONFIG_MAPPING[name]
    own_names = getattr(kind, "attribute_map", {})
    known = set(inspect.signature(kind.__init__).parameters) | set(getattr(kind, "__dataclass_fields__", {}))
    shared = {**_SHARED, "vocab_size": len(tokenizer()), "pad_token_id": tokenizer().pad_token_id}
    options = {own_names.get(key, key): value for key, value in shared.items() if key not in _REFUSED.get(name, ())}
    options |= {key: value for key, value in _OWN.items() if key in known and key not in own_names}
    made = kind(**options, **_SPECIAL.get(name, {}))
    if name in BOTH:
        made.decoder_start_token_id = 2
    return made


def model(name: str) -> Any:
    """A tiny model with weights that are larger than fresh ones, so that differences show."""
    torch.manual_seed(0)
    built = AutoModelForSequenceClassification.from_config(config(name))
    with torch.no_grad():
        for parameter in built.parameters():
            if parameter.dim() > 1:
                parameter.mul_(_ENLARGED.get(name, 4.0))
    return built.eval()


@cache
def classifier(name: str) -> Any:
    return load(model(name), tokenizer())
