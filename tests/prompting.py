"""A tiny language model behind a prompt."""

from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

import tiny
import whylight as wl
from whylight.core.prompt import Prompt, Shot
from whylight.testing.tiny import enlarge

TEXT = "The acting was good, but the plot drags!"
SHOTS = (Shot(text="is dull", label="negative"), Shot(text="is great", label="positive"))
ONE = {"positive": "good", "negative": "bad"}
SEVERAL = {"positive": "very good film", "negative": "bad", "neither": "not bad"}
LIMIT = 128


def language_model(kind: str = "llama") -> Any:
    size = len(tiny.tokenizer("llama"))
    torch.manual_seed(0)
    match kind:
        case "llama":
            config = LlamaConfig(vocab_size=size, **tiny.SIZES, num_key_value_heads=2, max_position_embeddings=LIMIT)
            return enlarge(LlamaForCausalLM(config)).eval()
        case "mistral":  # attends to the last few tokens alone: states of a prefix cannot be cut
            config = MistralConfig(
                vocab_size=size, **tiny.SIZES, num_key_value_heads=2, max_position_embeddings=LIMIT, sliding_window=12
            )
            return enlarge(MistralForCausalLM(config)).eval()
    config = GPT2Config(vocab_size=size, n_positions=LIMIT, n_embd=32, n_layer=2, n_head=2, bos_token_id=0)
    return enlarge(GPT2LMHeadModel(config)).eval()


def asked(answers: dict[str, str] = ONE, **options: Any) -> Prompt:
    template = "{shots}the film {text} the plot was"
    shots = tuple(shot for shot in SHOTS if shot.label in answers)
    return Prompt(
        **{
            "template": template,
            "shot": "the film {text} the plot was {answer} . ",
            "shots": shots,
            "answers": answers,
            **options,
        }
    )


def prompted(kind: str = "llama", answers: dict[str, str] = ONE, **options: Any) -> Any:
    return wl.load(language_model(kind), tiny.tokenizer("llama"), prompt=asked(answers, **options))


def written(prompt: Prompt, text: str) -> str:
    return "".join(text if isinstance(piece, int) else piece for piece in prompt.pieces)
