"""Discharge notes: a reader of its own, which knows phrases and the rule, finds the labels and the evidence."""

import os
import re
import subprocess
import sys
import tomllib
import zlib
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.feature_extraction.text import TfidfVectorizer

import whylight.data
from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.text import Span
from whylight.data.dataset import Dataset, Record
from whylight.data.load import dataset

SPLITS = ("train", "dev", "test")
RAW = tomllib.loads((Path(whylight.data.__file__).parent / "discharge.toml").read_text(encoding="utf-8"))
WORDINGS = ("conditions", "findings", "treatments")
CLAUSE_END = re.compile(r"[.;:](?=\s|$)|, but ")
AFFIRMS_ALL_THE_SAME = re.compile(r"no change in|has not improved")
TAKES_BACK = re.compile(
    r"\b(?:no|not|never|denies|negative for|ruled out|declined|allergic to|mother|father|sister|brother|aunt|"
    r"grandfather|if|should|resolved in)\b",
    re.IGNORECASE,
)
Found = dict[str, set[Span]]


@cache
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """One pattern a wording; its groups are the evidence, its slots any of their fillings."""
    found = []
    for code in RAW["codes"]:
        for wording in (text for kind in WORDINGS for text in code.get(kind, ())):
            marked = wording if "[" in wording else f"[{wording}]"
            pattern = re.escape(marked).replace(r"\[", "(").replace(r"\]", ")")
            pattern = re.sub(r"\\{(\w+)\\}", lambda slot: _filling(slot[1]), pattern)
            found.append((code["code"], re.compile(rf"(?<![\w-]){pattern}(?![\w-])", re.IGNORECASE)))
    return found


def _filling(slot: str) -> str:
    options = "|".join(re.escape(option) for option in RAW["slots"][slot])
    return re.sub(r"\\{(\w+)\\}", lambda inner: _filling(inner[1]), f"(?:{options})")


@cache
def _mentions(text: str) -> list[tuple[str, re.Match[str]]]:
    """Find the phrases; of two that overlap, the longer one is meant."""
    matches = [(code, match) for code, pattern in _patterns() for match in pattern.finditer(text)]
    kept: list[tuple[str, re.Match[str]]] = []
    for code, match in sorted(matches, key=lambda found: found[1].start() - found[1].end()):
        if all(match.end() <= other.start() or other.end() <= match.start() for _, other in kept):
            kept.append((code, match))
    return kept


def _clause(text: str, match: re.Match[str]) -> tuple[int, int]:
    ends = [0, *(end.end() for end in CLAUSE_END.finditer(text)), len(text)]
    return max(e for e in ends if e <= match.start()), min(e for e in ends if e >= match.end())


def _cues(text: str, match: re.Match[str]) -> list[int]:
    """Say how many words each cue of the clause is away from the phrase."""
    start, end = _clause(text, match)
    before, after = text[start : match.start()], text[match.end() : end]
    if AFFIRMS_ALL_THE_SAME.search(before.lower()) or AFFIRMS_ALL_THE_SAME.search(after.lower()):
        return []
    distances = [len(before[cue.end() :].split()) for cue in TAKES_BACK.finditer(before)]
    return distances + [len(after[: cue.start()].split()) for cue in TAKES_BACK.finditer(after)]


def _read(text: str) -> tuple[Found, Found]:
    """Return the evidence that counts, and that which does not."""
    counts: Found = {}
    other: Found = {}
    for code, match in _mentions(text):
        into = other if _cues(text, match) else counts
        pieces = [Span(0, *match.span(group + 1)) for group in range(len(match.groups()))]
        into.setdefault(code, set()).update(pieces)
    return counts, other


@cache
def _notes(split: str = "test", **settings: object) -> Dataset:
    return dataset("discharge", split=split, **settings)


def _some(**settings: object) -> Dataset:
    return _notes(size=100, **settings)


def _gold(record: Record) -> Found:
    return {label: set(rationale.places) for label, rationale in record.rationales.items()}


def test_the_rule_alone_gives_every_label_and_every_span() -> None:
    for record in (*_some(), *_notes(size=3, length=2000)):
        assert _read(record.example.text)[0] == _gold(record)
        assert record.labels == tuple(sorted(record.rationales))


def test_what_does_not_count_is_never_gold_and_about_as_frequent_as_what_does() -> None:
    affirmed = taken_back = both = 0
    for record in _some():
        counts, other = _read(record.example.text)
        gold = set().union(*_gold(record).values())
        assert not gold & set().union(*other.values())
        affirmed += sum(map(len, counts.values()))
        taken_back += sum(map(len, other.values()))
        both += len(counts.keys() & other.keys())
    assert 0.75 < taken_back / affirmed < 1.33
    assert both > len(_some())


def test_a_cue_is_near_its_phrase() -> None:
    for record in _some():
        for _, match in _mentions(record.example.text):
            assert min(_cues(record.example.text, match), default=0) <= 6


