"""Claims D1 and D3 to D6: are words that a masked language model writes better than gaps?

    python findings/counterfactuals.py path/to/data larger        input marginalisation by two masked language models
    python findings/counterfactuals.py path/to/data occlusion     leave-one-out by four removers, and an audit
    python findings/counterfactuals.py path/to/data lime          LIME with words deleted and infilled

The bundled classifier on SST dev sentences. Occlusion with words deleted, masked, unknown and padded (LOO), with words
that a masked language model writes (IM), by the bundled one and by a larger one (`make mlm`), LIME with words deleted
and written. Each is measured by the area under the probability while its top words go, deleted and written by others,
on sentences that are classified rightly, and held against the phrases that people called positive or negative. Then
what the audit looks at, on the same sentences. `roar.py` trains anew (D2, D6). Everything is kept, so that a stopped
script goes on.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from document import HERE, WORK, Table, put, told
from processes import in_processes

import whylight as wl
from whylight.core.text import text_of
from whylight.data.dataset import Dataset
from whylight.explaining.options import Options
from whylight.run.compare import compare_rows, select
from whylight.run.evaluation import Evaluation
from whylight.run.summary import interval
from whylight.store.tables import HUMAN, RANDOM, Row
from whylight.study.attribution_size import attribution_size
from whylight.study.figures import FigureTable, Place
from whylight.study.head_randomised import head_randomised
from whylight.study.infill_returns import infill_returns
from whylight.study.marginal_words import marginal_words
from whylight.study.removal_damage import HALF, ONE, removal_damage
from whylight.study.subject import Subject, open_subject

LARGER = HERE.parent / "build" / "mlm"
TEXTS, TUNING, RANDOMISED, FEW, SHORT = 300, 60, 100, 6, 10
"""Sentences, those that boundaries are tuned on, those that are explained with random heads, and short ones for what
takes minutes each, with their words."""
AREA, PLAUSIBLE = "deletion_auc", ("iou", "precision", "recall", "token_f1")
OTHERS = "infill[mode=top1_excluding_original]"
LARGER_OTHERS = f"infill[mode=top1_excluding_original,model={LARGER}]"
METHODS = {
    "LOO, deleted": "occlusion[remover=delete]",
    "LOO, masked": "occlusion[remover=mask]",
    "LOO, unknown": "occlusion[remover=unk]",
    "LOO, padded": "occlusion[remover=pad]",
    "IM": "occlusion[remover=infill]",
    "IM, larger model": f"occlusion[remover=infill[model={LARGER}]]",
    "LIME": "lime[remover=delete,samples=200]",
    "LIME, infilled": "lime[remover=infill[mode=top1],samples=200]",
}
LOO, IM, LIME = tuple(METHODS)[:4], tuple(METHODS)[4:6], tuple(METHODS)[6:]
KINDS = {"larger": (LOO[0], *IM), "occlusion": (*LOO, IM[0]), "lime": LIME}
REMOVED_BY = {"deleted": "delete", "infilled": OTHERS, "infilled by the larger model": LARGER_OTHERS}
MEASURED = {kind: tuple(REMOVED_BY)[: 3 if kind == "larger" else 2] for kind in KINDS}
PAIRS = (*(("IM", name) for name in LOO), ("IM, larger model", "LOO, deleted"), ("LIME, infilled", "LIME"))
SETTINGS: Mapping[str, object] = {
    f"{AREA}.until": 0.2,
    f"{AREA}.published": True,
    **{f"{metric}.scale": "max" for metric in PLAUSIBLE},
}
REMOVERS = ("delete", "infill")


def main() -> None:
    """Explain, measure, audit, and put the tables into the document."""
    path, kind = Path(sys.argv[1]) / "sst_trees", sys.argv[2]
    slowest = [*reversed(KINDS[kind]), *AUDITED[kind]]  # first, so that no process is left with one at the end
    list(in_processes(_done, [(path, kind, name) for name in slowest]))
    found = {name: _run(path, kind, name) for name in KINDS[kind]}
    audited = {name: _audited(path, kind, name) for name in AUDITED[kind]}
    put(f"counterfactuals_{kind}", {**_deletion(found, kind), **_agreement(found), **audited})


def _sentences(path: Path) -> Dataset:
    return wl.dataset(f"sst:{path}", split="dev", rationale="phrases").sample(TEXTS, seed=0)


def _done(task: tuple[Path, str, str]) -> None:
    if task[-1] in METHODS:
        _run(*task)
    else:
        _audited(*task)


def _run(path: Path, kind: str, name: str) -> Evaluation:
    """Explain the sentences by one method, and measure it; what was done before is read."""
    data = _sentences(path)
    rest = wl.dataset(f"sst:{path}", split="dev", rationale="phrases").without(data)
    return wl.evaluate(
        wl.load(),
        data,
        methods=[METHODS[name]],
        metrics=(AREA, *PLAUSIBLE),
        metric_removers=[REMOVED_BY[one] for one in MEASURED[kind]],
        options=Options(score="log_odds"),
        tune=rest.sample(TUNING, seed=0),
        settings=SETTINGS,
        out=WORK / "counterfactuals" / kind / name,
    )


def _rows(run: Evaluation, method: str, metric: str, remover: str | None = None) -> list[Row]:
    """Return the values of sentences that are classified rightly, as published."""
    own = [row for row in select(run.scores, method) if (row["metric"], row["remover"]) == (metric, remover)]
    return [row for row in own if row["correct"]]


def _mean(rows: Sequence[Row]) -> str:
    return told(interval(np.asarray([row["value"] for row in rows])))


def _compared(first: Sequence[Row], second: Sequence[Row]) -> str:
    (found,) = compare_rows(first, second)
    return f"{told(found.difference, sign='+')}, {found.standing}"


def _deletion(found: Mapping[str, Evaluation], kind: str) -> dict[str, Table]:
    """Table 1: the area by each way of removing words, and what infilling gains by it."""
    every = {name: (run, METHODS[name]) for name, run in found.items()} | {RANDOM: (_first(found), RANDOM)}
    removers = [REMOVED_BY[one] for one in MEASURED[kind]]
    means = [[name, *(_mean(_rows(*one, AREA, remover)) for remover in removers)] for name, one in every.items()]
    differences = [
        [f"{first} - {second}"]
        + [_compared(_rows(*every[first], AREA, remover), _rows(*every[second], AREA, remover)) for remover in removers]
        for first, second in PAIRS
        if {first, second} <= found.keys()
    ]
    heads = [f"words {name} ↓" for name in MEASURED[kind]]
    return {
        "deletion": Table(["method", *heads], means),
        "deletion, text by text": Table(["difference", *heads], differences),
    }


def _first(found: Mapping[str, Evaluation]) -> Evaluation:
    """Return the run whose random and human rows are shown; those of the others are the same."""
    return next(iter(found.values()))


def _agreement(found: Mapping[str, Evaluation]) -> dict[str, Table]:
    """Table 3: how far scores from the tuned boundary on are what people marked."""
    marked = _first(found)
    every = {name: (run, METHODS[name]) for name, run in found.items()}
    shown = {**every, RANDOM: (marked, RANDOM), HUMAN: (marked, HUMAN)}
    means = [[name, *(_mean(_rows(*one, metric)) for metric in PLAUSIBLE)] for name, one in shown.items()]
    differences = [
        [f"{first} - {second}"]
        + [_compared(_rows(*every[first], metric), _rows(*every[second], metric)) for metric in PLAUSIBLE]
        for first, second in PAIRS
        if {first, second} <= found.keys()
    ]
    return {
        "agreement": Table(["method", *PLAUSIBLE], means),
        "agreement, text by text": Table(["difference", *PLAUSIBLE], differences),
    }


def _audited(path: Path, kind: str, name: str) -> Table:
    """Tables 4 and A1 to A5; what was found before is read."""
    kept = WORK / "counterfactuals" / kind / "audited" / f"{name}.json"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        found = AUDITED[kind][name](_sentences(path))
        kept.write_text(json.dumps(asdict(_table(found))), encoding="utf-8")
    return Table(**json.loads(kept.read_text(encoding="utf-8")))


def _short(data: Dataset) -> Dataset:
    """Return the first short sentences."""
    short = tuple(record for record in data if len(text_of(record.example).text.split()) <= SHORT)
    return replace(data, records=short[:FEW])


def _subject(data: Dataset, infill: Mapping[str, object] | None = None) -> Subject:
    return open_subject(wl.load(), data, removers=REMOVERS, settings={"infill": infill or {}})


AUDITED: Mapping[str, Mapping[str, Callable[[Dataset], FigureTable]]] = {
    "larger": {"returned": lambda data: infill_returns(_subject(data, {"model": str(LARGER)}))},
    "occlusion": {
        "all words": lambda data: marginal_words(_subject(_short(data))),
        "randomised": lambda data: head_randomised(_subject(data.sample(RANDOMISED, seed=0))),
        "damage": lambda data: removal_damage(_subject(data)),
        "size": lambda data: attribution_size(_subject(data)),
        "returned": lambda data: infill_returns(_subject(data)),
    },
    "lime": {},
}


def _table(found: FigureTable) -> Table:
    """Write a table of a study, with what removers, and one word and half of them, differ by, text by text."""
    head, rows = ["", *found.columns], []
    for row in found.rows:
        cells = [found.cell(row, column) for column in found.columns]
        rows.append([row, *("" if cell is None else told(cell) for cell in cells)])
    if set(REMOVERS) <= set(found.rows):
        first, second = reversed(REMOVERS)
        pairs = [((first, column), (second, column)) for column in found.columns]
        rows.append([f"{first} - {second}", *(_apart(found, *pair) for pair in pairs)])
    if {ONE, HALF} <= set(found.columns):
        head.append("half - one")
        for row in rows:
            row.append(_apart(found, (row[0], HALF), (row[0], ONE)))
    return Table(head, rows)


def _apart(found: FigureTable, first: Place, second: Place) -> str:
    difference = found.difference(first, second)
    if difference is None:
        return ""
    standing = "clear" if difference.sign else "cannot tell"
    return f"{told(difference.cell, sign='+')}, {standing}"


if __name__ == "__main__":
    main()
