"""A small encoder for texts that no pretrained one here knows: drawn at random, with a tokenizer learnt from the texts.

Its first layer attends to the whole chunk, the others within 16 tokens to either side, and it knows relative positions,
so that it learns from a thousand texts what "no", "denies" or "his mother had" do to the words beside them.
"""

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoModel, ModernBertConfig, PreTrainedTokenizerFast

from whylight.models.quiet import quiet

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def small_encoder(folder: Path, texts: Iterable[str], *, seed: int, pieces: int = 4000, layers: int = 2) -> Path:
    """Write an encoder into a folder, unless it is there, and return the folder.

    Args:
        folder: Where to.
        texts: What the tokenizer is learnt from.
        seed: Of the weights.
        pieces: Word pieces of the tokenizer.
        layers: Layers of the encoder.
    """
    if (folder / "config.json").is_file():
        return folder
    tokenizer = _tokenizer(texts, pieces)
    config = ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=192,
        num_hidden_layers=layers,
        num_attention_heads=3,
        max_position_embeddings=512,
        local_attention=32,
        global_attn_every_n_layers=layers + 1,
        pad_token_id=tokenizer.pad_token_id,
        cls_token_id=tokenizer.cls_token_id,
        sep_token_id=tokenizer.sep_token_id,
        bos_token_id=None,
        eos_token_id=None,
        attention_dropout=0.1,
        mlp_dropout=0.1,
        embedding_dropout=0.1,
    )
    with quiet(), torch.random.fork_rng():
        torch.manual_seed(seed)
        AutoModel.from_config(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(texts: Iterable[str], pieces: int) -> PreTrainedTokenizerFast:
    own = Tokenizer(models.WordPiece(unk_token="[UNK]"))  # noqa: S106  a token, not a password
    own.normalizer = normalizers.BertNormalizer(lowercase=True)
    own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    own.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=pieces, special_tokens=list(SPECIAL), show_progress=False)
    )
    ends = [(name, SPECIAL.index(name)) for name in ("[CLS]", "[SEP]")]
    own.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=own, **{f"{key}_token": name for key, name in names.items()})
