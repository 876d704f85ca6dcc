"""Plug-ins of these tests are registered for the time of a test."""

import pytest

from whylight.core.registry import METHODS, METRICS, OBJECTIVES, REMOVERS
from whylight.data.registry import CORPORA


@pytest.fixture(autouse=True)
def _plug_ins_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (METHODS, METRICS, OBJECTIVES, REMOVERS, CORPORA):
        registry.names()
        monkeypatch.setattr(registry, "_specs", dict(registry._specs))
