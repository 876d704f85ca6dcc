"""A tiny classifier with random weights, saved as a model folder."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from whylight.models.quiet import quiet

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = ("the", "acting", "was", "good", "but", "plot", "drag", "##s", ",", "!", "a")
LIMIT = 32


def save_tiny(folder: Path, *, shards: bool = False) -> None:
    """Save a BERT classifier of two labels and its tokenizer."""
    vocabulary = {token: number for number, token in enumerate((*SPECIAL, *WORDS))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token=SPECIAL[1]))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIAL}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=LIMIT, **names)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(0)
        config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=LIMIT, num_labels=2, **sizes)
        model = BertForSequenceClassification(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(8.0)  # answers that differ visibly between texts
        model.save_pretrained(folder, **({"max_shard_size": "4KB"} if shards else {}))
        tokenizer.save_pretrained(folder)
