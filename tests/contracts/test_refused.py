"""A method that takes layers apart works where they are on record, and is refused by name everywhere else."""

import re

import pytest

import quick
import tiny
from whylight.core.errors import IncompatibleError
from whylight.core.registry import METHODS
from whylight.explaining.compatible import compatible, obstacle

APART = [name for name in quick.METHOD_NAMES if METHODS[name].facts["layers"] is not None]
UNKNOWN = {
    "deberta": "'DebertaV2ForSequenceClassification'",
    "bigbird": "'BigBirdForSequenceClassification'",
    "llama": "'LlamaForSequenceClassification'",
}
PRE_NORM = ("modernbert", "modernbert_mean")


@pytest.mark.parametrize("kind", tiny.EVERY)
@pytest.mark.parametrize("name", APART)
def test_layers_are_taken_apart_exactly_where_they_are_on_record(name: str, kind: str) -> None:
    refused = kind in UNKNOWN or (METHODS[name].facts["layers"] == "post_norm" and kind in PRE_NORM)
    assert (obstacle(METHODS[name], quick.classifier(kind)) is not None) == refused


@pytest.mark.parametrize("kind", UNKNOWN)
@pytest.mark.parametrize("name", APART)
def test_an_architecture_without_a_record_is_refused_with_those_that_have_one(name: str, kind: str) -> None:
    with pytest.raises(IncompatibleError, match=re.escape(UNKNOWN[kind])) as caught:
        quick.run(quick.classifier(kind), quick.TEXT, name)
    for known in ("bert", "roberta", "xlm-roberta", "electra", "distilbert", "albert", "modernbert", "PLM-CA"):
        assert known in str(caught.value)
    assert f"'{name}'" in str(caught.value)


@pytest.mark.parametrize("name", ["alti", "globenc"])
def test_models_that_norm_first_are_refused_by_name(name: str) -> None:
    with pytest.raises(IncompatibleError, match="'modernbert' begin with one"):
        quick.run(quick.classifier("modernbert"), quick.TEXT, name)
    assert "modernbert" in str(compatible(quick.classifier("modernbert"))[name])


@pytest.mark.parametrize("name", quick.METHOD_NAMES)
def test_other_methods_need_no_record(name: str) -> None:
    if name not in APART:
        assert obstacle(METHODS[name], quick.classifier("deberta")) is None
