"""What every method promises, new plug-ins included: the checks of `whylight.testing`, on two architectures in full."""

import pytest
from checked import FULLY, ONCE, marks, run, titles

CASES = [
    pytest.param(method, architecture, title, marks=marks(method, architecture, title))
    for architecture in FULLY
    for method, own in titles().items()
    for title in own
    if title not in ONCE or architecture == "bert"
]


@pytest.mark.parametrize(("method", "architecture", "title"), CASES)
def test_it_keeps_its_promise(method: str, architecture: str, title: str) -> None:
    run(method, architecture, title)
