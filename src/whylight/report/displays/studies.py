"""What studies and trainings give: sanity checks, recommendations, audits, retraining, and trained models."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whylight.core.showing import register_display
from whylight.report.audit_page import audit_page
from whylight.report.saving import sheet_display
from whylight.report.sheets import FactList, Sheet, count_of, sheet_text
from whylight.report.study_sheets import (
    ROAR,
    audit_sheet,
    figure_sheet,
    recommendation_sheet,
    roar_comparisons,
    roar_sheet,
    sanity_sheet,
)
from whylight.store.tables import Row

if TYPE_CHECKING:
    from whylight.study.audit import Audit
    from whylight.study.recommend import Recommendation
    from whylight.study.retrained import Roar, RoarComparison
    from whylight.study.sanity_lines import SanitySummary
    from whylight.training.result import Trained


def audit_call(found: "Audit") -> str:
    """Return the call that makes an audit again."""
    same = {"budget": found.budget, "removers": list(found.removers), "methods": list(found.methods)}
    asked = same | {"seed": found.seed} | dict(found.asked)
    return f"wl.audit(clf, data, {', '.join(f'{name}={value!r}' for name, value in asked.items())})"


def _sanity(found: "SanitySummary") -> Sheet:
    texts = max((level.flips.texts for level in found.levels), default=0)
    return sanity_sheet(found, title=f"Sanity check on {count_of(texts, 'text')}")


def _roar(found: "Roar") -> Sheet:
    seeds = len({row.seed for row in found.rows})
    return roar_sheet(found, title=f"Remove and retrain, {count_of(seeds, 'seed')}")


def _roar_compared(found: "Sequence[RoarComparison]") -> Sheet:
    return Sheet("Remove and retrain: first minus second, seed by seed", (roar_comparisons(found),), (ROAR,))


def _recommendation(found: "Recommendation") -> Sheet:
    return recommendation_sheet(found, title=f"Recommendation from {count_of(found.texts, 'text')}")


def recommendation_records(found: "Recommendation") -> list[Row]:
    """Return one record for each remover and method, from best to worst; methods with the same figures share a rank."""
    return [
        {"remover": remover, "rank": rank, "method": method}
        for remover, ranks in found.ranks.items()
        for method, rank in ranks.items()
    ]


def _recommendation_json(found: "Recommendation") -> Mapping[str, object]:
    words = {"texts": found.texts, "rankings": found.rankings, "ranks": found.ranks, "left_out": found.left_out}
    return {**words, "findings": found.findings, "summary": found.summary.records()}


def _trained(found: "Trained") -> Sheet:
    receipt: Mapping[str, Any] = found.receipt
    known = {"best epoch": receipt.get("best_epoch"), "epochs run": receipt.get("epochs_run")}
    figures = {name: f"{value:.4g}" for name, value in dict(receipt.get("validation", {})).items()}
    pairs = {name: f"{value:g}" for name, value in known.items() if value is not None} | figures
    return Sheet(
        f"Trained: {found.folder}", (FactList(tuple(pairs.items())),), ("Figures are of the validation texts.",)
    )


register_display("SanitySummary", sheet_display("a sanity check", _sanity, records=lambda found: found.records()))
register_display(
    "Recommendation",
    replace(
        sheet_display("a recommendation", _recommendation, records=recommendation_records, plain=_recommendation_json),
        text=lambda found: sheet_text(_recommendation(found), last=len(found.findings)),
    ),
)
register_display(
    "Audit",
    replace(
        sheet_display(
            "an audit",
            audit_sheet,
            records=lambda found: found.records(),
            page=lambda found: audit_page(found, command=audit_call(found)),
            plain=lambda found: found.to_dict(),
        ),
        text=lambda found: sheet_text(audit_sheet(found), last=1 + len(found.recommendation.sentences)),
    ),
)
register_display(
    "FigureTable", sheet_display("a table of figures", figure_sheet, records=lambda found: found.records())
)
register_display(
    "Roar",
    sheet_display(
        "the result of remove and retrain",
        _roar,
        records=lambda found: found.records(),
        plain=lambda found: {"notes": found.notes, "tables": found.records()},
    ),
)
register_display(
    "RoarComparisons",
    sheet_display("a list of comparisons", _roar_compared, records=lambda found: [one.record() for one in found]),
)
register_display(
    "RoarComparison",
    sheet_display("a comparison", lambda one: _roar_compared([one]), records=lambda one: [one.record()]),
)
register_display(
    "Trained",
    sheet_display(
        "a trained model",
        _trained,
        records=lambda found: found.receipt.get("history", []),
        plain=lambda found: found.receipt,
        hint="the model itself is in its folder already",
    ),
)
