"""Explanations as rows of a table, and back without loss: one row for each explanation of one target.

A row is `Explanation.to_dict` made flat: the text of a text stands in columns of its own, the one target and its scores
are not in lists, and what has a structure of its own is JSON.
"""

import json
import math
from typing import Any

from whylight.core.explanation import Explanation
from whylight.store.tables import Row

_SAME = (
    *("kind", "places", "model", "method", "unit", "remover", "signed", "class_specific"),
    *("forward_passes", "backward_passes", "seconds", "notes"),
)
"""What is called the same in a row and in an explanation's dictionary, and needs no change."""
_TEXTS = ("text", "pair")


def row_of(explanation: Explanation) -> Row:
    """Return an explanation of one target as a row."""
    whole = explanation.to_dict()
    (target,), (scores,), gap = whole["targets"], whole["scores"], whole["completeness_gap"]
    shown, answer = dict(whole["input"]), dict(whole["prediction"])
    probabilities = answer.pop("probabilities")
    texts = {name: shown.pop(name, None) for name in _TEXTS}
    return {
        **{name: whole[name] for name in _SAME},
        **texts,
        "input": _json(shown) if shown else None,
        "settings": _json(whole["settings"]),
        "remover_settings": _json(whole["remover_settings"]),
        "score_space": whole["score"],
        "target": target["index"],
        "label": target["label"],
        "scores": scores,
        "probability": probabilities[target["index"]] if probabilities else None,
        "probabilities": probabilities,
        "prediction": _json(answer),
        "completeness_gap": None if gap is None else gap[0],
    }


def explanation_of(row: Row) -> Explanation:
    """Return the explanation that a row was made of."""
    texts = {} if row["text"] is None else {name: row[name] for name in _TEXTS}
    gap = row["completeness_gap"]
    return Explanation.from_dict(
        {
            **{name: row[name] for name in _SAME},
            "notes": row["notes"] or [],
            "input": {**texts, **json.loads(row["input"] or "{}")},
            "settings": json.loads(row["settings"] or "{}"),
            "remover_settings": json.loads(row["remover_settings"] or "{}"),
            "score": row["score_space"],
            "targets": [{"index": row["target"], "label": row["label"]}],
            "scores": [row["scores"]],
            "prediction": {**json.loads(row["prediction"]), "probabilities": row["probabilities"]},
            "completeness_gap": None if gap is None else [gap],
        }
    )


def upgraded(row: Row) -> Row:
    """Return a row in today's form; one of version 0.1 says neither the model nor other labels' probabilities."""
    if row.get("places") is not None:
        return row
    index, probability = row["target"], row["probability"]
    answer = {"index": index, "label": row["label"], "probability": probability, "predicted": [index]}
    return {
        **row,
        "kind": "text",
        "input": None,
        "places": [list(place) for place in zip(row["parts"], row["starts"], row["ends"], strict=True)],
        "model": "",
        "remover_settings": None,
        "prediction": _json({**answer, "threshold": None}),
        "probabilities": [*(math.nan,) * index, probability],
        "completeness_gap": None,
    }


def _json(value: Any) -> str:  # noqa: ANN401  whatever JSON holds
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
