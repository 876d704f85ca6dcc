"""An audit as one web page that stands alone: plain words first, then pictures, tables, receipts and the command."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whylight import __version__
from whylight.report.dots import DotPanel, dot_panels
from whylight.report.run_rows import number
from whylight.report.templating import environment
from whylight.run.compare import CLEAR, FEWEST_TEXTS
from whylight.run.summary import Cell

if TYPE_CHECKING:
    from whylight.study.audit import Audit
    from whylight.study.audit_words import AuditVerdict
    from whylight.study.figures import FigureTable

TITLE = "Can these explanations be trusted?"
HEADINGS: Mapping[str, str] = {
    "ranking": "Does the ranking of methods flip with the remover?",
    "agreement": "Do removers name the same words?",
    "returns": "Does infill really remove words?",
    "damage": "Can the model still read texts with words removed?",
    "size": "How large are scores, and how many words do they mark?",
    "randomised": "Does occlusion notice that the model forgot its labels?",
    "all_words": "Are ten words enough for infill?",
}
"""What each analysis asks, in the order of the page; what its figures are stands in the template."""
PASSES = "passes"
"""A column that is a cost, and has no picture."""
Facts = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class AuditSection:
    """One analysis as it is shown."""

    name: str
    figures: "FigureTable"
    verdict: "AuditVerdict"
    panels: list[DotPanel]
    cells: dict[tuple[str, str], Cell]


def audit_page(found: "Audit", *, command: str) -> str:
    """Return a complete HTML document about an audit.

    Args:
        found: What `wl.audit` returned.
        command: What makes the same page again.
    """
    variables = {
        "title": TITLE,
        "found": found,
        "command": command,
        "sections": [_section(name, found) for name in HEADINGS if name in found.figures],
        "left_out": [(HEADINGS[one.name], one.reason) for one in found.left_out],
        "headings": HEADINGS,
        "passes": PASSES,
        "facts": _audit_facts(found),
        "receipts": _receipts(found),
        "few": FEWEST_TEXTS,
        "clear": CLEAR,
        "number": number,
    }
    return environment().get_template("audit.html").render(variables)


def _section(name: str, found: "Audit") -> AuditSection:
    figures: FigureTable = found.figures[name]
    verdict = next(one for one in found.verdicts if one.analysis == name)
    cells = {place: cell for place in figures.values if (cell := figures.cell(*place)) is not None}
    drawn = [column for column in figures.columns if column != PASSES]
    panels = dot_panels({one: {row: cells[row, one] for row in figures.rows if (row, one) in cells} for one in drawn})
    return AuditSection(name, figures, verdict, panels, cells)


def _audit_facts(found: "Audit") -> Facts:
    return [
        ("model", found.model),
        ("labels", ", ".join(found.labels[:20])),
        ("data", f"{found.data['name']} ({found.data['split']})"),
        ("texts", f"{found.texts} of {found.data['texts']}, drawn with seed {found.seed}"),
        ("time", f"{found.seconds:.0f} s of {found.budget:g} s allowed"),
        ("version", f"whylight {__version__}"),
    ]


def _receipts(found: "Audit") -> list[tuple[str, Facts]]:
    """Return removers and methods with their settings."""
    own = [(f"removed by {name}", settings) for name, settings in found.removers.items()]
    own += [("occlusion", {"window": 1, "score": "log_odds", "remover": "each"}), *found.methods.items()]
    return [(name, [(setting, str(value)) for setting, value in settings.items()]) for name, settings in own]
