"""Long names on narrow pages: they may be broken at their joints, and nowhere else, and stay whole when copied."""

import re

import pytest

from whylight.report.templating import macro


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("saliency", ["saliency"]),
        ("input_x_gradient[pooling=l2]", ["input_", "x_", "gradient", "[pooling=", "l2]"]),
        ("alti@3", ["alti@", "3"]),
        ("marc[noise=0,flips=0]", ["marc", "[noise=", "0,", "flips=", "0]"]),
        ("_", ["_"]),
        ("", [""]),
    ],
)
def test_a_name_is_broken_at_its_joints_alone(name: str, lines: list[str]) -> None:
    drawn = str(macro("macros.html", "breakable", name))
    assert drawn.split("<wbr>") == lines
    assert re.sub("<wbr>", "", drawn) == name


def test_a_name_is_escaped_between_its_joints() -> None:
    assert macro("macros.html", "breakable", "<b>_<i>") == "&lt;b&gt;_<wbr>&lt;i&gt;"
