"""What infill writes into a text: words that may stand there, in vocabularies of every kind."""

import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

import masked
import quick
import tiny
from whylight.core import segment
from whylight.core.encoded import key_of
from whylight.core.errors import ModelError
from whylight.core.text import Span, Text
from whylight.models import masked as masked_models
from whylight.models.infill import MaskedFiller, filler_of
from whylight.models.masked import FilledBlanks, MaskedModel, read_masked
from whylight.perturb.binding import bound
from whylight.perturb.blanks import likely_words, same_words
from whylight.testing.tiny import enlarge
from whylight.views.filling import APART, BEHIND_LETTER, JOINED, NO_TOKEN
from whylight.views.texts import TextWindow

SPECIALS = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
BARE = ["The", "Ġfilm", "Ġwas", "Ġgood", "Ġ(", "so", "good", "film", "Ġso", "ish", ",", ".", ")", "Ġ,", "ĠThe", "Ġâ"]
"""Words as byte-level vocabularies have them: "Ġ" stands for the blank before; "Ġâ" is a third of a dash."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return masked.saved(tmp_path / "mlm")


def byte_level() -> Any:
    """A vocabulary that marks the blank before a word, as RoBERTa's does."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = list(dict.fromkeys([*SPECIALS.values(), *alphabet, *BARE]))
    merges = []
    for word in BARE:
        for end in range(2, len(word) + 1):
            names += [word[:end]] if word[:end] not in names else []
            merges.append((word[: end - 1], word[end - 1]))
    vocabulary = {name: number for number, name in enumerate(dict.fromkeys(names))}
    backend = Tokenizer(models.BPE(vocabulary, list(dict.fromkeys(merges))))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=60, **{f"{name}_token": token for name, token in SPECIALS.items()}
    )


def byte_level_filler(clf: Any = None) -> MaskedFiller:
    tokenizer = byte_level()
    config = RobertaConfig(**tiny.SIZES, vocab_size=len(tokenizer), max_position_embeddings=64, pad_token_id=1)
    torch.manual_seed(2)
    model = MaskedModel(enlarge(RobertaForMaskedLM(config)).eval(), tokenizer, name="m")
    return MaskedFiller(model, clf and clf.network.tokenizer, limit=clf and clf.network.limit)


def plain_window(text: str) -> TextWindow:
    return TextWindow(text, tuple(Span(0, *place) for place in segment.words(text)))


def rewritten(own: MaskedFiller, text: str, *removed: int, **settings: Any) -> str:
    """What becomes of a text without some words."""
    window = plain_window(text)
    keep = np.ones((1, len(window.spans)), dtype=bool)
    keep[0, list(removed)] = False
    removal = replace(bound("infill", {"model": "m", "mode": "top1", **settings}), needs=(own,))
    batch: Any = removal(window, keep).batch
    return str(batch.texts[0])


def says(word: str) -> masked.Told:
    return masked.Told(None, lambda _row, _place: {word: 1.0})


def test_a_word_without_a_blank_before_it_has_candidates_without_its_mark() -> None:
    """At the start of a text and behind a bracket, RoBERTa's vocabulary has "The" and "so", and not "ĠThe"."""
    own = byte_level_filler()
    model, text = own.masked, "The film (so good)."
    words = {name: number for number, name in enumerate(model.tokenizer.convert_ids_to_tokens(range(len(model.words))))}
    window = plain_window(text)
    draft = own.draft([text], window.spans)
    assert draft.own.tolist() == [words[one] for one in ("The", "Ġfilm", "Ġ(", "so", "Ġgood", ")", ".")]
    assert draft.stands.tolist() == [JOINED, APART, APART, JOINED, APART, BEHIND_LETTER, JOINED]

    def allowed(stands: int) -> set[str]:
        return {name for name, number in words.items() if model.allowed(fragments=False, stands=stands)[number]}

    assert {"Ġfilm", "Ġso", "ĠThe", "Ġ,"} <= allowed(APART)
    assert not {"The", "so", "ish", ",", "Ġâ", "Ġ"} & allowed(APART)
    assert {"The", "so", "film", "good", ",", ")"} <= allowed(JOINED)
    assert not {"ish", "ĠThe", "Ġso", "<mask>"} & allowed(JOINED)  # "ish" is no word of its own
    assert {",", ")", "."} <= allowed(BEHIND_LETTER)
    assert not any(letter.isalnum() for name in allowed(BEHIND_LETTER) for letter in name)
    guesses = likely_words(window, own, top=400)
    for place, stands in enumerate(draft.stands.tolist()):
        assert set(guesses[place].words) == {model.words[words[name]] for name in allowed(stands)}
        assert guesses[place].same.any()  # the word itself is among them, wherever it stands
        assert guesses[place].probabilities.sum() == pytest.approx(1)


