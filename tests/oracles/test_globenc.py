"""GlobEnc against its formulas, written out on whole tensors."""

import pytest
import torch
from torch import Tensor

import by_hand
import quick
from whylight.methods import _transformed
from whylight.methods.globenc import globenc


def norms_by_hand(bert: by_hand.Bert, number: int) -> Tensor:
    layer, (value, output) = bert.layers[number], bert.value_output(number)
    f = torch.einsum("hij,jd,hde,hef->ijf", layer.attention, layer.x, value, output)
    f = f + torch.einsum("ij,jd->ijd", torch.eye(len(layer.x), dtype=torch.float64), layer.x)
    for name, whole in (("attention.output.LayerNorm", layer.u), ("output.LayerNorm", layer.w)):
        f = bert(f"{name}.weight", number) * (f - f.mean(-1, keepdim=True)) / by_hand.deviation(whole)[:, None]
    return f.norm(dim=-1)


@pytest.mark.parametrize("layer", [None, 1, 3])
def test_globenc_is_the_first_row_of_the_product_of_raw_norms(layer: int | None) -> None:
    clf = by_hand.classifier(num_hidden_layers=by_hand.DEPTH)
    expected = by_hand.Bert(clf, quick.TEXT).product(norms_by_hand, layer or by_hand.DEPTH)
    found = by_hand.of_positions(clf, quick.TEXT, globenc, layer=layer)
    torch.testing.assert_close(found, expected, atol=0, rtol=1e-9)


def test_biases_do_not_enter_but_through_attention_and_deviations() -> None:
    clf = by_hand.classifier(num_hidden_layers=1)
    before = by_hand.of_positions(clf, quick.TEXT, globenc)
    layer = clf.model.bert.encoder.layer[0]
    with torch.no_grad():
        layer.output.LayerNorm.bias.add_(1.0)
    torch.testing.assert_close(by_hand.of_positions(clf, quick.TEXT, globenc), before, atol=0, rtol=0)
    with torch.no_grad():
        layer.output.LayerNorm.weight.mul_(2.0)
    torch.testing.assert_close(by_hand.of_positions(clf, quick.TEXT, globenc), 2 * before, atol=0, rtol=1e-9)


def test_the_size_of_row_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    clf = by_hand.classifier()
    whole = by_hand.of_positions(clf, quick.TEXT, globenc)
    monkeypatch.setattr(_transformed, "BLOCK_BYTES", 1)
    torch.testing.assert_close(by_hand.of_positions(clf, quick.TEXT, globenc), whole, atol=0, rtol=1e-9)
