"""PLM-CA: building, saving and loading, and what is refused."""

import json
from io import StringIO
from logging import StreamHandler
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification
from transformers.utils import logging

import tiny
from tiny_plm_ca import ATTENTIONS, CHUNK, ENCODERS, LABELS, documents, network
from whylight.core.errors import InputError, ModelError, SettingError, WhylightError
from whylight.models.load import load
from whylight.models.networks import PlmCaConfig, PlmCaForSequenceClassification, register


@pytest.mark.parametrize("architecture", ENCODERS)
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_saved_network_loads_as_it_was(architecture: str, attention: str, tmp_path: Path) -> None:
    model = network(architecture, attention=attention, decision_threshold=0.3, max_tokens=77)
    ids, mask = documents(19, 7, pad=model.config.pad_token_id)
    expected = model(ids, mask).logits
    model.save_pretrained(tmp_path)
    register()
    register()
    options: dict[str, Any] = {"use_safetensors": True, "output_loading_info": True, "dtype": torch.float64}
    for kind in (PlmCaForSequenceClassification, AutoModelForSequenceClassification):
        loaded, report = kind.from_pretrained(tmp_path, **options)
        assert isinstance(loaded, PlmCaForSequenceClassification)
        assert not report["missing_keys"]
        assert not report["unexpected_keys"]
        assert all(torch.equal(values, loaded.state_dict()[name]) for name, values in model.state_dict().items())
        # weights read from a file lie otherwise in memory, which may round otherwise
        torch.testing.assert_close(loaded(ids, mask).logits, expected, rtol=1e-12, atol=1e-12)
    config = AutoConfig.from_pretrained(tmp_path)
    assert isinstance(config, PlmCaConfig)
    assert type(config.encoder) is type(model.encoder.config)
    assert (config.attention, config.chunk_size, config.label_block, config.max_tokens) == (attention, CHUNK, 2, 77)
    assert (config.decision_threshold, config.max_position_embeddings, config.hidden_size) == (0.3, 77, 32)
    assert list(config.id2label.values()) == list(config.label2id) == LABELS
    assert config.problem_type == "multi_label_classification"
    assert config.pad_token_id == config.encoder.pad_token_id


def test_the_library_loads_a_saved_network_as_a_multi_label_classifier(tmp_path: Path) -> None:
    register()
    network(decision_threshold=0.3, max_tokens=50, dtype=torch.float32).save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    classifier: Any = load(tmp_path)
    assert classifier.labels.names == tuple(LABELS)
    assert (classifier.labels.head, classifier.labels.threshold, classifier.limit) == ("sigmoid", 0.3, 50)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_fresh_decoder_starts_as_published(attention: str) -> None:
    torch.manual_seed(0)
    names = [str(number) for number in range(400)]
    model = PlmCaForSequenceClassification.from_encoder(
        tiny.model(), labels=names, attention=attention, chunk_size=CHUNK
    )
    for name, parameter in model.decoder.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any()
        elif name.startswith("norm"):
            assert (parameter == 1).all()
        else:
            assert parameter.std().item() == pytest.approx(0.03, rel=0.1 if parameter.numel() > 100 else 0.5)
    assert not model.training


def test_a_loaded_encoder_lends_its_weights_and_stays_as_it_was() -> None:
    source = tiny.model("roberta")
    before = {name: values.clone() for name, values in source.state_dict().items()}
    model = PlmCaForSequenceClassification.from_encoder(source, labels=LABELS, chunk_size=CHUNK)
    for name, values in model.encoder.state_dict().items():
        assert torch.equal(values, before[f"roberta.{name}"])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert all(torch.equal(values, before[name]) for name, values in source.state_dict().items())
    assert model.encoder.config is not source.config
    assert getattr(model.encoder, "pooler", None) is None


@pytest.mark.parametrize("architecture", ENCODERS)
def test_an_encoder_is_read_from_a_folder(architecture: str, tmp_path: Path) -> None:
    source = tiny.model(architecture)
    source.save_pretrained(tmp_path)
    model = PlmCaForSequenceClassification.from_encoder(tmp_path, labels=LABELS, chunk_size=CHUNK)
    ids = documents(CHUNK)[0]
    expected = source.base_model(input_ids=ids).last_hidden_state
    torch.testing.assert_close(model.encode_chunks(ids), expected)
    assert model.get_input_embeddings() is model.encoder.get_input_embeddings()


