"""Sentiment trees in Penn-Treebank brackets, and the two ways to read a rationale off them.

A node's label runs from 0 (very negative) over 2 (neutral) to 4 (very positive); its strength is |label - 2|.
"""

import re
from dataclasses import dataclass

from whylight.core.errors import InputError

NEUTRAL = 2
_PIECE = re.compile(r"\(([0-4])(?=[ (])|(\))|([^ ()]+)|(\()")
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


@dataclass(frozen=True, slots=True)
class Tree:
    """A node: the words from `start` to `end` (exclusive) and what people felt about them.

    Attributes:
        label: 0 to 4.
        start: Number of its first word in the sentence.
        end: One past its last word.
        children: Nodes below, none for a leaf.
        words: The words of a leaf (one), empty for an inner node.
    """

    label: int
    start: int
    end: int
    children: tuple["Tree", ...] = ()
    words: tuple[str, ...] = ()

    @property
    def strength(self) -> int:
        """How far the label is from neutral: 0, 1 or 2."""
        return abs(self.label - NEUTRAL)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The words of the sentence part."""
        return self.words or tuple(word for child in self.children for word in child.leaves)


@dataclass(slots=True)
class _Open:
    """A node whose closing bracket has not come yet."""

    label: int
    start: int
    children: list[Tree]
    words: list[str]

    def close(self) -> Tree:
        if len(self.words) + bool(self.children) != 1:
            raise InputError("has a node that is neither one word nor a bracket of nodes")
        end = self.children[-1].end if self.children else self.start + 1
        return Tree(self.label, self.start, end, tuple(self.children), tuple(self.words))


def parse(line: str) -> Tree:
    """Read one tree.

    Raises:
        InputError: What is wrong, to be put after "line 3 of ...".
    """
    # a virtual bracket around the line collects the one tree that it has to hold
    outside = _Open(NEUTRAL, 0, [], [])
    stack = [outside]
    count = 0
    for match in _PIECE.finditer(line):
        label, closing, word, stray = match.groups()
        if stray:
            raise InputError("has a bracket without a label from 0 to 4")
        if label:
            stack.append(_Open(int(label), count, [], []))
        elif word:
            stack[-1].words.append(_unescaped(word))
            count += 1
        elif closing and len(stack) > 1:
            tree = stack.pop().close()
            stack[-1].children.append(tree)
        else:
            raise InputError("closes a bracket that was never opened")
    if len(stack) > 1 or len(outside.children) != 1 or outside.words:
        raise InputError("is not one complete tree such as '(3 (2 a) (4 gem))'")
    return outside.children[0]


def carton(tree: Tree) -> list[Tree]:
    """Cut a sentence into its explanatory phrases (Carton et al. 2020).

    A node is explanatory if it is a leaf, or farther from neutral than every node below it. The walk goes down from
    the root and stops at the first explanatory node, so that the phrases partition the words.
    """
    return _partition(tree)[0]


def _partition(tree: Tree) -> tuple[list[Tree], int]:
    """Return the phrases of a node and the greatest strength in it; each node is visited once."""
    if not tree.children:
        return [tree], tree.strength
    parts = [_partition(child) for child in tree.children]
    below = max(strength for _, strength in parts)
    if tree.strength > below:
        return [tree], tree.strength
    return [phrase for phrases_below, _ in parts for phrase in phrases_below], below


def class_phrases(tree: Tree, *, positive: bool, longest: float) -> list[Tree]:
    """Return the largest nodes with a label of the class and at most `longest` words; nodes inside them add no word."""
    of_class = tree.label > NEUTRAL if positive else tree.label < NEUTRAL
    if of_class and tree.end - tree.start <= longest:
        return [tree]
    return [found for child in tree.children for found in class_phrases(child, positive=positive, longest=longest)]


def _unescaped(word: str) -> str:
    return _ESCAPES.get(word) or word.replace("\\", "")
