"""Killed corpus runs, in a short form; the whole is a part of the campaign."""

import corpora
import pytest


@pytest.mark.slow
def test_a_killed_corpus_run_ends_with_the_bytes_of_an_undisturbed_one() -> None:
    found = corpora.campaign(0.2, seed=3)
    assert found.violations == []
    assert found.tried["kills"] == 4
    assert found.tried[corpora.WORKER] + found.tried[corpora.DRIVER] >= 1
