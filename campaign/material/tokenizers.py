"""Real fast tokenizers of every common kind, built in code: nothing is downloaded, and each has its own vocabulary.

What differs between kinds, and breaks what maps tokens to characters: what is thrown away or rewritten before the
cutting (case, accents, control characters, compatibility forms), whether white space belongs to a token, whether a
character may be several tokens or several characters one, and what an unknown character becomes.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

CORPUS = (
    "the film was good and the acting was not, though a gripping, moving story never drags",
    "Don't miss this state-of-the-art picture; it's the best (by far) of 2024!",
    "Ein schöner, etwas langer Film über Bäume. Un café très agréable, où l'on s'ennuie.",
    "очень хороший фильм 好电影 très bon नमस्ते שלום",
    "0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ .,;:!?'\"()[]-",
)
LIMIT = 512
CLS, SEP, UNK, PAD, MASK = SPECIAL = ("[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]")


def _train(tokenizer: Tokenizer, trainer: Any) -> Tokenizer:
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    return tokenizer


def _wrapped(tokenizer: Tokenizer, *, then: Any = None) -> PreTrainedTokenizerFast:
    """Put [CLS] and [SEP] around a text, as BERT does; `then` is a processor that comes first, e.g. one of offsets."""
    ends = [(token, tokenizer.token_to_id(token)) for token in (CLS, SEP)]
    wrap = processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}", pair=f"{CLS} $A {SEP} $B:1 {SEP}:1", special_tokens=ends
    )
    tokenizer.post_processor = wrap if then is None else processors.Sequence([then, wrap])
    names = dict(zip(("cls_token", "sep_token", "unk_token", "pad_token", "mask_token"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LIMIT,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **names,
    )


def _wordpiece(*, lowercase: bool) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(unk_token=UNK))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=list(SPECIAL), show_progress=False)
    return _wrapped(_train(tokenizer, trainer))


def _byte_level(*, trim_offsets: bool, prefix: bool) -> PreTrainedTokenizerFast:
    """Return a tokenizer as of GPT-2 or RoBERTa; untrimmed, a token's offsets include the blank before its word."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return _wrapped(
        _train(tokenizer, trainer), then=processors.ByteLevel(trim_offsets=trim_offsets, add_prefix_space=prefix)
    )


def _unigram() -> PreTrainedTokenizerFast:
    """Return a tokenizer as of XLM-R: compatibility forms rewritten, control characters dropped, blanks marked."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=list(SPECIAL), unk_token=UNK, show_progress=False)
    return _wrapped(_train(tokenizer, trainer))


def _byte_fallback() -> PreTrainedTokenizerFast:
    """Return a tokenizer as of Llama: blanks marked, and bytes for what is not in the vocabulary."""
    tokenizer = Tokenizer(models.BPE(unk_token=UNK, byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    special = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=special, show_progress=False)
    return _wrapped(_train(tokenizer, trainer))


def _characters() -> PreTrainedTokenizerFast:
    """Return a tokenizer of which every character, blanks too, is a token."""
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *sorted(set("".join(CORPUS)))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNK))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    return _wrapped(tokenizer)


def _decomposed() -> PreTrainedTokenizerFast:
    """Return a tokenizer that takes accents apart and throws them away, and cuts at white space alone."""
    tokenizer = Tokenizer(models.WordPiece(unk_token=UNK))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents(), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=list(SPECIAL), show_progress=False)
    return _wrapped(_train(tokenizer, trainer))


KINDS: Mapping[str, Callable[[], PreTrainedTokenizerFast]] = {
    "wordpiece uncased": cache(lambda: _wordpiece(lowercase=True)),
    "wordpiece cased": cache(lambda: _wordpiece(lowercase=False)),
    "byte-level": cache(lambda: _byte_level(trim_offsets=True, prefix=True)),
    "byte-level untrimmed": cache(lambda: _byte_level(trim_offsets=False, prefix=False)),
    "unigram": cache(_unigram),
    "byte fallback": cache(_byte_fallback),
    "characters": cache(_characters),
    "decomposed": cache(_decomposed),
}
"""How to build each kind; each is built once."""
