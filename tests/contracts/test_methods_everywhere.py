"""What a method promises on every architecture that it works with, by the checks of `whylight.testing`."""

import pytest
from checked import EVERYWHERE, FULLY, OF_TOKENIZERS, OF_VIEWS, marks, run, says_something, titles

import quick
import tiny

CASES = [
    pytest.param(method, architecture, title, marks=marks(method, architecture, title))
    for architecture in tiny.EVERY
    for method, own in titles().items()
    for title in own
    if architecture not in FULLY and quick.works(method, architecture) and says_something(method, architecture, title)
]


@pytest.mark.parametrize(("method", "architecture", "title"), CASES)
def test_it_keeps_its_promise(method: str, architecture: str, title: str) -> None:
    run(method, architecture, title)


def test_the_checks_that_are_chosen_exist() -> None:
    assert {title for own in titles().values() for title in own} >= EVERYWHERE | OF_VIEWS | OF_TOKENIZERS
    assert {case.values[2] for case in CASES} == EVERYWHERE | OF_VIEWS | OF_TOKENIZERS
