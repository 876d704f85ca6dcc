"""What stands beside a word that infill writes: marks, signs that are gone, and words of scripts without blanks."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from test_infill_words import SPECIALS, byte_level, byte_level_filler, plain_window, rewritten, says
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
)

import masked
import tiny
from whylight.core.text import Span, Text
from whylight.models.infill import MaskedFiller
from whylight.models.load import load
from whylight.models.masked import MaskedModel
from whylight.perturb import splicing
from whylight.perturb.binding import bound
from whylight.perturb.blanks import likely_words
from whylight.testing.tiny import enlarge
from whylight.views.filling import BEHIND_LETTER, JOINED, WITHIN
from whylight.views.texts import TextWindow

CHINESE = ("我", "喜欢", "这部", "电影", "。")
MARKED = [f"{mark}{word}" for word in ("我", "喜欢", "讨厌", "电影", "这部") for mark in ("▁", "")]
PIECES = [*"▁，。ा", *MARKED, "▁the", "▁film"]


def sentencepiece(pieces: Sequence[str] = PIECES) -> Any:
    """A vocabulary as XLM-R has it, in which "▁" stands for the blank before."""
    names = [*SPECIALS.values(), *pieces]
    backend = Tokenizer(models.Unigram([(name, -1.0 * i if i < 5 else -2.0) for i, name in enumerate(names)], unk_id=3))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    ends = [("<s>", 0), ("</s>", 2)]
    backend.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair=None, special_tokens=ends)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=60, **{f"{name}_token": token for name, token in SPECIALS.items()}
    )


def sentencepiece_filler() -> MaskedFiller:
    tokenizer = sentencepiece()
    config = RobertaConfig(**tiny.SIZES, vocab_size=len(tokenizer), max_position_embeddings=64, pad_token_id=1)
    torch.manual_seed(2)
    return MaskedFiller(MaskedModel(enlarge(RobertaForMaskedLM(config)).eval(), tokenizer, name="m"), None, limit=None)


def wordpiece_filler() -> MaskedFiller:
    """A vocabulary as Chinese BERT has it: each character is a word."""
    marks = [f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")]
    names = [*marks, *"我喜欢电影这部。", "##ing"]
    backend = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))  # noqa: S106
    backend.normalizer, backend.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    backend.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair=None, special_tokens=ends)
    given = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=60, **given)
    config = BertConfig(**tiny.SIZES, vocab_size=len(names), max_position_embeddings=64)
    torch.manual_seed(2)
    return MaskedFiller(MaskedModel(enlarge(BertForMaskedLM(config)).eval(), tokenizer, name="m"), None, limit=None)


def classifier(tokenizer: Any, **settings: Any) -> Any:
    config = RobertaConfig(**tiny.SIZES, vocab_size=len(tokenizer), max_position_embeddings=64, pad_token_id=1)
    return load(RobertaForSequenceClassification(config).eval(), tokenizer, **settings)


def own_words(*words: str) -> TextWindow:
    """A text whose words the data bring, and which it writes together."""
    ends = np.cumsum([len(word) for word in words]).tolist()
    return TextWindow(
        "".join(words), tuple(Span(0, end - len(word), end) for end, word in zip(ends, words, strict=True))
    )


def filled(own: MaskedFiller, window: TextWindow, place: int, **settings: Any) -> str:
    removal = replace(bound("infill", {"model": "m", "mode": "top1", **settings}), needs=(own,))
    batch: Any = removal(window, np.arange(len(window.spans))[None] != place).batch
    return str(batch.texts[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cafe\u0301, but", "cafe\u0301 film but"),
        ("अच्छी, पर", "अच्छी film पर"),
        ("ที่, but", "ที่ film but"),
        ("snake_, but", "snake_ film but"),
        ("good!\u0301, but", "good!\u0301film but"),  # a mark on a sign makes no word of it
    ],
)
def test_a_word_behind_a_letter_with_a_mark_is_not_glued_to_it(text: str, expected: str) -> None:
    place = len(plain_window(text).spans) - 2
    assert rewritten(says("film"), text, place) == expected


def test_only_signs_stand_behind_a_letter_with_a_mark() -> None:
    own = byte_level_filler()
    text = "cafe\u0301, film"
    assert own.draft([text], plain_window(text).spans).stands.tolist()[1] == BEHIND_LETTER
    model = sentencepiece_filler().masked
    allowed = model.allowed(fragments=False, stands=BEHIND_LETTER)
    assert {word for word, may in zip(model.words, allowed, strict=True) if may} == {"，", "。"}  # "ा" would change it


@pytest.mark.parametrize("kind", ["byte-level", "sentencepiece"])
@pytest.mark.parametrize(
    ("text", "removed"),
    [("The film (so good)", [2]), ("good,so", [1]), ("good, so", [1]), ("good,(so", [1, 2]), ("(good)so", [0, 2])],
)
def test_a_kept_word_is_read_as_the_classifier_would_read_it_in_the_text(
    kind: str, text: str, removed: list[int]
) -> None:
    """Its tokens say whether a blank stands before it: "Ġso" and "so" are two words."""
    parts = ("The", "film", "so", "good", "but")
    pieces = [*"▁(),", *parts, *(f"▁{one}" for one in parts)]
    tokenizer = byte_level() if kind == "byte-level" else sentencepiece(pieces)
    clf = classifier(tokenizer)
    window = clf.encode(Text(text), unit="word", long="window").windows[0]
    own = masked.Told(clf, lambda _row, _place: {"film": 1.0})
    keep = ~np.isin(np.arange(len(window.spans)), removed)
    batch: Any = replace(bound("infill", {"model": "m", "mode": "top1"}), needs=(own,))(window, keep[None]).batch
    assert batch.ids[0].tolist() == tokenizer(rewritten(says("film"), text, *removed))["input_ids"]


def test_of_a_kept_word_only_the_tokens_that_a_blank_changes_are_made_anew() -> None:
    clf = classifier(byte_level())
    text = "film (so good"
    window = clf.encode(Text(text), unit="word", long="window").windows[0]
    names = clf.network.tokenizer.convert_ids_to_tokens
    assert names(window.ids) == ["<s>", "film", "Ġ(", "so", "Ġgood", "</s>"]
    own = masked.Told(clf, lambda _row, _place: {"film": 1.0})
    behind = names(own.spelled("so", " "))
    places = (Span(0, 0, 4), Span(0, 5, 6), Span(0, 6, 13))  # "so good" is one feature
    joint = replace(window, feature=np.asarray([-1, 0, 1, 2, 2, -1]), spans=places)
    assert names(splicing.spliced(joint, [{1: "film"}], places, own).ids[0])[3:] == [*behind, "Ġgood", "</s>"]
    assert names(splicing.spliced(joint, [{1: ""}], places, own).ids[0])[1:] == ["film", *behind, "Ġgood", "</s>"]
    cut = replace(joint, **{name: getattr(joint, name)[:4] for name in ("ids", "types", "feature", "token")})
    assert names(splicing.spliced(cut, [{1: "film"}], places, own).ids[0])[3:] == behind  # its end is not in this row
    own.limit = 5
    full = splicing.spliced(cut, [{1: "so so so"}], places, own).ids[0]
    assert (len(full), full[-1]) == (4, window.ids[3])  # where there is no room, a kept word stays as it was


def test_words_that_were_written_together_may_be_exchanged_and_stay_together() -> None:
    own, window = sentencepiece_filler(), own_words(*CHINESE)
    draft = own.draft([window.text], window.spans)
    assert draft.stands.tolist()[1:] == [WITHIN, WITHIN, WITHIN, BEHIND_LETTER]
    for guess in likely_words(window, own, top=20).values():
        assert guess.same.any()  # the word itself is among them
        assert guess.original == "。" or {"讨厌", "喜欢"} <= {*guess.words}
    model = own.masked
    assert not model.allowed(fragments=False, stands=JOINED)[model.words.index("ा")]
    for own in (sentencepiece_filler(), wordpiece_filler()):
        for place in range(len(CHINESE) - 1):  # in the place of the sign a word has a blank before it
            text = filled(own, window, place, mode="top1_excluding_original")
            assert text != window.text
            assert " " not in text


def test_parts_of_a_word_that_data_bring_as_words_stay_together() -> None:
    window = TextWindow("I didn't see", (Span(0, 0, 1), Span(0, 2, 5), Span(0, 5, 8), Span(0, 9, 12)))
    assert filled(says("film"), window, 1) == "I filmn't see"
    assert filled(says("film"), window, 2) == "I didfilm see"
    assert filled(says("film"), own_words("good", ",", "so"), 1) == "good film so"


def test_a_word_written_together_with_another_gets_no_mark_of_a_blank() -> None:
    """Where both are one token, they are spelled apart, but without the blank that a first word has."""
    tokenizer = sentencepiece([*PIECES, "▁我喜欢", "("])
    own = MaskedFiller(masked.model(), tokenizer, limit=None)
    assert tokenizer.tokenize("我喜欢") == ["▁我喜欢"]
    assert tokenizer.convert_ids_to_tokens(own.spelled("喜欢", "我")) == ["喜欢"]
