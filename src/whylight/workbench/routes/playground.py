"""The playground: a text of one's own, explained by any method, with any settings; nothing is kept."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from whylight.core.text import Text
from whylight.workbench.bench import evidence_json
from whylight.workbench.routes.access import OnBench, Plain, SignedIn

router = APIRouter(prefix="/api", default_response_class=Plain)
LONGEST = 200_000
BUDGET = 120.0
"""Seconds that an explanation may take."""


class Typed(BaseModel):
    """What was typed, and how it is to be explained."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = Field(min_length=1, max_length=LONGEST)
    method: str = Field(max_length=100)
    label: str | None = None
    settings: dict[str, str] = Field(default_factory=dict, max_length=50)


@router.post("/playground")
def playground(bench: OnBench, _session: SignedIn, given: Typed) -> dict[str, Any]:
    """Explain a text."""
    found = bench.desk.tried(
        Text(given.text), given.method, given.label or "predicted", settings=given.settings, budget=BUDGET
    )
    answers = [
        {
            **evidence_json(found, target.label),
            "description": target.description,
            "probability": found.prediction.probabilities[target.index],
            "words": found.as_list(target.index),
        }
        for target in found.targets
    ]
    return {"text": given.text, "answers": answers}
