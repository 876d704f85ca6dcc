"""What docs/explanation/costs.md and the head of each file say about the cost of a method is what its receipt says."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import quick
import tiny
from whylight.core.registry import METHODS
from whylight.explaining.explain import explain

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "costs.md"
TEXT = " ".join(word for word in tiny.WORDS if word.isalpha())[:120].rsplit(" ", 1)[0]
SEVERAL = 0.8
"""Of what is drawn at random, at least this share is distinct on a text of this length."""


@dataclass(frozen=True)
class Size:
    """How large a question is: features, tokens, labels."""

    n: int
    tokens: int
    labels: int


@dataclass(frozen=True)
class Cost:
    """What is written on the page and in the module, and the numbers that stand for it."""

    page: str
    module: str
    forward: Callable[[Size], int]
    backward: Callable[[Size], int] = lambda _: 0
    drawn: bool = False
    at_most: bool = False


def each(number: int) -> Callable[[Size], int]:
    return lambda size: number * size.labels


ONE = ("1 forward, 1 backward", "one forward pass, one backward pass per target", lambda _: 1, each(1))
TWO = "two forward passes (three with label attention), and "
COSTS = {
    "random": Cost("0", "nothing", lambda _: 0),
    "occlusion": Cost("n + 1 forward", "one forward pass per feature, and one", lambda size: size.n + 1),
    "hierarchical_occlusion": Cost(
        "n + 1 forward, far fewer of several paragraphs", "one forward pass per stretch that is left out, and one",
        lambda size: size.n + 1,
    ),
    "lime": Cost("≤ 501 forward", "`samples` + 1 forward passes", lambda _: 501, drawn=True),
    "kernel_shap": Cost(
        "≤ 502 forward, or 4 n + 2 where that is more", "`samples` + 2 forward passes", lambda _: 502, drawn=True
    ),
    "shapley_sampling": Cost(
        "≤ 25 (n - 1) + 2 forward", "`permutations` x (n - 1) + 2 forward passes",
        lambda size: 25 * (size.n - 1) + 2, drawn=True,
    ),
    "solvex": Cost(
        "≤ 50 n (n + 1) forward, and ≤ 100,000", "at most `beam` x n (n + 1) forward passes",
        lambda size: 50 * size.n * (size.n + 1), at_most=True,
    ),
    "saliency": Cost(*ONE),
    "input_x_gradient": Cost(*ONE),
    "integrated_gradients": Cost(
        "52 forward, 50 backward", "`steps` + 2 forward passes, `steps` backward passes per target",
        lambda _: 52, each(50),
    ),
    "sequential_integrated_gradients": Cost(
        "1 forward per token, and 1", "one forward pass per token and one", lambda size: size.tokens + 1
    ),
    "gradient_shap": Cost(
        "52 forward, 50 backward", "`samples` + 2 forward passes, `samples` backward passes per target",
        lambda _: 52, each(50),
    ),
    "deeplift": Cost("4 forward, 2 backward", "4 forward passes, 2 backward passes per target", lambda _: 4, each(2)),
    "marc": Cost(
        "≤ 1,801 forward, 1,800 backward", "2 forward and 2 backward passes per target and step",
        lambda size: 24 * size.labels + 1, each(24),
    ),
    "attention": Cost("1 forward", "one forward pass", lambda _: 1),
    "attention_rollout": Cost("1 forward", "one forward pass", lambda _: 1),
    "attgrad": Cost(*ONE),
    "attingrad": Cost(
        "2 forward, 1 backward", "two forward passes, one backward pass per target", lambda _: 2, each(1)
    ),
    "alti": Cost("2 forward, n^2 products per layer", f"{TWO}N^2 D heads per layer", lambda _: 2),
    "globenc": Cost("2 forward, n^2 products per layer", f"{TWO}N^2 D heads per layer", lambda _: 2),
    "decompx": Cost("2 forward, n times the products of one", f"{TWO}N times the products", lambda _: 2),
    "decompx_linear": Cost(*ONE),
    "aml": Cost(
        "1 forward, and 1 of a fitted network", "one forward pass of the model, and one of the network per target",
        lambda size: 1 + size.labels,
    ),
}  # fmt: skip
FEWER = {"marc": {"steps": 12}, "solvex": {"beam": 5}}
"""Settings by which the receipt is checked on fewer steps than are written; the rule is the same."""
LABEL_ATTENTION = {"attention_rollout": 2, "alti": 3, "globenc": 3, "decompx": 3}
"""Forward passes where the module names another number for label attention."""


def table() -> dict[str, str]:
    """Return the column of costs on the page, by method."""
    rows = (line.split("|")[1:-1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `"))
    return {row[0].strip(" `"): row[3].strip() for row in rows if len(row) == 5}


def test_every_line_of_the_page_is_of_a_method() -> None:
    assert set(table()) == set(COSTS) <= set(METHODS.names())


@pytest.mark.parametrize("name", sorted(COSTS))
def test_the_receipt_says_what_is_written(name: str) -> None:
    cost, head = COSTS[name], re.sub(r"\s+", " ", str(import_module(f"whylight.methods.{name}").__doc__))
    assert table()[name] == cost.page == METHODS[name].facts["cost"]
    assert f"Cost: {cost.module}" in head
    clf = quick.classifier("bert", num_labels=3, head="sigmoid")
    for labels in ([0], [0, 2]):
        own = {**FEWER.get(name, {}), **quick.given(name, clf)}
        found: Any = explain(clf, TEXT, method=name, target=labels, **own)
        size = Size(len(found.spans), len(clf.tokenizer(TEXT, add_special_tokens=False)["input_ids"]), len(labels))
        assert size.n > 15
        forward, backward = cost.forward(size), cost.backward(size)
        assert found.provenance.backward_passes == backward
        if cost.at_most:
            assert size.n < found.provenance.forward_passes <= forward
        elif cost.drawn:
            assert SEVERAL * forward <= found.provenance.forward_passes <= forward
        else:
            assert found.provenance.forward_passes == forward


@pytest.mark.parametrize("name", sorted(LABEL_ATTENTION))
def test_label_attention_costs_what_is_written(name: str) -> None:
    found: Any = explain(quick.classifier("plm_ca"), "a good film", method=name)
    assert found.provenance.forward_passes == LABEL_ATTENTION[name]
