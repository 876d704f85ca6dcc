"""Shared by the tests of training."""

from pathlib import Path

import pytest

import tiny


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder to start from."""
    folder = tmp_path_factory.mktemp("start")
    tiny.model("bert", hidden_dropout_prob=0.1).save_pretrained(folder)
    tiny.tokenizer("bert").save_pretrained(folder)
    return folder
