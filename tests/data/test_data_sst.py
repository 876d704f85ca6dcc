"""Sentiment trees: rationales on made-up trees worked out by hand, and against the rule as the facts state it."""

from pathlib import Path

import numpy as np
import pytest

from whylight.core.errors import InputError
from whylight.data import _trees
from whylight.data.dataset import Dataset
from whylight.data.load import dataset

# tree, label, carton, phrases. s is a label's distance from neutral: 2 for 0 and 4, 1 for 1 and 3, 0 for 2.
WORKED = [
    # carton: a leaf is explanatory. phrases: one word is more than half of one word.
    ("(4 gem)", "positive", ["gem"], []),
    # carton: root s 1 < gem s 2, so down to the leaves; "a" is neutral. phrases: gem is half of two words.
    ("(3 (2 a) (4 gem))", "positive", ["gem"], ["gem"]),
    # carton: root s 2 > 1, the whole sentence. phrases: the root is too long, gem is not.
    ("(4 (2 a) (3 gem))", "positive", ["a gem"], ["gem"]),
    # carton: root s 1 = gem s 1 is not strictly more.
    ("(3 (2 a) (3 gem))", "positive", ["gem"], ["gem"]),
    # carton: root s 1 > 0, the whole. phrases: no node but the root is positive.
    ("(3 (2 so) (2 it))", "positive", ["so it"], []),
    # carton: root s 1 < 2; "good" is a leaf and in, though it is positive; "but dull" s 2 > 1 is one phrase.
    # phrases: at most 1.5 words, so "but dull" is too long and "dull" (1) is taken.
    ("(1 (3 good) (0 (2 but) (1 dull)))", "negative", ["good", "but dull"], ["dull"]),
    # carton: root s 1 = 1 below; "it is" s 0 is not more than 0, its leaves are neutral; "not good" s 1 > 0.
    # phrases: "not good" is two of four words.
    ("(1 (2 (2 it) (2 is)) (1 (2 not) (2 good)))", "negative", ["not good"], ["not good"]),
    # carton: "superb film" s 2 = 2 below is not strictly more. phrases: at most 1.5 words.
    ("(3 (4 (4 superb) (2 film)) (2 .))", "positive", ["superb"], ["superb"]),
    # carton: root s 2 is more than all below, the whole. phrases: "bad film" has 2 > 1.5 words.
    ("(0 (1 (1 bad) (2 film)) (2 .))", "negative", ["bad film ."], ["bad"]),
    # carton: "no plot" s 1 > 0 although negative; "but fine cast" s 1 < 2; "fine cast" s 2 > 1.
    # phrases: at most 2.5 words; "no plot" is of the other class.
    (
        "(3 (1 (2 no) (2 plot)) (3 (2 but) (4 (3 fine) (2 cast))))",
        "positive",
        ["no plot", "fine cast"],
        ["fine cast"],
    ),
    # brackets and slashes are written as what they stand for
    (r"(3 (2 -LRB-) (3 (4 fun\/odd) (2 -RRB-)))", "positive", ["fun/odd"], ["fun/odd"]),
    # a leaf with a no-break space is one word: two words, of which one may be marked
    ("(1 (1 2\xa01\\/2) (2 hours))", "negative", ["2\xa01/2"], ["2\xa01/2"]),
    # carton: root s 2 = 2 below; "never" (0) s 2 is a leaf; "dull or slow" s 0 < 1, so its leaves: dull, slow s 1
    # phrases: at most 2 of 4 words; the right node is neutral, its leaves dull and slow are negative as "never" is
    (
        "(0 (0 never) (2 (1 dull) (2 (2 or) (1 slow))))",
        "negative",
        ["never", "dull", "slow"],
        ["never", "dull", "slow"],
    ),
]


def _write(folder: Path, *trees: str) -> Path:
    (folder / "test.txt").write_text("\n".join(trees) + "\n", encoding="utf-8")
    return folder


def _marked(data: Dataset) -> list[str]:
    record = data[0]
    assert set(record.rationales) <= set(record.labels)
    return [record.example.show(span) for found in record.rationales.values() for span in found.places]


