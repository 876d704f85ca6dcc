"""What every metric promises, new plug-ins included, and what those of this package say of themselves."""

import sys

import pytest

from whylight.core.registry import METRICS
from whylight.testing import metric_checks

CHECKS = [(name, title) for name in METRICS.names() for title, _ in metric_checks(name)]


@pytest.mark.parametrize(("name", "title"), CHECKS)
def test_it_keeps_its_promise(name: str, title: str) -> None:
    dict(metric_checks(name))[title]()


@pytest.mark.parametrize("name", METRICS.names())
def test_it_says_what_it_is_whose_it_is_and_what_it_costs(name: str) -> None:
    spec = METRICS[name]
    module = sys.modules[spec.function.__module__].__doc__ or ""
    assert "Reference:" in module
    assert "Cost:" in module
    assert ("igher is" in module) == spec.facts["higher_is_better"]
