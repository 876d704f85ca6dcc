"""Sentiment trees in Penn-Treebank brackets, and the two ways to read a rationale off them.

A node's label runs from 0 (very negative) over 2 (neutral) to 4 (very positive); its strength is |label - 2|.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from whylight.data._checks import Flaw

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
        return tuple(word for node in self.nodes() for word in node.words)

    def nodes(self) -> Iterator["Tree"]:
        """Yield the node and all below it, each before its children; trees may be deeper than calls can go."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))


@dataclass(slots=True)
class _Open:
    """A node whose closing bracket has not come yet."""

    label: int
    start: int
    children: list[Tree]
    words: list[str]

    def close(self) -> Tree:
        if len(self.words) + bool(self.children) != 1:
            raise Flaw("has a node that is neither one word nor a bracket of nodes")
        end = self.children[-1].end if self.children else self.start + 1
        return Tree(self.label, self.start, end, tuple(self.children), tuple(self.words))


def parse(line: str) -> Tree:
    """Read one tree.

    Raises:
        Flaw: What is wrong, to be put after "line 3 of ...".
    """
    # a virtual bracket around the line collects the one tree that it has to hold
    outside = _Open(NEUTRAL, 0, [], [])
    stack = [outside]
    count = 0
    for match in _PIECE.finditer(line):
        label, closing, word, stray = match.groups()
        if stray:
            raise Flaw("has a bracket without a label from 0 to 4")
        if label:
            stack.append(_Open(int(label), count, [], []))
        elif word:
            stack[-1].words.append(_unescaped(word))
            count += 1
        elif closing and len(stack) > 1:
            tree = stack.pop().close()
            stack[-1].children.append(tree)
        else:
            raise Flaw("closes a bracket that was never opened")
    if len(stack) > 1 or len(outside.children) != 1 or outside.words:
        raise Flaw("is not one complete tree such as '(3 (2 a) (4 gem))'")
    return outside.children[0]


def carton(tree: Tree) -> list[Tree]:
    """Cut a sentence into its explanatory phrases (Carton et al. 2020).

    A node is explanatory if it is a leaf, or farther from neutral than every node below it. The walk goes down from
    the root and stops at the first explanatory node, so that the phrases partition the words.
    """
    greatest: dict[int, int] = {}  # strength of a node and all below it; children come before their parents here
    for node in reversed(list(tree.nodes())):
        greatest[id(node)] = max(node.strength, *(greatest[id(child)] for child in node.children), 0)
    return _topmost(
        tree, lambda node: node.strength > max((greatest[id(child)] for child in node.children), default=-1)
    )


def _topmost(tree: Tree, chosen: Callable[[Tree], bool]) -> list[Tree]:
    """Return the first chosen nodes on the way down, in reading order; below them nothing is looked at."""
    found: list[Tree] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if chosen(node):
            found.append(node)
        else:
            stack.extend(reversed(node.children))
    return found


def class_phrases(tree: Tree, *, positive: bool, longest: float) -> list[Tree]:
    """Return the largest nodes with a label of the class and at most `longest` words; nodes inside them add no word."""
    sign = 1 if positive else -1
    return _topmost(tree, lambda node: sign * (node.label - NEUTRAL) > 0 and node.end - node.start <= longest)


def _unescaped(word: str) -> str:
    return _ESCAPES.get(word) or word.replace("\\", "")