def test_a_letter_of_some_language_does_not_make_a_vocabulary_a_marked_one() -> None:
    """Ġ is a letter of Maltese, which multilingual WordPiece vocabularies have."""
    tokenizer = tiny.tokenizer("bert")
    names = [*tokenizer.convert_ids_to_tokens(range(len(tokenizer))), "Ġ"]
    backend = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))  # noqa: S106
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    given = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    model = MaskedModel(masked.network(), PreTrainedTokenizerFast(tokenizer_object=backend, **given), name="m")
    assert not model.marks
    assert model.allowed(fragments=False)[names.index("film")]


@pytest.mark.parametrize(
    ("text", "removed", "expected"),
    [
        ("good, but", 1, "good film but"),
        ("the (good) end", 1, "the film good) end"),
        ("good, but", 0, "film, but"),
        ("good  but", 1, "good  film"),
        ("(a)", 1, "(film)"),
    ],
)
def test_words_that_a_removed_sign_kept_apart_stay_apart(text: str, removed: int, expected: str) -> None:
    assert rewritten(says("film"), text, removed) == expected
    assert rewritten(says(","), "good film.", 2) == "good film,"
    clf = quick.classifier("bert")
    window = clf.encode(Text("good, but"), unit="word", long="window").windows[0]
    own = masked.Told(clf, lambda _row, _place: {"film": 1.0})
    own._tokenizer = byte_level()  # of a classifier to which a blank makes another word
    removal = replace(bound("infill", {"model": "m", "mode": "top1"}), needs=(own,))
    batch: Any = removal(window, np.asarray([[True, False, True], [False, False, True]])).batch
    names = own._tokenizer.convert_ids_to_tokens(batch.ids.ravel())
    assert names.count("Ġfilm") == 2
    assert names.count("film") == 1  # at the start


def test_the_word_itself_stays_as_it_was_written() -> None:
    """The masked language model reads small letters without accents: its "the" is "The" in the text."""
    clf = quick.classifier("bert")
    text = "The FILM was Awful"
    assert rewritten(says("film"), text, 1) == text
    assert rewritten(says("the"), text, 0, order="left_to_right") == text
    assert rewritten(says("film"), text, 1, 2) == "The FILM film Awful"
    assert rewritten(says("awful"), "The film was áwful", 3) == "The film was áwful"
    told = masked.Told(clf, lambda _row, _place: {"awful": 0.9, "film": 0.1})
    for word in ("Awful", "áwful", "awful"):
        for top in (1, 2):
            settings = {"mode": "top1_excluding_original", "top": top}
            assert rewritten(told, f"the end was {word}", 3, **settings) == "the end was film"
    window = TextWindow(
        "it was awful.", (Span(0, 0, 2), Span(0, 3, 6), Span(0, 7, 13))
    )  # words as some data bring them
    removal = replace(bound("infill", {"model": "m", "mode": "top1_excluding_original"}), needs=(told,))
    batch: Any = removal(window, np.asarray([[True, True, False]])).batch
    assert batch.texts == ("it was film",)


@pytest.mark.parametrize(
    ("word", "other"),
    [("C++", "C"), ("C#", "c"), (".NET", "net"), ("(.5)", "5"), ("$5", "5"), ("-1", "1"), ("10%", "10"), ("...", ".")],
)
def test_a_sign_that_makes_another_word_is_no_sign_around_it(word: str, other: str) -> None:
    told = masked.Told(None, lambda _row, _place: {"film": 1.0})
    told.masked.words = [word, other, word.upper()]
    tokens = np.arange(3)
    assert same_words(told, tokens, word, NO_TOKEN).tolist() == [True, False, True]
    assert same_words(told, tokens, other, NO_TOKEN).tolist() == [False, True, False]


@pytest.mark.parametrize("around", ["dog.", "(Dog)", "“dog”,", "«dog»!", "'dog'?", "...dog", "dog…", "dog。", "##dog"])
def test_signs_of_sentences_quotes_and_brackets_make_no_other_word(around: str) -> None:
    told = masked.Told(None, lambda _row, _place: {"film": 1.0})
    told.masked.words = ["dog", around, "do"]
    for word in ("dog", around):
        assert same_words(told, np.arange(3), word, NO_TOKEN).tolist() == [True, True, False]