def test_a_larger_vocabulary_is_saved_with_the_encoder(tmp_path: Path) -> None:
    model = network()
    model.resize_token_embeddings(200)
    model.save_pretrained(tmp_path)
    loaded = PlmCaForSequenceClassification.from_pretrained(tmp_path)
    assert loaded.get_input_embeddings().num_embeddings == loaded.config.encoder.vocab_size == 200


@pytest.mark.parametrize("architecture", ENCODERS)
def test_a_chunk_may_be_as_long_as_the_encoder_reads_and_no_longer(architecture: str) -> None:
    model = network(architecture, chunk_size=tiny.LIMIT)
    assert bool(model(documents(tiny.LIMIT)[0]).logits.isfinite().all())
    with pytest.raises(InputError, match=f"at most {tiny.LIMIT}"):
        network(architecture, chunk_size=tiny.LIMIT + 1)


@pytest.mark.parametrize(
    ("mask", "says"),
    [
        ([[0, 1, 1, 1]], "padded on the right"),
        ([[1, 0, 1, 1]], "padded on the right"),
        ([[1, 1, 1, 1], [0, 0, 0, 0]], "no token"),
        ([[1] * 31], "31 tokens and the model reads 30"),
        ([[]], "no token"),
    ],
)
def test_a_document_that_cannot_be_cut_is_refused(mask: list[list[int]], says: str) -> None:
    model = network(max_tokens=30)
    with pytest.raises(InputError, match=says):
        model(torch.full((len(mask), len(mask[0])), 7), torch.tensor(mask, dtype=torch.long))


def test_padding_beyond_the_limit_is_no_text() -> None:
    model = network(max_tokens=30)
    ids, mask = documents(30, width=32)
    torch.testing.assert_close(model(ids, mask).logits, model(ids[:, :30]).logits)


def test_a_chunk_of_padding_alone_is_refused() -> None:
    with pytest.raises(InputError, match="leave it out"):
        network().encode_chunks(torch.zeros(2, CHUNK, dtype=torch.long), torch.tensor([[1] * CHUNK, [0] * CHUNK]))


@pytest.mark.parametrize(
    ("settings", "kind", "says"),
    [
        ({"attention": "crosss"}, SettingError, "Did you mean 'cross'"),
        ({"chunk_siz": 3}, SettingError, "Did you mean 'chunk_size'"),
        ({"chunk_size": 0}, SettingError, "at least 1"),
        ({"label_block": 0}, SettingError, "at least 1"),
        ({"labels": []}, SettingError, "at least one name"),
        ({"labels": ["a", "a"]}, SettingError, "only once"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any], kind: type[WhylightError], says: str) -> None:
    with pytest.raises(kind, match=says):
        network(**settings)


def test_a_folder_that_is_no_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="as an encoder"):
        PlmCaForSequenceClassification.from_encoder(tmp_path, labels=LABELS)
    tiny.config("bert").save_pretrained(tmp_path)
    torch.save(AutoModel.from_config(tiny.config("bert")).state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="as an encoder"):
        PlmCaForSequenceClassification.from_encoder(tmp_path, labels=LABELS)
    assert PlmCaForSequenceClassification.from_encoder(tmp_path, labels=LABELS, chunk_size=CHUNK, allow_pickle=True)


def test_a_configuration_that_cannot_be_is_said_once(tmp_path: Path) -> None:
    tiny.model("bert").save_pretrained(tmp_path)
    tiny.tokenizer("bert").save_pretrained(tmp_path)
    known = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(known | {"model_type": "plm_ca"}))
    said = StringIO()
    handler = StreamHandler(said)
    logging.add_handler(handler)
    try:
        with pytest.raises(ModelError, match="cannot load"):
            load(str(tmp_path))
    finally:
        logging.remove_handler(handler)
    assert said.getvalue() == ""
