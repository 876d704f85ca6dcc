r"""Stanford Sentiment Treebank: film-review sentences with a label at every node of their parse tree.

Layout: a folder with `train.txt`, `dev.txt` and `test.txt`, one tree in brackets per line: `(3 (2 a) (4 gem))`.
Counts: 8544/1101/2210 trees; neutral roots are dropped, which leaves 6920/872/1821 for `negative` and `positive`.

Text: the leaves joined by one blank, in their own case; `-LRB-`, `-RRB-` and `\/` are written as `(`, `)` and `/`.
Every leaf is one word, also the three that hold a no-break space.

Rationale, always for the gold class:

- `carton` (paper 3): with n = (label - 2) / 2, a node is explanatory if it is a leaf or |n| is strictly greater than
  at every node below it. From the root down, the first explanatory nodes partition the sentence; those with |n| >=
  0.5 are the rationale, whatever their sign. If the root is the one extreme, the rationale is the whole sentence.
- `phrases` (paper 4): nodes labelled 3-4 (0-1 for the negative class) that cover at most half the words. The paper
  takes phrases scored >= .7 (<= .3) from the phrase dictionary and marks each of their occurrences; here the trees
  alone decide.

Reference: Socher et al. 2013; Carton et al. 2020 for the first rule, Pham et al. 2022 for the second.
"""

from pathlib import Path
from typing import Literal

from whylight.core.rationale import Rationale
from whylight.core.text import Text
from whylight.data import _reading, _tokens, _trees
from whylight.data._checks import Flaw
from whylight.data._reading import Reading
from whylight.data.dataset import Dataset, Record
from whylight.data.registry import corpus

LABELS = ("negative", "positive")
_NOTES = {
    "carton": "rationale: explanatory phrases of the tree, of either sign (Carton et al. 2020)",
    "phrases": "rationale: nodes of the gold class over at most half the words, from the trees' five classes alone",
}


@corpus(cite="socher2013", splits=("train", "dev", "test"))
def sst(path: Path, split: str, reading: Reading, *, rationale: Literal["carton", "phrases"] = "carton") -> Dataset:
    """Stanford Sentiment Treebank, two classes, with rationales from its trees."""
    file = _reading.find_file(path, f"{split}.txt")
    records: list[Record] = []
    neutral = 0
    for number, line in reading.lines(file):
        try:
            tree = _trees.parse(line)
        except Flaw as flaw:
            reading.drop(file, number, flaw)
            continue
        if tree.label == _trees.NEUTRAL:
            neutral += 1
        else:
            records.append(_record(tree, name=f"{split}-{number}", rule=rationale))
    notes = (_NOTES[rationale], f"{neutral} sentences with a neutral root are left out")
    return Dataset("sst", split, LABELS, tuple(records), notes=notes)


def _record(tree: _trees.Tree, *, name: str, rule: str) -> Record:
    text, words = _tokens.join_tokens(tree.leaves)
    positive = tree.label > _trees.NEUTRAL
    if rule == "carton":
        nodes = [phrase for phrase in _trees.carton(tree) if phrase.strength]
    else:
        nodes = _trees.class_phrases(tree, positive=positive, longest=len(words) / 2)
    label = LABELS[positive]
    spans = tuple(_tokens.cover(words, node.start, node.end) for node in nodes)
    return Record(name, Text(text, words=words), (label,), {label: Rationale(spans)} if spans else {})
