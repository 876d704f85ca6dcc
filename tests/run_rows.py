"""Rows of made-up runs, as `whylight evaluate` stores them."""

import json
import re
from pathlib import Path

from whylight.store import tables
from whylight.store.tables import Row


def explanation_row(key: str, method: str, scores: list[float], **changes: object) -> Row:
    text = str(changes.pop("text", "a plain film with words"))
    places = [[0, match.start(), match.end()] for match in re.finditer(r"\S+", text)][: len(scores)]
    answer = {"index": 1, "label": "positive", "probability": 0.9, "predicted": [1], "threshold": None}
    row = {"run": "r", "example_id": key, "kind": "text", "text": text, "pair": None, "input": None,
           "model": "some/model", "method": method, "settings": "{}", "remover_settings": "{}",
           "unit": "word", "remover": None, "score_space": "logit", "target": 1, "label": "positive", "correct": True,
           "probability": 0.9, "prediction": json.dumps(answer), "probabilities": [0.1, 0.9], "completeness_gap": None,
           "signed": min(scores, default=0.0) < 0, "class_specific": True,
           "places": places, "scores": scores, "seconds": 0.25,
           "forward_passes": 3, "backward_passes": 1, "notes": []}  # fmt: skip
    return {**row, **changes}


def score_row(key: str, method: str, value: float | None, **changes: object) -> Row:
    row = {"run": "r", "example_id": key, "method": method, "target": 1, "label": "positive", "correct": True,
           "metric": "aopc_comprehensiveness", "settings": '{"steps": null}', "remover": "mask",
           "score_space": "probability", "value": value}  # fmt: skip
    return {**row, **changes}


def write(folder: Path, explanations: list[Row], scores: list[Row], **asked: object) -> Path:
    folder.mkdir(exist_ok=True)
    texts = len({row["example_id"] for row in explanations})
    data = {"name": "corpus", "split": "dev", "texts": texts, "notes": ["drawn at random", "seed 0"]}
    question = {"model": "some/model", "data": data, "unit": "word", "removers": ["mask"],
                "score_space": "probability", **asked}  # fmt: skip
    about = {"run": "r", "asked": json.dumps(question), "rows_run": 1234, "seconds": 12.0, "peak_megabytes": 99.0}
    tables.write(folder / "explanations.parquet", explanations, tables.EXPLANATIONS)
    tables.write(folder / "scores.parquet", scores, tables.SCORES)
    tables.write(folder / "runs.parquet", [about], tables.RUNS)
    return folder


VALUES = {
    "occlusion": [0.90, 0.80, 0.85, 0.75, 0.70, 0.65, 0.88, 0.78, 0.82, 0.72, 0.95, 0.60],
    "lime": [0.50, 0.45, 0.40, 0.42, 0.30, 0.33, 0.48, 0.44, 0.41, 0.36, 0.55, 0.20],
    "random": [0.10, 0.12, 0.08, 0.11, 0.09, 0.10, 0.11, 0.09, 0.10, 0.08, 0.12, 0.07],
    "human": [0.99] * 12,
}


def example_rows() -> tuple[list[Row], list[Row]]:
    """Twelve texts; by the first metric occlusion is clearly best, by the second it and lime take turns."""
    explanations, scores = [], []
    for method, values in VALUES.items():
        for i, value in enumerate(values):
            signs = [0.0, 1.0, 0.0, 1.0] if method == "human" else [0.1 * i, 0.5, -0.2, float(len(method))]
            about = {"correct": i < 10}
            explanations.append(explanation_row(f"t{i}", method, signs, **about))
            scores.append(score_row(f"t{i}", method, value, **about))
            even = 0.4 + (0.1 if (i % 2 == 0) == (method == "lime") else 0.0)
            extra = {"metric": "iou", "remover": None, "score_space": None, "settings": "{}"}
            scores.append(score_row(f"t{i}", method, even, **about, **extra))
    return explanations, scores