def test_every_code_has_six_wordings_or_more_and_no_two_codes_share_one() -> None:
    assert len(RAW["codes"]) == len(_some().label_names) == 50
    owners: dict[str, str] = {}
    for code in RAW["codes"]:
        wordings = [text for kind in WORDINGS for text in code.get(kind, ())]
        assert len(set(wordings)) >= 6
        assert len(wordings) > len(code["conditions"])
        for wording in wordings:
            assert owners.setdefault(wording.lower(), code["code"]) == code["code"]


def test_modifiers_are_evidence_and_the_words_between_are_not() -> None:
    seen = set()
    for record in _notes("dev"):
        for label in {"E10.9", "E11.9"} & set(record.labels):
            pieces = [record.example.show(span) for span in record.rationales[label].places]
            if "diabetes" in pieces:
                assert ("type 1" if label == "E10.9" else "type 2") in pieces
                assert not any("since" in piece for piece in pieces)
                seen.add(label)
    assert seen == {"E10.9", "E11.9"}


def test_clauses_as_evidence_hold_the_phrases_and_end_where_clauses_do() -> None:
    for phrase, clause in zip(_some(), _some(evidence="clause"), strict=True):
        assert (phrase.example, phrase.labels) == (clause.example, clause.labels)
        for label in phrase.labels:
            whole = clause.rationales[label].places
            for span in phrase.rationales[label].places:
                assert any(outer.start <= span.start and span.end <= outer.end for outer in whole)
            for outer in whole:
                assert not CLAUSE_END.search(phrase.example.show(outer))
                assert CLAUSE_END.match(phrase.example.text, outer.end)


def test_labels_are_three_to_eight_and_balanced() -> None:
    data = _notes("test")
    assert data.multi_label
    assert {len(record.labels) for record in data} == set(range(3, 9))
    frequency = Counter(label for record in data for label in record.labels)
    assert set(frequency) == set(data.label_names)
    assert max(frequency.values()) < 3 * min(frequency.values())


def test_same_settings_same_notes_and_no_note_in_two_splits() -> None:
    splits = {split: dataset("discharge:", split=split, size=60) for split in SPLITS}
    assert splits["test"] == dataset("discharge", size=60)
    assert splits["test"].records[:20] == dataset("discharge", size=20).records
    assert splits["test"].records != dataset("discharge", size=60, seed=1).records
    texts = [record.example.text for data in splits.values() for record in data]
    assert len(set(texts)) == 180
    for number, split in enumerate(SPLITS):
        for record in (*splits[split], *dataset("discharge", split=split, size=5, seed=number + 7)):
            assert zlib.crc32(record.example.text.encode()) % 3 == number


def test_the_bytes_are_the_same_in_another_process() -> None:
    program = "from whylight.data.load import dataset; print(*(repr(r) for r in dataset('discharge', size=20)), sep='')"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}  # the order of sets must not matter
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, env=environment, capture_output=True, check=True)  # noqa: S603  our own program
    assert printed.stdout.decode().strip() == "".join(repr(record) for record in _some().records[:20])


def test_sizes_and_lengths_are_as_asked() -> None:
    assert [len(_notes(split)) for split in SPLITS[1:]] == [300, 500]
    for length in (165, 2000):
        words = [len(record.example.text.split()) for record in _notes(size=30, length=length)]
        assert min(words) >= length
        assert np.median(words) < length + 25


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "'size' must be at least 1"),
        ({"length": 50}, "'length' must be at least 100"),
        ({"evidence": "word"}, "phrase, clause"),
        ({"seed": -1}, "seed"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        dataset("discharge", **settings)


def test_phrases_without_their_context_do_not_give_the_labels() -> None:
    names = _some().label_names
    mentioned = [{code for code, _ in _mentions(record.example.text)} for record in _some()]
    said = np.asarray([[name in codes for name in names] for codes in mentioned])
    assert _micro_f1(_truth(_some()), said) <= 0.85


def test_a_bag_of_words_does_not_give_the_labels() -> None:
    train, dev, test = _notes("train", size=600), _notes("dev", size=150), _notes("test", size=200)
    vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    known = vectors.fit_transform([record.example.text for record in train])
    models = [linear_model.LogisticRegression(C=10, solver="liblinear").fit(known, truth) for truth in _truth(train).T]

    def said(data: Dataset) -> Floats:
        features = vectors.transform([record.example.text for record in data])
        return np.stack([model.predict_proba(features)[:, 1] for model in models], axis=1)

    tuned = said(dev)
    threshold = max(np.linspace(0.05, 0.95, 19), key=lambda cut: _micro_f1(_truth(dev), tuned > cut))
    assert 0.4 < _micro_f1(_truth(test), said(test) > threshold) <= 0.85


def _truth(data: Dataset) -> Bools:
    return np.asarray([[name in record.labels for name in data.label_names] for record in data])


def _micro_f1(truth: Bools, said: Bools) -> float:
    return float(2 * (truth & said).sum() / (truth.sum() + said.sum()))
