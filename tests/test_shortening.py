"""A name without its middle is as long as fits, is made without going through all lengths, and has whole signs."""

import math
import unicodedata

import pytest
from rich.cells import cell_len

from whylight.core.segment import symbols
from whylight.report.shortening import ELLIPSIS, fitted, shortened

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
THUMB = "\U0001f44d\U0001f3fd"
FLAGS = "\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"
TEXTS = ["a label of many letters, number 7", "\u65e5\u672c\u8a9e" * 9, "\u00e9a\u0308\u0323o\u0302" * 9, FAMILY * 9]


@pytest.mark.parametrize("text", TEXTS)
def test_as_much_is_kept_as_fits(text: str) -> None:
    text = unicodedata.normalize("NFD", text)
    for widest in range(1, cell_len(text) + 2):
        found = shortened(text, widest)
        assert cell_len(found) <= widest
        if found == text:
            continue
        first, last = (symbols(part) for part in found.split(ELLIPSIS))
        assert text.startswith("".join(first))
        assert text.endswith("".join(last))
        line, kept = symbols(text), len(first) + len(last) + 1
        more = "".join(line[: -(-kept // 2)]) + ELLIPSIS + "".join(line[len(line) - kept // 2 :])
        assert cell_len(more) > widest or " " in text, "one more would have fitted; of blanks none stands at the gap"


def test_what_is_one_sign_to_a_reader_is_never_cut() -> None:
    signs = ["e\u0301", FAMILY, *FLAGS, "x", THUMB, "\u0915\u093f"]
    assert symbols("".join(signs)) == signs
    assert symbols("\u0301a") == ["\u0301", "a"]
    assert symbols("") == []
    for widest in range(1, 200):
        first, last = shortened("".join(signs * 40), widest).split(ELLIPSIS)
        assert set(symbols(first + "|" + last)) <= {*signs, "|"}
        assert not last or last.endswith(signs[-1])


def test_a_long_name_is_measured_a_few_times() -> None:
    asked: list[str] = []

    def wide(text: str) -> float:
        asked.append(text)
        return len(text) / 2

    long = "ab" * 50_000
    assert fitted(long, 10, wide=wide) == "ab" * 5 + ELLIPSIS + "b" + "ab" * 4
    assert len(asked) <= 2 + math.ceil(math.log2(len(long)))
