"""Tables of runs on pictures have every figure that the document asks for, and the verdict follows its rule."""

import re

import document
import picture_tables
import pytest
from document import Table, look_up
from picture_tables import COMPREHENSIVE, SUFFICIENT, comparison_tables, joined, table_of, verdict

Row = dict[str, object]

METHODS = ("marc", "occlusion", "grad_cam")
COUNT = 12


def rows(lead: dict[str, float], *, methods: tuple[str, ...] = METHODS) -> picture_tables.Rows:
    """Runs in which a method differs from others by so much; less is more sufficient."""
    explained: list[Row] = []
    scores: list[Row] = []
    for method in (*methods, "random"):
        for picture in range(COUNT):
            about = {"example_id": f"p{picture}", "method": method}
            costs = {"seconds": 1.0, "forward_passes": 2, "backward_passes": 1}
            notes = ["the mask had not settled"] if picture == 0 else []
            explained.append({**about, "kind": "image", **costs, "notes": notes, "mean": 0.95 if picture < 2 else 0.3})
            noise = 0.001 * ((picture * 7) % 5)
            for metric in (SUFFICIENT, COMPREHENSIVE):
                value = lead.get(method, 0.0) + noise
                scores.append({**about, "metric": metric, "remover": "backgrounds", "value": value, "target": 0})
    return explained, scores


def test_the_verdict_follows_the_rule() -> None:
    best, worse = {"marc": -0.2, "occlusion": 0.1, "grad_cam": 0.2}, {"marc": 0.15, "occlusion": 0.1, "grad_cam": 0.2}
    alike = {"marc": 0.1, "occlusion": 0.1, "grad_cam": 0.2}
    for photos, pets, expected in (
        (best, best, " holds."),
        (best, alike, ": cannot tell."),
        (alike, worse, " does not hold."),
    ):
        compared = {
            name: picture_tables.beside(rows(own)[1], "marc") for name, own in (("photos", photos), ("pets", pets))
        }
        found = verdict(compared)
        assert found.cell("E4", "verdict") == expected
        assert ("cannot tell" in expected) == ("*What would decide:*" in found.cell("E4", "what would decide"))


def test_the_section_finds_all_of_its_figures() -> None:
    groups = {name: rows({"marc": -0.2}) for name in ("photos", "pets")}
    pictures = {
        "accuracy": Table(
            ["pictures", "number", "accuracy", "among the first five"], [["photos", "150", "0.7", "0.9"]]
        ),
        "all pets": table_of(groups["pets"]),
        **comparison_tables(groups, "marc"),
    }
    fashion = {
        "accuracy": Table(["pictures", "accuracy"], [["10,000", "0.886"]]),
        **comparison_tables({"Fashion-MNIST": rows({})}, "marc"),
    }
    known = document.stored(document.FIGURES) | {
        name: {"version": "new", "tables": {key: vars(one) for key, one in tables.items()}}
        for name, tables in (("pictures", pictures), ("fashion", fashion))
    }
    waiting = document.WAITING.findall(document.TEMPLATE.read_text(encoding="utf-8"))
    (text,) = [own for names, own in waiting if names == "pictures fashion"]
    said = document.filled(text, known)
    assert "{{" not in said
    assert "- **E4 holds.** On photos MaRC is clearly more sufficient than `occlusion`, `grad_cam`" in said
    assert re.search(r"2 of 12 masks keep nearly all of it", said)
    assert look_up("pictures | masks | photos | settled", known) == "11"


def test_runs_of_the_same_pictures_are_put_together_with_one_baseline() -> None:
    both = joined([rows({}, methods=("marc",)), rows({}, methods=("occlusion", "grad_cam"))])
    assert both == joined([rows({})])
    assert [row["method"] for row in both[0]][-COUNT:] == ["random"] * COUNT
    with pytest.raises(KeyError):
        table_of(both).cell("human", "seconds")
