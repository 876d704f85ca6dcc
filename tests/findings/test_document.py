"""docs/findings.md says what the stored figures say."""

import json
import re
from pathlib import Path

import document
import pytest
from document import PLACEHOLDER, Table, look_up, put, render

HERE = document.HERE
TYPED = re.compile(r"\b[A-ER][1-9]\b|\b(?:micro-|macro )?F1\b|`[^`]*`")
"""What holds a digit and is no figure: names of claims, the measure F1, and code."""
DESCRIBED = ("**What we ran.**", "**Claim", "#")
"""Paragraphs that say what was done, not what came of it."""
KNOWN = {
    "run": {
        "version": "0.1",
        "tables": {
            "one": {"head": ["method", "in", "value"], "rows": [["a", "x", "-0.020 [-0.030, +0.010]"]], "names": 2},
            "seeds": {"head": ["training", "change"], "rows": [["a", "-0.020, -0.020, -0.025"]], "names": 1},
        },
    }
}


def test_the_document_is_what_its_figures_make_it() -> None:
    assert document.DOCUMENT.read_bytes() == render().encode()


def verdicts(template: str) -> list[str]:
    """Paragraphs that say what came of an experiment, without placeholders, names and code."""
    _, *sections = re.split(r"^## ", template, flags=re.MULTILINE)
    paragraphs = [one for section in sections for one in section.split("\n\n")[1:]]
    prose = [one for one in paragraphs if not one.startswith(DESCRIBED)]
    return [TYPED.sub("", PLACEHOLDER.sub("", one)) for one in prose]


def typed_numbers(template: str) -> list[str]:
    return [number for prose in verdicts(template) for number in re.findall(r"[-+±]?\d[\d.,]*", prose)]


def test_no_figure_in_the_prose_of_a_verdict_is_typed_by_hand() -> None:
    template = document.TEMPLATE.read_text(encoding="utf-8")
    assert len(verdicts(template)) > 20
    assert typed_numbers(template) == []
    signed = re.compile(r"[-+]\d+\.\d+")  # results are signed or have an interval: not even where settings are told
    assert not signed.search(PLACEHOLDER.sub("", template))


@pytest.mark.parametrize(
    "slip", ["rises by +0.046", "by 2.5 points", "in 3 of 3 runs", "costs 1.7 % of it", "0 of them"]
)
def test_a_typed_figure_would_be_found(slip: str) -> None:
    template = document.TEMPLATE.read_text(encoding="utf-8")
    place = template.index("- **A1 holds partly.**")
    assert typed_numbers(f"{template[:place]}- It {slip}.\n{template[place:]}")


def test_every_verdict_is_one_of_four() -> None:
    text = document.DOCUMENT.read_text(encoding="utf-8")
    for claim in ("A1", "A2", "A3", "A4", "A5", "A6", "C1", "C2", "C3", "C4", "C5"):
        assert re.search(rf"^- \*\*{claim}(?: holds|: cannot tell)", text, flags=re.MULTILINE), claim
    for part in re.findall(r"^- \*\*.*?(?=^- \*\*|\n\n)", text, flags=re.MULTILINE | re.DOTALL):
        assert "cannot tell" not in part.split("\n")[0] or "*What would decide:*" in part, part


@pytest.mark.parametrize(
    ("placeholder", "expected"),
    [
        ("run | version", "0.1"),
        ("run | one", "| method | in | value |\n| --- | --- | --- |\n| a | x | -0.020 [-0.030, +0.010] |"),
        ("run | one | a | x | value", "-0.020 [-0.030, +0.010]"),
        ("run | one | a | x | value -> mean", "-0.020"),
        ("run | one | a | x | value -> size", "0.020"),
        ("run | one | a | x | value -> low", "-0.030"),
        ("run | one | a | x | value -> high", "+0.010"),
        ("run | one | a | x | value -> percent", "-2.0 %"),
        ("run | seeds | a | change -> list", "-0.020, -0.020 and -0.025"),
        ("run | seeds | a | change -> least", "-0.025"),
        ("run | seeds | a | change -> most", "-0.020"),
        ("run | seeds | a | change -> over seeds", "-0.022 [-0.029, -0.014]"),  # -0.02167 +- 4.303 x 0.002887 / 1.732
    ],
)
def test_what_a_placeholder_stands_for(placeholder: str, expected: str) -> None:
    assert look_up(placeholder, KNOWN) == expected


@pytest.mark.parametrize(
    "placeholder",
    [
        *("none | one", "run | none", "run | one | b | x | value", "run | one | a | x | none", "run | one | a | value"),
        "run | one | a | x | value -> none",
    ],
)
def test_what_no_run_has_is_an_error(placeholder: str) -> None:
    with pytest.raises(KeyError):
        look_up(placeholder, KNOWN)


def test_a_run_writes_its_figures_and_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = tmp_path / "document.md"
    template.write_text("It is {{new | one | a | value -> mean}}.\n", encoding="utf-8")
    for name, place in (("TEMPLATE", template), ("FIGURES", tmp_path / "figures"), ("DOCUMENT", tmp_path / "out.md")):
        monkeypatch.setattr(document, name, place)
    put("new", {"one": Table(["method", "value"], [["a", "0.5 ± 0.1"]])})
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == "It is 0.5.\n"
    kept = json.loads((tmp_path / "figures" / "new.json").read_text(encoding="utf-8"))
    assert kept["version"]


def test_every_stored_table_is_whole_and_says_who_made_it() -> None:
    for path in (HERE / "figures").glob("*.json"):
        kept = json.loads(path.read_text(encoding="utf-8"))
        assert kept["version"], path
        for name, one in kept["tables"].items():
            assert all(len(row) == len(one["head"]) for row in one["rows"]), (path, name)
            assert "mean_average_precision" not in one["head"]
            named = [tuple(row[: one["names"]]) for row in one["rows"]]
            assert len(set(named)) == len(named), (path, name)


def test_a_section_waits_until_all_of_its_experiments_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = tmp_path / "document.md"
    template.write_text(
        "Before.\n{{#one two}}\nOf {{one | a | x | value}} and {{two | a | x | value}}.\n{{/}}\nAfter.\n"
    )
    for name, place in (("TEMPLATE", template), ("FIGURES", tmp_path / "figures"), ("DOCUMENT", tmp_path / "out.md")):
        monkeypatch.setattr(document, name, place)
    monkeypatch.setattr(document, "PREVIEW", tmp_path / "preview")
    tables = {"a": Table(["method", "value"], [["x", "0.5"]])}
    put("one", tables)
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == "Before.\nAfter.\n"
    document.preview("two", tables)  # a quick run's figures are never in the document
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == render() == "Before.\nAfter.\n"
    assert (tmp_path / "preview" / "two.md").read_text(encoding="utf-8") == "Of 0.5 and 0.5.\n"
    put("two", tables)
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == "Before.\nOf 0.5 and 0.5.\nAfter.\n"


def test_the_template_leaves_no_mark_of_what_waits() -> None:
    template = document.TEMPLATE.read_text(encoding="utf-8")
    opened, closed = template.count("{{#"), template.count("{{/}}")
    assert opened == closed == len(document.WAITING.findall(template)) >= 1
    assert "{{" not in render()
