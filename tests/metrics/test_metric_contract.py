"""What every metric promises, new plug-ins included, and what those of this package say of themselves."""

import inspect
from typing import Any

import pytest

from whylight.core.marked import is_corpus_metric
from whylight.core.registry import METRICS
from whylight.testing import metric_checks

FLAGS = [
    (name, {flag: True})
    for name in METRICS.names()
    if is_corpus_metric(METRICS[name])
    for flag, own in METRICS[name].settings.items()
    if own.type is bool
]
NOT_PROMISED = {
    # what is learnt from the evaluated texts themselves is learnt once, and not anew for each draw
    ("leave_one_out", "a_draw_is_the_corpus_that_it_holds"),
    # which leaves out features that tie with the last one: marks, taken as scores, all tie
    ("strict", "what_people_marked_is_better_than_chance"),
}
CHECKS = [
    (name, settings, title)
    for name, settings in (*((name, {}) for name in METRICS.names()), *FLAGS)
    for title, _ in metric_checks(name, settings=settings)
    if (*settings, title) not in NOT_PROMISED
]


@pytest.mark.parametrize(("name", "settings", "title"), CHECKS)
def test_it_keeps_its_promise(name: str, settings: dict[str, Any], title: str) -> None:
    dict(metric_checks(name, settings=settings))[title]()


@pytest.mark.parametrize("name", METRICS.names())
def test_it_says_what_it_is_whose_it_is_and_what_it_costs(name: str) -> None:
    spec = METRICS[name]
    about = inspect.getdoc(spec.function) or ""
    assert "Reference:" in about
    assert "Cost:" in about
    assert ("igher is" in about, "ower is" in about) == (
        spec.facts["higher_is_better"],
        not spec.facts["higher_is_better"],
    )
