"""PLM-CA: the network computes its formulas, whatever it is batched, padded, blocked or hooked with."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from torch import Tensor

import tiny
from tiny_plm_ca import ATTENTIONS, CHUNK, ENCODERS, LABELS, documents, embedded, network
from whylight.models.networks.label_attention import DECODERS, LabelAttention
from whylight.models.networks.plm_ca import cut_chunks
from whylight.models.unchanged import eager_attention


def numbers(module: Any) -> dict[str, Any]:
    return {name: parameter.detach().numpy() for name, parameter in module.named_parameters()}


def reference(decoder: LabelAttention, hidden: Any) -> tuple[Any, Any]:
    """Logits and attention of one document `[tokens, size]`, straight from the formulas."""
    p = numbers(decoder)
    if isinstance(decoder, DECODERS["cross"]):
        keys, values = hidden @ p["key.weight"].T, hidden @ p["value.weight"].T + p["value.bias"]
        attention = softmax(p["queries.weight"] @ keys.T, axis=1)
        read = attention @ values
        spread = np.sqrt(read.var(axis=1, keepdims=True) + 1e-5)
        normed = (read - read.mean(axis=1, keepdims=True)) / spread * p["norm.weight"] + p["norm.bias"]
        return normed @ p["output.weight"][0] + p["output.bias"][0], attention
    attention = softmax(p["queries.weight"] @ np.tanh(p["key.weight"] @ hidden.T), axis=1)
    return ((attention @ hidden) * p["output.weight"]).sum(axis=1) + p["output.bias"], attention


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_decoder_computes_its_formula_over_real_tokens(attention: str) -> None:
    model = network(attention=attention)
    lengths = (13, 1, 20)
    hidden = torch.randn(3, 20, 32, dtype=torch.float64)
    _, mask = documents(*lengths)
    logits, weights = model.decode(hidden, mask, output_label_attention=True)
    for row, length in enumerate(lengths):
        expected, expected_weights = reference(model.decoder, hidden[row, :length].numpy())
        np.testing.assert_allclose(logits[row].detach().numpy(), expected, atol=1e-10)
        np.testing.assert_allclose(weights[row, :, :length].detach().numpy(), expected_weights, atol=1e-10)
        assert not weights[row, :, length:].any()
    assert weights[0].max() > 0.5  # far from even, or the test would say little


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_row_of_padding_alone_spoils_neither_values_nor_gradients(attention: str) -> None:
    model = network(attention=attention)
    hidden = torch.randn(2, 6, 32, dtype=torch.float64, requires_grad=True)
    logits, weights = model.decode(hidden, torch.tensor([[1] * 6, [0] * 6]), output_label_attention=True)
    (gradient,) = torch.autograd.grad(logits.sum(), hidden)
    assert all(bool(values.isfinite().all()) for values in (logits, weights, gradient))


@pytest.mark.parametrize("architecture", ENCODERS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_batch_is_every_chunk_encoded_alone_and_read_together(architecture: str, attention: str) -> None:
    model = network(architecture, attention=attention)
    lengths = (19, 3, CHUNK, 2 * CHUNK)
    ids, mask = documents(*lengths, width=40, pad=model.config.pad_token_id)
    output = model(ids, mask, output_label_attention=True)
    for row, length in enumerate(lengths):
        # no padding, no mask, and the encoder counts positions by itself
        chunks = [model.encoder(input_ids=part[None]).last_hidden_state[0] for part in ids[row, :length].split(CHUNK)]
        expected, weights = reference(model.decoder, torch.cat(chunks).detach().numpy())
        np.testing.assert_allclose(output.logits[row].detach().numpy(), expected, atol=1e-9)
        np.testing.assert_allclose(output.label_attention[row, :, :length].detach().numpy(), weights, atol=1e-9)
    assert output.label_attention.shape == (4, len(LABELS), 40)
    assert bool((output.logits[0] - output.logits[1]).abs().max() > 0.01)


def test_a_document_is_read_alike_alone_and_in_a_padded_batch_in_single_precision() -> None:
    model = network("roberta", dtype=torch.float32)
    ids, mask = documents(21, 35, 5, pad=model.config.pad_token_id)
    together = model(ids, mask).logits
    for row, length in enumerate((21, 35, 5)):
        torch.testing.assert_close(model(ids[row : row + 1, :length]).logits[0], together[row], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("architecture", ENCODERS)
def test_a_token_changes_the_encoding_of_its_own_chunk_only(architecture: str) -> None:
    model = network(architecture, dtype=torch.float32)
    chunks = documents(4 * CHUNK)[0].reshape(4, CHUNK)
    other = chunks.clone()
    other[2, 3] = 104
    same = (model.encode_chunks(chunks) == model.encode_chunks(other)).flatten(1).all(dim=1)
    assert same.tolist() == [True, True, False, True]


@pytest.mark.parametrize(("length", "chunks"), [(1, 1), (CHUNK - 1, 1), (CHUNK, 1), (CHUNK + 1, 2), (3 * CHUNK, 3)])
def test_there_is_no_chunk_more_than_the_length_needs(length: int, chunks: int) -> None:
    model = network()
    with embedded(model) as seen:
        model(documents(length)[0])
    assert [tuple(values.shape) for values in seen] == [(chunks, CHUNK, 32)]
    assert cut_chunks(documents(length)[0], size=CHUNK).shape == (1, chunks, CHUNK)


def test_chunks_of_padding_alone_are_not_encoded() -> None:
    model = network()
    ids, mask = documents(3 * CHUNK, 2, CHUNK + 1, width=5 * CHUNK)
    with embedded(model) as seen:
        model(ids, mask)
    assert [len(values) for values in seen] == [3 + 1 + 2]
    chunks = torch.cat([ids[0, : 3 * CHUNK].reshape(3, CHUNK), ids[1:2, :CHUNK], ids[2, : 2 * CHUNK].reshape(2, CHUNK)])
    assert torch.equal(seen[0], model.get_input_embeddings()(chunks))  # document by document


def test_a_pad_token_that_stands_for_a_word_shifts_no_position() -> None:
    model = network("roberta")
    ids = documents(CHUNK)[0]
    ids[0, 3] = model.config.pad_token_id
    positions = torch.arange(CHUNK)[None] + 2
    expected = model.encoder(input_ids=ids, position_ids=positions).last_hidden_state
    torch.testing.assert_close(model.encode_chunks(ids), expected)


@pytest.mark.parametrize("architecture", ENCODERS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_an_empty_text_gives_finite_logits_and_gradients(architecture: str, attention: str) -> None:
    model = network(architecture, attention=attention, dtype=torch.float32)
    tokenizer = tiny.tokenizer(tiny.style_of(architecture))
    batch = tokenizer(["", "a good film " * 9], padding=True, return_tensors="pt")
    output = model(**batch, labels=torch.ones(2, len(LABELS)))
    output.loss.backward()
    assert bool(output.logits.isfinite().all())
    assert all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)
    torch.testing.assert_close(model(**tokenizer("", return_tensors="pt")).logits[0], output.logits[0])


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_blocks_and_selections_of_labels_change_no_logit(attention: str) -> None:
    model = network(attention=attention)
    ids, mask = documents(19, 7)
    hidden = torch.randn(2, 19, 32, dtype=torch.float64)
    expected, weights = model.decode(hidden, mask, output_label_attention=True)
    for block in (1, 2, 3, 5, 100):
        model.config.label_block = block
        torch.testing.assert_close(model.decode(hidden, mask)[0], expected, rtol=1e-12, atol=1e-12)
    for chosen in (slice(1, 4), [3, 0], torch.tensor([4]), slice(None)):
        some, their_weights = model.decode(hidden, mask, labels=chosen, output_label_attention=True)
        torch.testing.assert_close(some, expected[:, chosen], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(their_weights, weights[:, chosen], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(model.decode(hidden, mask, labels=chosen)[0], some, rtol=1e-12, atol=1e-12)
    assert model(ids, mask).label_attention is None


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_thousands_of_labels_never_stand_in_memory_at_once(attention: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [str(number) for number in range(3000)]
    model = network(labels=names, attention=attention, label_block=128, dtype=torch.float32)
    shapes = []
    attend = LabelAttention._attend

    def watched(self: LabelAttention, *args: Tensor) -> Tensor:
        weights = attend(self, *args)
        shapes.append(tuple(weights.shape))
        return weights

    monkeypatch.setattr(LabelAttention, "_attend", watched)
    ids, mask = documents(50, 11)
    with torch.inference_mode():
        assert model(ids, mask).logits.shape == (2, 3000)
    assert len(shapes) == math.ceil(3000 / 128)
    assert max(shapes) == (2, 128, 50)


@pytest.mark.parametrize("architecture", ENCODERS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_the_gradient_by_hooked_embeddings_is_right(architecture: str, attention: str) -> None:
    model = network(architecture, attention=attention)
    ids, mask = documents(2 * CHUNK + 3, 5, pad=model.config.pad_token_id)
    with embedded(model) as seen:
        model(ids, mask)
    point = seen[0].detach().requires_grad_(True)  # noqa: FBT003  torch's own signature

    def score(values: Tensor) -> Tensor:
        with embedded(model, values):
            return (model(ids, mask).logits * torch.tensor([[1.0], [-2.0]])).sum()

    (gradient,) = torch.autograd.grad(score(point), point)
    assert bool(gradient.isfinite().all())
    real = cut_chunks(mask, size=CHUNK)[cut_chunks(mask, size=CHUNK).any(-1)].bool()
    assert not gradient[~real].any()
    assert gradient[real].any(dim=-1).all()
    generator = torch.Generator().manual_seed(1)
    # ModernBERT rotates queries and keys in single precision, whatever the model's own
    step, tolerance = (1e-4, 1e-3) if architecture == "modernbert" else (1e-6, 1e-5)
    with torch.no_grad():
        for _ in range(3):
            direction = torch.randn(point.shape, generator=generator, dtype=torch.float64)
            measured = (score(point + step * direction) - score(point - step * direction)) / (2 * step)
            torch.testing.assert_close((gradient * direction).sum(), measured, rtol=tolerance, atol=tolerance)


def test_logits_can_be_differentiated_by_the_label_attention_that_is_returned() -> None:
    model = network(attention="laat")
    ids, mask = documents(19)
    output = model(ids, mask, output_label_attention=True)
    (gradient,) = torch.autograd.grad(output.logits[0, 3], output.label_attention)
    hidden = torch.cat([model.encode_chunks(part[None])[0] for part in ids[0].split(CHUNK)])
    torch.testing.assert_close(gradient[0, 3], hidden @ model.decoder.output.weight[3])
    assert not gradient[0, :3].any()


@pytest.mark.parametrize("architecture", ENCODERS)
def test_fused_and_plain_attention_agree_and_the_switch_reaches_the_encoder(architecture: str) -> None:
    model = network(architecture)
    ids, mask = documents(19, 3, pad=model.config.pad_token_id)
    assert model.encoder.config._attn_implementation == model.config._attn_implementation == "sdpa"
    fused = model(ids, mask).logits
    with eager_attention(model):
        output = model(ids, mask, output_attentions=True)
        assert model.encoder.config._attn_implementation == "eager"
    assert model.encoder.config._attn_implementation == model.config._attn_implementation == "sdpa"
    torch.testing.assert_close(output.logits, fused)
    assert torch.equal(model(ids, mask).logits, fused)
    assert [tuple(layer.shape) for layer in output.attentions] == [(4, 2, CHUNK, CHUNK)] * 2
    torch.testing.assert_close(output.attentions[0].sum(-1), torch.ones(4, 2, CHUNK, dtype=torch.float64))


def test_the_loss_is_the_mean_cross_entropy_over_documents_and_labels() -> None:
    model = network()
    ids, mask = documents(19, 3)
    labels = torch.tensor([[1, 0, 0, 1, 0], [0, 0, 1, 1, 1]])
    output = model(ids, mask, labels=labels)
    probability = expit(output.logits.detach().numpy())
    expected = -np.log(np.where(labels.numpy() == 1, probability, 1 - probability)).mean()
    assert output.loss.item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_gradient_checkpointing_changes_no_gradient(attention: str) -> None:
    model = network(attention=attention).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    model.encoder.config.attention_probs_dropout_prob = 0.0
    ids, mask = documents(19, 3)
    gradients = []
    for switch in (model.gradient_checkpointing_disable, model.gradient_checkpointing_enable):
        switch()
        model.zero_grad()
        model(ids, mask, labels=torch.ones(2, len(LABELS))).loss.backward()
        gradients.append({name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None})
    assert model.decoder.gradient_checkpointing
    torch.testing.assert_close(gradients[0], gradients[1])
