"""Model objects and tokenizers that cannot be explained: each is refused in a sentence that says what would work."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForTokenClassification,
    BertModel,
)

import quick
import tiny
from test_load_refused import refused
from whylight.core.errors import InputError, SettingError
from whylight.explaining.explain import explain
from whylight.models.load import load


@pytest.mark.parametrize(
    "kind", [BertForTokenClassification, BertForQuestionAnswering, BertForMultipleChoice, BertModel]
)
def test_a_model_of_another_task_is_refused(kind: Any) -> None:
    name = kind.__name__
    refused(f"'{name}' (is not a sequence classifier|cannot be run)", kind(tiny.config("bert")), tiny.tokenizer())


@pytest.mark.parametrize("length", [0, 1, 2, -1, -100, float("nan"), "many", True, 0.5])
def test_a_tokenizer_that_reads_no_word_is_refused(length: Any) -> None:
    tokenizer = copy.deepcopy(tiny.tokenizer())
    tokenizer.model_max_length = length
    refused("model_max_length", tiny.model("bert"), tokenizer)


@pytest.mark.parametrize("length", [3, 4, 5])
def test_a_tokenizer_that_reads_one_word_works(length: int) -> None:
    tokenizer = copy.deepcopy(tiny.tokenizer())
    tokenizer.model_max_length = length
    clf = load(tiny.model("bert"), tokenizer)
    assert len(clf.encode(explain(clf, "good film , bad plot").example, unit="word", long="window").windows) >= 2


@pytest.mark.parametrize(("length", "said"), [(3, "no word fits"), (4, "no word fits"), (5, "both texts are too long")])
def test_a_tokenizer_that_reads_one_word_reads_no_pair(length: int, said: str) -> None:
    tokenizer = copy.deepcopy(tiny.tokenizer())
    tokenizer.model_max_length = length
    with pytest.raises(InputError, match=said):
        explain(load(tiny.model("bert"), tokenizer), ("good film", "bad plot"))


def test_a_token_beyond_the_embeddings_is_refused() -> None:
    tokenizer = copy.deepcopy(tiny.tokenizer())
    tokenizer.add_tokens(["breathtaking"])
    rows = tiny.model("bert").get_input_embeddings().num_embeddings
    refused(f"ids up to {rows}, and the model has embeddings up to {rows - 1}", tiny.model("bert"), tokenizer)


def test_a_model_without_values_is_refused() -> None:
    with torch.device("meta"):
        model = tiny.AutoModelForSequenceClassification.from_config(tiny.config("bert"))
    refused("'meta', where weights have no values", model, tiny.tokenizer())


def test_a_model_made_in_inference_mode_is_refused_and_a_copy_of_it_works() -> None:
    with torch.inference_mode():
        model = copy.deepcopy(tiny.model("bert"))
        model.load_state_dict({name: tensor.clone() for name, tensor in model.state_dict().items()}, assign=True)
    refused(r"copy\.deepcopy\(model\)", model, tiny.tokenizer())
    own = quick.run(load(copy.deepcopy(model), tiny.tokenizer()), quick.TEXT, "saliency")
    expected = quick.run(quick.classifier("bert"), quick.TEXT, "saliency")
    np.testing.assert_allclose(own.scores, expected.scores, rtol=1e-6)


@pytest.mark.parametrize(
    "wrap", [torch.compile, torch.nn.DataParallel, lambda m: torch.nn.DataParallel(torch.compile(m))]
)
def test_a_wrapped_model_is_the_model(wrap: Any) -> None:
    clf: Any = load(wrap(tiny.model("bert")), tiny.tokenizer())
    assert type(clf.model).__name__ == "BertForSequenceClassification"
    expected = quick.run(quick.classifier("bert"), quick.TEXT, "input_x_gradient")
    np.testing.assert_allclose(quick.run(clf, quick.TEXT, "input_x_gradient").scores, expected.scores, rtol=1e-6)


def test_a_module_of_another_kind_is_named() -> None:
    refused("a 'Linear' is no classifier of transformers", torch.nn.Linear(2, 2))


def test_labels_are_a_list_of_names() -> None:
    refused("a list of names", len, labels="ab", kind=SettingError)
    clf = load(lambda texts: np.full((len(texts), 2), 0.5), labels=np.asarray([3, 7]))  # type: ignore[arg-type]
    assert clf.labels.names == ("3", "7")