@pytest.mark.parametrize(("tree", "label", "carton", "phrases"), WORKED)
def test_rationales_are_those_worked_out_by_hand(
    tree: str, label: str, carton: list[str], phrases: list[str], tmp_path: Path
) -> None:
    path = _write(tmp_path, tree)
    data = dataset(f"sst:{path}")
    assert data[0].labels == (label,)
    assert _marked(data) == carton
    assert _marked(dataset(f"sst:{path}", rationale="phrases")) == phrases


def test_words_are_leaves_in_their_own_case(tmp_path: Path) -> None:
    path = _write(tmp_path, "(3 (2 It) (4 (2 (2 -LRB-) (2 2\xa01)) (3 (2 -RRB-) (3 WORKS))))")
    data = dataset(f"sst:{path}")
    example = data[0].example
    assert example.text == "It ( 2\xa01 ) WORKS"
    assert example.words is not None
    assert [example.show(word) for word in example.words] == ["It", "(", "2\xa01", ")", "WORKS"]


def test_neutral_sentences_are_left_out_and_counted(tmp_path: Path) -> None:
    data = dataset(f"sst:{_write(tmp_path, '(2 (2 a) (4 gem))', '(3 gem)', '(2 film)', '(0 bore)')}")
    assert [record.id for record in data] == ["test-2", "test-4"]
    assert data.label_names == ("negative", "positive")
    assert "2 sentences with a neutral root are left out" in data.notes


@pytest.mark.parametrize(
    "line",
    [
        "(3 (2 a) (4 gem)",
        "(3 (2 a) (4 gem)))",
        "(3 a) (4 gem)",
        "(3 a gem)",
        "(3 (2 a) gem)",
        "(7 gem)",
        "(gem)",
        "()",
        "(3 )",
        "gem",
        "(3 (2 a) (x gem))",
        "((3 gem))",
    ],
)
def test_a_broken_tree_is_a_sentence_with_file_and_line(line: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2 of .*test\.txt' "):
        dataset(f"sst:{_write(tmp_path, '(3 gem)', line)}")


def _random_tree(random: np.random.Generator, size: int) -> str:
    label = random.integers(5)
    if size == 1:
        return f"({label} w)"
    left = int(random.integers(1, size))
    return f"({label} {_random_tree(random, left)} {_random_tree(random, size - left)})"


def _below(tree: _trees.Tree) -> list[int]:
    return [label for child in tree.children for label in (child.label, *_below(child))]


def _stated_rule(tree: _trees.Tree) -> list[float]:
    """|n| of the phrase that each word belongs to, step by step as Carton et al.'s heuristic is stated."""
    own = abs((tree.label - 2) / 2)
    below = _below(tree)
    explanatory = not below or (own > abs((max(below) - 2) / 2) and own > abs((min(below) - 2) / 2))
    if explanatory:
        return [own] * len(tree.leaves)
    return [value for child in tree.children for value in _stated_rule(child)]


def test_carton_is_the_stated_rule_on_random_trees_and_never_empty() -> None:
    random = np.random.default_rng(0)
    for _ in range(400):
        tree = _trees.parse(_random_tree(random, int(random.integers(1, 14))))
        phrases = _trees.carton(tree)
        assert [i for phrase in phrases for i in range(phrase.start, phrase.end)] == list(range(len(tree.leaves)))
        marks = [phrase.strength >= 1 for phrase in phrases for _ in phrase.leaves]
        assert marks == [value >= 0.5 for value in _stated_rule(tree)]
        assert any(marks) or tree.label == 2


def _nodes(tree: _trees.Tree) -> list[_trees.Tree]:
    return [tree, *(node for child in tree.children for node in _nodes(child))]


def test_phrases_are_the_union_of_all_short_nodes_of_the_class() -> None:
    random = np.random.default_rng(1)
    for _ in range(400):
        tree = _trees.parse(_random_tree(random, int(random.integers(1, 14))))
        for positive in (False, True):
            of_class = (3, 4) if positive else (0, 1)
            short = [n for n in _nodes(tree) if n.label in of_class and 2 * (n.end - n.start) <= tree.end]
            found = _trees.class_phrases(tree, positive=positive, longest=tree.end / 2)
            union = {i for n in short for i in range(n.start, n.end)}
            assert sorted(i for n in found for i in range(n.start, n.end)) == sorted(union)
