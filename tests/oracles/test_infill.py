"""Infill: a masked language model that is known gives attributions that are known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import masked
import quick
import tiny
from whylight.core import segment
from whylight.core.errors import IncompatibleError
from whylight.core.text import Text
from whylight.explaining import removing
from whylight.explaining.explain import explain
from whylight.models.infill import MaskedFiller, filler_of
from whylight.models.load import load
from whylight.testing import check_remover
from whylight.views.tokens import TokenBatch

TEXT = "the film was good but the ending drags"
WORDS = TEXT.split()


def log_odds(clf: Any, *texts: str, weights: Any = None) -> Any:
    """What Hugging Face alone says to texts: the log-odds of each label, or those of their weighted probability."""
    logits = np.stack([quick.plain_logits(clf, text) for text in texts])
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    mean = shares if weights is None else np.asarray(weights) @ shares
    return np.log(mean / (1 - mean))


def with_filler(monkeypatch: pytest.MonkeyPatch, own: MaskedFiller) -> None:
    monkeypatch.setattr(removing, "filler_of", lambda _classifier, _model: own)


def run(clf: Any, text: Any, method: str = "occlusion", **options: Any) -> Any:
    return explain(clf, text, method=method, remover="infill", target="all", **{"infill.model": "m", **options})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return masked.saved(tmp_path / "mlm")


def says_original(row: Any, place: int) -> dict[str, float]:
    del row
    return {WORDS[place - 1]: 0.4}  # behind [CLS]


@pytest.mark.parametrize("mode", ["auto", "marginal", "top1", "sample"])
@pytest.mark.parametrize("method", ["occlusion", "lime"])
def test_where_the_original_word_is_all_that_comes_to_mind_nothing_has_a_score(
    mode: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = quick.classifier("bert", num_labels=3)
    with_filler(monkeypatch, masked.Told(clf, says_original))
    settings = {"infill.mode": mode, "infill.top": 1, **({"samples": 30} if method == "lime" else {})}
    found = run(clf, TEXT, method, **settings)
    if method == "occlusion":
        assert not found.scores.any()
    np.testing.assert_allclose(found.scores, 0, atol=1e-15)  # a regression on equal values
    assert found.provenance.score == "log_odds"
    assert found.provenance.remover_settings["mode"] == mode
    assert any("averaged before they are scored" in note for note in found.provenance.notes)
    assert any("clipped" in note for note in found.provenance.notes)


def test_a_fixed_word_is_occlusion_with_that_word(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = quick.classifier("bert", num_labels=3)
    with_filler(monkeypatch, masked.Told(clf, lambda _row, _place: {"awful": 1.0}))
    found = run(clf, TEXT, **{"infill.top": 1})
    others = [" ".join([*WORDS[:i], "awful", *WORDS[i + 1 :]]) for i in range(len(WORDS))]
    expected = log_odds(clf, TEXT) - log_odds(clf, *others)
    np.testing.assert_allclose(found.scores, expected.T, atol=1e-5 * np.abs(expected).max())


def likeliest(clf: Any, text: str, place: int, count: int) -> tuple[list[str], Any]:
    """The words that Hugging Face alone thinks likeliest for the n-th word, with their probabilities."""
    own = tiny.tokenizer("bert")
    words = text.split()
    row = own(" ".join([*words[:place], "[MASK]", *words[place + 1 :]]), return_tensors="pt")
    at = int((row["input_ids"][0] == own.mask_token_id).nonzero()[0])
    with torch.no_grad():
        logits = masked.network()(**row).logits[0, at].double()
    names = own.convert_ids_to_tokens(list(range(len(own))))
    whole = [i for i, name in enumerate(names) if not name.startswith(("##", "["))]
    order = sorted(whole, key=lambda i: -float(logits[i]))[:count]
    shares = torch.softmax(logits[order], dim=-1).numpy()
    assert clf is not None
    return [names[i] for i in order], shares


@pytest.mark.parametrize("top", [3, 10])
def test_input_marginalisation_is_the_average_probability_of_the_likeliest_words(
    top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = quick.classifier("bert", num_labels=3)
    with_filler(monkeypatch, masked.filler(clf))
    found = run(clf, TEXT, **{"infill.top": top})
    for place in range(len(WORDS)):
        words, shares = likeliest(clf, TEXT, place, top)
        texts = [" ".join([*WORDS[:place], word, *WORDS[place + 1 :]]) for word in words]
        expected = log_odds(clf, TEXT)[0] - log_odds(clf, *texts, weights=shares)
        np.testing.assert_allclose(found.scores[:, place], expected, atol=1e-4)


def rows_of(own: MaskedFiller, clf: Any, text: str, keep: Any, **settings: Any) -> tuple[list[str], Any]:
    """The texts that a filler makes of coalitions, and their weights."""
    removal = removing.bound("infill", {"model": "m", **settings})
    encoded = clf.encode(Text(text), unit="word", long="window")
    found = removing.replace(removal, needs=(own,))(encoded.windows[0], np.asarray(keep, dtype=bool))
    batch = found.batch
    assert isinstance(batch, TokenBatch)
    ids = [row[:length] for row, length in zip(batch.ids, batch.lengths, strict=True)]
    return [clf.tokenizer.decode(row, skip_special_tokens=True) for row in ids], found.weights


def test_from_left_to_right_each_word_is_chosen_in_sight_of_those_before() -> None:
    clf, keep = quick.classifier("bert"), np.ones((1, len(WORDS)), dtype=bool)
    keep[0, [1, 3, 7]] = False
    own = masked.filler(clf)
    words = WORDS.copy()
    for place in (1, 3, 7):
        words[place] = "[MASK]"
    at_once = words.copy()
    tok = tiny.tokenizer("bert")
    names = tok.convert_ids_to_tokens(list(range(len(tok))))
    barred = [i for i, name in enumerate(names) if name.startswith(("##", "["))]

    def best(some: list[str], place: int) -> str:
        row = tok(" ".join(some), return_tensors="pt")
        with torch.no_grad():
            logits = masked.network()(**row).logits[0, place + 1]
        logits[barred] = -torch.inf
        return str(names[int(logits.argmax())])

    filled = [best(at_once, place) for place in (1, 3, 7)]
    expected = WORDS.copy()
    for place, word in zip((1, 3, 7), filled, strict=True):
        expected[place] = word
    assert rows_of(own, clf, TEXT, keep)[0] == [" ".join(expected)]
    for place in (1, 3, 7):
        words[place] = best(words, place)
    assert rows_of(own, clf, TEXT, keep, order="left_to_right")[0] == [" ".join(words)]


def test_the_original_word_is_left_out_where_that_is_asked() -> None:
    clf, keep = quick.classifier("bert"), ~np.eye(len(WORDS), dtype=bool)
    said = {"good": 0.5, "bad": 0.3, "great": 0.2}
    own = masked.Told(clf, lambda _row, _place: said)
    texts, weights = rows_of(own, clf, TEXT, keep, mode="top1_excluding_original", top=2)
    assert weights is None
    assert texts[3].split()[3] == "bad"
    assert {text.split()[i] for i, text in enumerate(texts) if i != 3} == {"good"}


def test_draws_follow_the_probabilities_and_are_the_same_each_time() -> None:
    clf = quick.classifier("bert")
    said = {"good": 0.6, "bad": 0.3, "great": 0.1}
    own = masked.Told(clf, lambda _row, _place: said)
    keep = np.ones((1, len(WORDS)), dtype=bool)
    keep[0, [2, 3]] = False
    drawn = [rows_of(own, clf, TEXT, keep, mode="sample", top=3, seed=seed)[0][0].split()[3] for seed in range(400)]
    for word, share in said.items():
        assert abs(drawn.count(word) / 400 - share) < 0.08
    both = [rows_of(own, clf, TEXT, keep, mode="marginal", top=3, seed=7) for _ in range(2)]
    assert both[0][0] == both[1][0]
    assert both[0][1].tolist() == [[1 / 3] * 3]
    texts, weights = rows_of(own, clf, TEXT, ~np.eye(len(WORDS), dtype=bool), threshold=0.2, top=3)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert not any("great" in text for text in texts[:3])


def test_what_is_remembered_is_what_was_answered_in_pieces_of_few_bytes() -> None:
    clf = quick.classifier("bert")
    own = masked.filler(clf)
    keep = np.random.default_rng(0).random((20, len(WORDS))) < 0.5
    first = rows_of(own, clf, TEXT, keep, mode="marginal")
    known = dict(own.masked.known)
    assert known
    assert all(len(piece) <= 512 for pieces in known.values() for piece in pieces)  # Python's own room
    again = rows_of(own, clf, TEXT, keep, mode="marginal")
    assert again[0] == first[0]
    np.testing.assert_array_equal(again[1], first[1])
    assert dict(own.masked.known) == known


@pytest.mark.parametrize("architecture", ["bert", "roberta", "modernbert", "llama"])
def test_it_keeps_every_promise_of_a_remover_for_any_tokenizer(architecture: str, folder: Path) -> None:
    clf = quick.classifier(architecture)
    for text in (TEXT, ("the plot is good", "this film was not dull"), " ".join(WORDS * 12)):
        found = run(clf, text, **{"infill.model": str(folder), "infill.top": 3})
        assert np.isfinite(found.scores).all()
        assert found.scores.any()
        assert found.provenance.score == "log_odds"


@pytest.mark.parametrize("architecture", [one for one in tiny.ARCHITECTURES if one != "llama"])
def test_a_head_that_sees_the_blanks_alone_says_what_it_says_of_all_tokens(architecture: str) -> None:
    own, tok = masked.model(architecture), tiny.tokenizer(tiny.style_of(architecture))
    texts = ["the film was good", "a dull ending , it drags"]
    given = tok(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = own.model(**given).logits
    types = given.get("token_type_ids", torch.zeros_like(given["input_ids"]))
    rows = TokenBatch(given["input_ids"].numpy(), types.numpy(), given["attention_mask"].sum(1).numpy())
    blanks = [np.asarray([2]), np.asarray([5, 1])]
    for number, found in enumerate(own.run(rows, blanks)):
        np.testing.assert_allclose(found, expected[number, blanks[number]], atol=1e-4)


def test_the_checks_of_the_package_pass(folder: Path) -> None:
    for settings in ({}, {"mode": "top1", "order": "left_to_right"}, {"mode": "sample", "top": 4, "seed": 3}):
        check_remover("infill", settings={"model": str(folder), **settings})


@pytest.mark.parametrize("method", ["saliency", "attention"])
def test_a_method_that_removes_nothing_says_so_and_explains_what_it_always_does(method: str, folder: Path) -> None:
    clf = quick.classifier("bert")
    plain = explain(clf, TEXT, method=method)
    asked = explain(clf, TEXT, method=method, remover="infill", **{"infill.model": str(folder)})
    assert (asked.provenance.score, asked.provenance.remover) == (plain.provenance.score, None)
    np.testing.assert_array_equal(asked.scores, plain.scores)
    (note,) = set(asked.provenance.notes) - set(plain.provenance.notes)
    assert note == f"'{method}' removes no features: it does not use the remover 'infill'"
    assert not any("does not use" in one for one in run(clf, TEXT, **{"infill.model": str(folder)}).provenance.notes)


def test_a_function_from_texts_has_it_too(folder: Path) -> None:
    seen: list[str] = []

    def good(texts: list[str]) -> list[list[float]]:
        seen.extend(texts)
        return [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts]

    clf = load(good, labels=["yes", "no"])
    found = run(clf, "A good  film!", **{"infill.model": str(folder)})
    assert found.scores.shape == (2, len(found.places))
    assert all(text.startswith("A ") or text.endswith("  film!") for text in seen)  # what is kept stays as it is
    assert found.scores[0, 1] > 0


def test_chunked_models_take_one_filling_and_refuse_several(folder: Path) -> None:
    clf = quick.classifier("plm_ca")
    with pytest.raises(IncompatibleError, match="'infill' draws several texts, and this model reads chunks"):
        run(clf, TEXT, **{"infill.model": str(folder)})
    for length in range(1, 9):  # chunks end before, at and behind the last word
        found = run(clf, " ".join(WORDS[:length]), **{"infill.model": str(folder), "infill.mode": "top1"})
        assert found.scores.any()


def test_a_row_does_not_grow_beyond_what_the_model_reads(folder: Path) -> None:
    clf = tiny.classifier("bert", max_tokens=10)
    own = filler_of(clf, str(folder))
    own._spelled.update({(word, before): np.arange(30, 35) for word in own.masked.words for before in ("", " ")})
    removal = removing.replace(removing.bound("infill", {"model": "m"}), needs=(own,))
    window = clf.encode(Text(TEXT), unit="word", long="window").windows[0]
    assert len(window.ids) == 10
    keep = np.random.default_rng(0).random((6, 8)) < 0.5
    assert removal(window, keep).batch.lengths.max() <= 10


def byte_level() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    backend.train_from_iterator([TEXT, "(awful), film; good-bad 'drags'"] * 30, trainer)
    ends = [("<s>", 0), ("</s>", 1)]
    backend.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair=None, special_tokens=ends)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>", bos_token="<s>", pad_token="</s>")  # noqa: S106


@pytest.mark.parametrize("text", [TEXT, "(film), good!", "film", "a  film\tgood", "good-bad"])
def test_words_are_spelled_as_the_tokenizer_spells_them_in_the_text(text: str) -> None:
    tok = byte_level()
    own = MaskedFiller(masked.model(), tok, limit=None)
    for word in ("awful", "film", "drags"):
        for start, end in segment.words(text):
            written = text[:start] + word + text[end:]
            ids = own.spelled(word, text[max(0, start - 1) : start])
            assert tok.decode(ids).strip() == word
            whole = tok(written, add_special_tokens=False)["input_ids"]
            if not text[max(0, start - 1) : start].strip() and (end == len(text) or text[end].isspace()):
                assert any(whole[i : i + len(ids)] == ids.tolist() for i in range(len(whole)))
