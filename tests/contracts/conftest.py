"""Contracts hold for the methods that work with an architecture; `test_refused.py` says what the others do."""

import pytest

import quick
from whylight.core.registry import METHODS
from whylight.explaining.compatible import obstacle


@pytest.fixture(autouse=True)
def _only_what_works(request: pytest.FixtureRequest) -> None:
    chosen = getattr(getattr(request.node, "callspec", None), "params", {})
    if {"method", "architecture"} <= set(chosen):
        reason = obstacle(METHODS[chosen["method"]], quick.classifier(chosen["architecture"]))
        if reason is not None:
            pytest.skip(reason)
