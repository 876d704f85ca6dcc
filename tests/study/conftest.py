"""Shared by the tests of studies."""

from pathlib import Path

import pytest

import planted_model
import tiny


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny pretrained encoder, without a head."""
    return planted_model.saved(tiny.model("bert", seed=4).bert, tmp_path_factory.mktemp("encoder"))