def test_the_original_is_left_out_in_all_its_capitals_even_of_one_candidate() -> None:
    """A cased vocabulary has "good", "Good" and "GOOD": the two likeliest may be the word itself."""
    own = cased_filler()
    tokens = {name: own.masked.tokenizer.convert_tokens_to_ids(name) for name in ("good", "Good", "GOOD", "bad")}
    with torch.no_grad():
        own.masked.model.cls.predictions.bias[:] = -20
        for place, name in enumerate(("Good", "GOOD", "good", "bad")):
            own.masked.model.cls.predictions.bias[tokens[name]] = 40.0 - place
    for word in ("good", "Good"):
        settings = {"mode": "top1_excluding_original", "top": 1}
        assert rewritten(own, f"the film was {word}", 3, **settings) == "the film was bad"


def cased_filler() -> MaskedFiller:
    base = tiny.tokenizer("bert")
    names = [*base.convert_ids_to_tokens(range(len(base))), "Good", "GOOD"]
    backend = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))  # noqa: S106
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = base.backend_tokenizer.post_processor
    given = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=60, **given)
    network = masked.network()
    network.resize_token_embeddings(len(tokenizer))
    return MaskedFiller(MaskedModel(network, tokenizer, name="m"), None, limit=None)


def test_no_more_is_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of long texts have hundreds of blanks, and a blank may have thousands of words: not rows take the memory."""
    monkeypatch.setattr(masked_models, "REMEMBERED", 10_000)
    clf = quick.classifier("bert")
    own = masked.filler(clf)
    removal = replace(bound("infill", {"model": "m"}), needs=(own,))
    window = clf.encode(Text("the film was good but the ending drags"), unit="word", long="window").windows[0]
    keep = np.random.default_rng(0).random((40, 8)) < 0.5
    first: Any = removal(window, keep).batch
    known = own.masked.known
    assert 0 < sum(len(one) for answers in known.values() for one in answers) < known.size <= 10_000
    again: Any = removal(window, keep).batch
    np.testing.assert_array_equal(first.ids, again.ids)
    known.clear()
    assert known.size == 0


@pytest.mark.parametrize("blanks", [1, 40])
def test_what_is_remembered_takes_as_many_bytes_as_it_says(blanks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 2**22
    monkeypatch.setattr(masked_models, "REMEMBERED", limit)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        known = FilledBlanks()
        for number in range(20_000):
            known[key_of(str(number).encode())] = tuple(np.zeros((2, 11)).tobytes() for _ in range(blanks))
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0 < len(known) < 20_000
    assert key_of(b"19999") in known
    assert key_of(b"0") not in known
    assert 0.7 * limit < known.size <= limit
    assert abs(taken - known.size) < 0.3 * known.size


def test_threads_that_remember_at_once_keep_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masked_models, "REMEMBERED", 20_000)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    known = FilledBlanks()

    def remember(first: int) -> None:
        for number in range(first, first + 3000):
            known[f"{number % 70}".encode()] = (bytes(number % 500),)

    try:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(remember, range(6)))
    finally:
        sys.setswitchinterval(interval)
    alone = FilledBlanks()
    alone.update(known)
    assert 0 < known.size <= 20_000
    assert known._answers == alone._answers
    for key in list(known):
        del known[key]
    assert known._answers == 0


def test_a_classifier_sees_that_the_folder_of_its_masked_language_model_was_written_again(folder: Path) -> None:
    clf = tiny.classifier("bert")
    first = filler_of(clf, str(folder))
    assert filler_of(clf, str(folder)) is first
    masked.network(seed=5).save_pretrained(folder)
    assert filler_of(clf, str(folder)).masked.contents != first.masked.contents


def test_a_model_that_cannot_fill_a_blank_is_refused_in_one_sentence(folder: Path) -> None:
    tokenizer = tiny.tokenizer("bert")
    more = PreTrainedTokenizerFast.from_pretrained(folder)
    more.add_tokens(["gripping-ly", "moving-ly"])
    more.save_pretrained(folder)
    with pytest.raises(ModelError, match=rf"has {len(tokenizer) + 2} tokens, and its model writes {len(tokenizer)}"):
        read_masked(str(folder))
    tokenizer.save_pretrained(folder)
    network = masked.network()
    with torch.no_grad():
        network.cls.predictions.transform.dense.bias[:] = torch.nan
    network.save_pretrained(folder)
    with pytest.raises(ModelError, match="answers with what is no finite number"):
        read_masked(str(folder))
