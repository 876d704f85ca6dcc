"""A method that takes layers apart works where they are on record, and is refused by name everywhere else."""

import re

import pytest

import quick
import tiny
from whylight.core.errors import IncompatibleError
from whylight.core.registry import METHODS
from whylight.explaining.compatible import compatible, obstacle

APART = [name for name in quick.METHOD_NAMES if METHODS[name].facts["layers"] is not None]
BY_NORM = [name for name in APART if METHODS[name].facts["layers"] == "post_norm"]


@pytest.mark.parametrize("kind", tiny.EVERY)
def test_every_method_works_exactly_where_it_is_said_to(kind: str) -> None:
    clf = quick.classifier(kind)
    found = {name: obstacle(METHODS[name], clf) is None for name in quick.METHOD_NAMES}
    assert found == {name: quick.works(name, kind) for name in quick.METHOD_NAMES}
    claimed = {name for name, reason in compatible(clf).items() if reason is None}
    assert claimed == {name for name in quick.METHOD_NAMES if found[name] and name not in quick.FITTED}


def test_what_is_refused_is_what_takes_layers_apart() -> None:
    refused = {(name, kind) for name in quick.METHOD_NAMES for kind in tiny.EVERY if not quick.works(name, kind)}
    assert {("decompx", "llama"), ("alti", "deberta"), ("globenc", "modernbert")} < refused
    assert {name for name, _ in refused} == set(APART)
    assert {kind for _, kind in refused} == {*quick.UNRECORDED, *quick.PRE_NORM}


@pytest.mark.parametrize("kind", quick.UNRECORDED)
@pytest.mark.parametrize("name", APART)
def test_an_architecture_without_a_record_is_refused_with_those_that_have_one(name: str, kind: str) -> None:
    with pytest.raises(IncompatibleError, match=re.escape(quick.UNRECORDED[kind])) as caught:
        quick.run(quick.classifier(kind), quick.TEXT, name)
    for known in ("bert", "roberta", "xlm-roberta", "electra", "distilbert", "albert", "modernbert", "PLM-CA"):
        assert known in str(caught.value)
    assert f"'{name}'" in str(caught.value)


@pytest.mark.parametrize("name", BY_NORM)
def test_models_that_norm_first_are_refused_by_name(name: str) -> None:
    with pytest.raises(IncompatibleError, match="'modernbert' begin with one"):
        quick.run(quick.classifier("modernbert"), quick.TEXT, name)
    assert "modernbert" in str(compatible(quick.classifier("modernbert"))[name])
