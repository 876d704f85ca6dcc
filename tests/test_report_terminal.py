"""Explanations in the terminal: all is said without colour, nothing that a user wrote steers it; and the colours."""

import re
from typing import get_args

import numpy as np
import pytest

from pages import explanation, terminal
from whylight.report import colours
from whylight.report.numbers import percentage
from whylight.report.page import page


@pytest.mark.parametrize("scheme", get_args(colours.Scheme))
@pytest.mark.parametrize("scale", get_args(colours.Palette))
def test_text_on_every_shade_can_be_read(scheme: colours.Scheme, scale: colours.Palette) -> None:
    for shade in colours.shades(scale, scheme=scheme):
        assert colours.contrast(shade.background, shade.text) >= 4.5


def test_small_print_can_be_read_in_both_schemes() -> None:
    blocks = [dict(re.findall(r"--(\w+): (#\w{6});", "--page" + one)) for one in page([]).split("--page")[1:]]
    assert len(blocks) == 2
    for own in blocks:
        for ink in ("ink", "muted"):
            assert all(colours.contrast(own[ink], own[ground]) >= 4.5 for ground in ("page", "card", "soft"))


def test_contrast_is_that_of_wcag() -> None:
    assert colours.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert colours.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_steps_are_shares_of_the_rows_largest_magnitude() -> None:
    scores = np.array([4.0, -2.0, 0.1, 0.0])
    assert colours.steps(scores, signed=True) == [10, -5, 0, 0]
    assert colours.steps(scores, signed=False) == [10, 5, 0, 0]
    assert colours.steps(np.zeros(3), signed=True) == [0, 0, 0]
    assert colours.steps(np.zeros(0), signed=True) == []


@pytest.mark.parametrize(
    ("probability", "shown"), [(0.0, "0.0%"), (1e-5, "<0.1%"), (0.5, "50.0%"), (0.99995, ">99.9%"), (1.0, "100.0%")]
)
def test_probabilities_are_not_rounded_to_certainty(probability: float, shown: str) -> None:
    assert percentage(probability) == shown


def test_the_terminal_says_everything_without_colour() -> None:
    one = explanation("gripping and moving but drags", [1.234, 0.0, 0.8, 0.001, -0.41], notes=("cut short",))
    printed = terminal(one)
    assert "positive 66.7%" in printed
    assert "gripping and moving but drags" in printed
    assert "for: gripping +1.23, moving +0.80 | against: drags -0.41" in printed
    assert "note: cut short" in printed
    assert printed.count("legend:") == 1
    assert "\x1b" not in printed


def test_the_terminal_lists_importance_without_a_sign() -> None:
    assert "importance: b 0.750, a 0.250\n" in terminal(explanation("a b", [0.25, 0.75], signed=False))


def test_the_terminal_colours_words_by_side() -> None:
    printed = terminal(explanation("good bad", [1.0, -1.0]), colour=True)
    sides: tuple[tuple[colours.Palette, str], ...] = (("for", "good"), ("against", "bad"))
    for scale, word in sides:
        shade = colours.shades(scale, scheme="terminal")[-1].background
        background = ";".join(str(int(shade[i : i + 2], 16)) for i in (1, 3, 5))
        assert re.search(rf"48;2;{background}m{word}", printed)


def test_no_control_character_of_a_user_reaches_the_terminal() -> None:
    evil = "\x1b[2J\x1b]0;owned\x07 a\x9b31m \rover \u202eback \x08b"
    one = explanation(evil, labels=("no", evil), method=evil, model=evil, notes=(evil,))
    printed = terminal(one, explanation(evil, pair=evil))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", printed)
    assert "owned" in printed


def test_the_terminal_reads_no_markup_in_what_a_user_wrote() -> None:
    text = "[bold]a[/bold] :smile: [link=x]b"
    one = explanation(text, labels=("no", "[red]l[/red]"), notes=("[i]n",), method="[u]m")
    printed = terminal(one)
    for written in (text, "[red]l[/red]", "[i]n", "[u]m"):
        assert written in printed


def test_the_terminal_shows_a_long_text_around_its_strongest_words() -> None:
    names = [f"w{i}" for i in range(1000)]
    scores = np.zeros(1000)
    scores[[100, 104, 500]] = [3.0, -2.0, 1.0]
    scores[600:] = 1e-6
    printed = " ".join(terminal(explanation(" ".join(names), scores)).split())
    assert "… w92 w93" in printed
    assert "w112 … " in printed
    assert " w100 w101 w102 w103 w104 " in printed
    assert " w500 " in printed
    assert " w300 " not in printed
    whole = " ".join(terminal(explanation(" ".join(names[:400]), scores[:400])).split())
    assert " ".join(names[:400]) in whole
