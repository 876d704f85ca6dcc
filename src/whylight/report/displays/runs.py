"""What runs give: evaluations, their tables, those of several models, and comparisons of two methods."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from whylight.core.showing import register_display
from whylight.report.plots import check_matplotlib
from whylight.report.run_page import evaluation_page
from whylight.report.run_sheets import comparison_sheet, evaluation_glance, several_sheet, summary_sheet
from whylight.report.saving import sheet_display
from whylight.run.compare import Comparison
from whylight.run.evaluation import Evaluation
from whylight.run.summary import Summary
from whylight.store.tables import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST_MINUS_SECOND = "First minus second, input by input"


def comparison_record(one: Comparison) -> Row:
    """Return a comparison as one flat record."""
    cell = {"difference" if name == "mean" else name: value for name, value in asdict(one.difference).items()}
    return {
        "metric": one.metric,
        "remover": one.remover,
        "higher_is_better": one.higher_is_better,
        **cell,
        "p_value": one.p_value,
        "wins": one.wins,
        "standing": one.standing,
    }


def _evaluation_json(found: Evaluation) -> Mapping[str, object]:
    whole = {"asked": found.asked, "rows_run": found.rows_run, "seconds": found.seconds}
    return {**whole, "peak_megabytes": found.peak_megabytes, "tables": found.records()}


def _evaluation_picture(found: Evaluation) -> "Figure":
    check_matplotlib()
    from whylight.report.plots.deletion import draw_perturbation  # noqa: PLC0415  matplotlib is optional, and slow to import
    from whylight.report.plots.words import draw_summary  # noqa: PLC0415

    return draw_perturbation(found) if found.curves else draw_summary(found)


register_display(
    "Evaluation",
    sheet_display(
        "an evaluation",
        evaluation_glance,
        records=Evaluation.records,
        page=evaluation_page,
        plain=_evaluation_json,
        picture=_evaluation_picture,
    ),
)
register_display("Summary", sheet_display("a summary", summary_sheet, records=Summary.records))
register_display(
    "Several",
    sheet_display(
        "the result of several models",
        lambda found: several_sheet(found, title="Evaluations"),
        records=lambda found: found.records(),
    ),
)
register_display(
    "Comparisons",
    sheet_display(
        "a list of comparisons",
        lambda found: comparison_sheet(found, title=FIRST_MINUS_SECOND),
        records=lambda found: [comparison_record(one) for one in found],
    ),
)
register_display(
    "PairedResult",
    sheet_display(
        "a comparison",
        lambda found: comparison_sheet(
            found.comparisons,
            title=f"{found.first} minus {found.second}",
            alike=found.alike,
            noun=found.noun,
            left_out=found.left_out,
        ),
        records=lambda found: [comparison_record(one) for one in found.comparisons],
    ),
)
register_display(
    "Comparison",
    sheet_display(
        "a comparison",
        lambda one: comparison_sheet([one], title=FIRST_MINUS_SECOND),
        records=lambda one: [comparison_record(one)],
    ),
)
