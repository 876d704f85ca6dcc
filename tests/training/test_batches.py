"""What goes into a network in training: marked words as tokens, and what the tokenizer gives, nothing else."""

import numpy as np
import pytest
import torch

import tiny
import zoo
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Rationale, Record
from whylight.models.trainable import network
from whylight.training.batches import Collator, batch_of, make_items

LABELS = ("negative", "positive", "neither")


def test_evidence_is_the_tokens_of_marked_words() -> None:
    record = Record("a", Text("a gripping film"), ("positive",), {"positive": Rationale((Span(0, 2, 10),))})
    data = Dataset("made", "train", LABELS, (record,))
    (item,) = make_items(data, tiny.tokenizer("bert"), names=data.label_names, limit=64)
    tokens = tiny.tokenizer("bert").convert_ids_to_tokens(item.ids.tolist())
    marked = [token for token, own in zip(tokens, item.evidence[0], strict=True) if own]
    assert "".join(marked).replace("##", "") == "gripping"
    assert tokens[0] == "[CLS]"
    assert not item.content[0]


@pytest.mark.parametrize("style", ["bert", "roberta"])  # the first gives token types, the second does not
@pytest.mark.parametrize("name", ["bert", "gpt2", "xlm", "ctrl", "gpt_bigcode"])
@pytest.mark.parametrize("example", [Text("the plot is good"), Text("the plot is good", "it was not dull")])
def test_a_network_in_training_reads_what_a_plain_call_reads(name: str, style: str, example: Text) -> None:
    model, tokenizer = zoo.model(name).eval(), tiny.tokenizer(style)
    data = Dataset("made", "train", LABELS, (Record("a", example, ("positive",)),))
    items = make_items(data, tokenizer, names=LABELS, limit=64)
    passed = network(model, mask_id=4).run(batch_of(Collator(1, 3, multi_label=False)(items)), train=False)
    parts = [example.text] if example.pair is None else [example.text, example.pair]
    with torch.no_grad():
        plain = model(**tokenizer(*parts, return_tensors="pt")).logits
    np.testing.assert_allclose(passed.logits.detach().numpy(), plain.numpy(), atol=1e-5)
