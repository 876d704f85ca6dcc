"""Damaged model folders, written down by hand: by name, what is done to a whole folder."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from model_folders.changes import (
    ABSENT,
    Damage,
    adapter,
    backend,
    bytes_of,
    code,
    config,
    content,
    directory,
    every,
    link,
    moved_shard,
    pickled,
    sharded,
    weights,
    without,
    words,
)

DEEP = "[" * 100_000
TEMPLATE = "{{ ''.__class__.__mro__[1].__subclasses__() }}{% set x = cycler.__init__.__globals__.os.popen('id') %}"


def _with_header(header: object) -> Callable[[bytes], bytes]:
    """Put another header before the numbers of a file of weights."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return lambda data: struct.pack("<Q", len(text)) + text + data[8 + struct.unpack("<Q", data[:8])[0] :]


def _renamed(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {f"x.{name}": tensor for name, tensor in state.items()}


def _resized(name: str, *shape: int) -> Damage:
    return weights(lambda state: {**state, name: torch.ones(shape)})


def _dropped(*names: str) -> Damage:
    return weights(lambda state: {k: v for k, v in state.items() if k not in names})


def _fixed(value: float) -> Damage:
    return every(lambda tensor: torch.full_like(tensor, value))


def _loop(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to("config.json")


def _itself(folder: Path) -> None:
    (folder / "more").symlink_to(folder)


def _empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def _file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("not a folder")
    (folder.parent / "keep").touch()


def _dangling(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(folder.parent / "nowhere")


def _pipe(folder: Path) -> None:
    (folder / "generation_config.json").unlink(missing_ok=True)
    os.mkfifo(folder / "README.txt")


def _vocabulary(folder: Path) -> None:
    """Give the tokenizer more tokens than the model has embeddings."""
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"]["film"] = len(content["model"]["vocab"])
    content["model"]["vocab"]["plot"], content["model"]["vocab"]["film"] = len(content["model"]["vocab"]) - 1, 11
    (folder / "tokenizer.json").write_text(json.dumps(content))


def _tokenizer_model(**changes: Any) -> Damage:
    def damage(folder: Path) -> None:
        content = json.loads((folder / "tokenizer.json").read_text())
        content["model"].update(changes)
        (folder / "tokenizer.json").write_text(json.dumps(content))

    return damage


LABELS: dict[str, Any] = {
    "a gap": {"0": "a", "2": "b"},
    "from one": {"1": "a", "2": "b"},
    "below zero": {"-1": "a", "0": "b"},
    "names as keys": {"a": 0, "b": 1},
    "fractions": {"0.5": "a", "1": "b"},
    "too many": {str(i): f"L{i}" for i in range(7)},
    "one": {"0": "only"},
    "none": {},
    "a list": ["a", "b"],
    "a text": "ab",
    "a number": 2,
    "nothing for a name": {"0": None, "1": "b"},
    "tables for names": {"0": {"a": 1}, "1": []},
    "repeated": {"0": "same", "1": "same"},
    "numbers": {"0": 0, "1": 1},
    "empty names": {"0": "", "1": ""},
    "several lines": {"0": "a\nb", "1": "\x1b[31mred"},
}
BY_HAND: dict[str, Damage] = {
    "whole": lambda _folder: None,
    **{f"labels: {name}": config(id2label=value) for name, value in LABELS.items()},
    **{
        f"num_labels {n!r}": config(id2label=ABSENT, label2id=ABSENT, num_labels=n)
        for n in (0, -1, 3, 1e9, "2", 10**12)
    },
    "num_labels and other names": config(num_labels=5),
    **{
        f"decision_threshold {v!r}": config(decision_threshold=v)
        for v in ("x", "0.5", float("nan"), 7, -0.1, None, [], True)
    },
    "a decision threshold": config(decision_threshold=0.3, problem_type="multi_label_classification"),
    **{
        f"problem_type {v!r}": config(problem_type=v)
        for v in ("nonsense", 3, "regression", "multi_label_classification")
    },
    **{
        f"model_type {v!r}": config(model_type=v)
        for v in ("", "nonsense", 5, None, "gpt2", "t5", "vit", "clip", "plm_ca", [])
    },
    **{
        f"architectures {v!r}": config(architectures=v)
        for v in (["BertForTokenClassification"], "x", 5, [5], [], ["Nope"])
    },
    **{
        f"{key} {value!r}": config(**{key: value})
        for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "max_position_embeddings")
        for value in (0, -3, 10**9, 10**30, "16", None, 2.5, [])
    },
    "intermediate_size 10**9": config(intermediate_size=10**9),
    "type_vocab_size 1": config(type_vocab_size=1),
    "hidden_act nonsense": config(hidden_act="nonsense"),
    "layer_norm_eps nan": config(layer_norm_eps=float("nan")),
    "dropout 7": config(hidden_dropout_prob=7),
    "pad_token_id beyond": config(pad_token_id=99),
    "dtype nonsense": config(dtype="float17"),
    "dtype bfloat16": config(dtype="bfloat16"),
    "attention from the hub": config(attn_implementation="evil/kernel", _attn_implementation="evil/kernel"),
    "attention nonsense": config(attn_implementation="nonsense"),
    "quantised nonsense": config(quantization_config={"quant_method": "nonsense"}),
    "quantised": config(quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True}),
    "transformers_weights outside": config(transformers_weights="../../etc/passwd"),
    "transformers_weights missing": config(transformers_weights="other.safetensors"),
    "is_decoder": config(is_decoder=True),
    "torchscript": config(torchscript=True, return_dict=False),
    "no tuple": config(return_dict=False),
    "attentions always": config(output_attentions=True, output_hidden_states=True),
    "code": code(),
    "code of another type": code(model_type="home_made"),
    "code without a type": code(model_type=ABSENT),
    "config is a list": content("config.json", b"[1, 2]"),
    "config is null": content("config.json", b"null"),
    "config is empty": content("config.json", b""),
    "config is an empty object": content("config.json", b"{}"),
    "config is cut": bytes_of("config.json", lambda data: data[: len(data) // 2]),
    "config is binary": content("config.json", bytes(range(256))),
    "config is deep": content("config.json", DEEP.encode()),
    "config has deep labels": content("config.json", b'{"model_type": "bert", "id2label": ' + DEEP.encode()),
    "config is UTF-16": bytes_of("config.json", lambda data: data.decode().encode("utf-16")),
    "config with a mark": bytes_of("config.json", lambda data: b"\xef\xbb\xbf" + data),
    "config is a folder": directory("config.json"),
    "config leads to itself": _loop,
    "config with a huge number": content("config.json", b'{"model_type": "bert", "hidden_size": ' + b"9" * 6000 + b"}"),
    "no config": without("config.json"),
    "tokenizer is a folder": directory("tokenizer.json"),
    "tokenizer is a list": content("tokenizer.json", b"[]"),
    "tokenizer is an empty object": content("tokenizer.json", b"{}"),
    "tokenizer is cut": bytes_of("tokenizer.json", lambda data: data[: len(data) // 2]),
    "tokenizer is binary": content("tokenizer.json", bytes(range(256))),
    "tokenizer is deep": content("tokenizer.json", DEEP.encode()),
    "no tokenizer": without("tokenizer.json"),
    "no settings of the tokenizer": without("tokenizer_config.json"),
    "a word beyond the embeddings": _vocabulary,
    "an empty vocabulary": _tokenizer_model(vocab={}),
    "negative ids": _tokenizer_model(vocab={"[UNK]": -1, "a": 0}),
    "the same id twice": _tokenizer_model(vocab={"[UNK]": 1, "a": 1, "good": 1}),
    "ids with gaps": _tokenizer_model(vocab={"[UNK]": 1, "[PAD]": 0, "a": 2**40}),
    "unknown token missing": _tokenizer_model(unk_token="[NONE]"),  # noqa: S106  no password
    "another tokenizer model": _tokenizer_model(type="Nonsense"),
    "no post-processor": backend(post_processor=None),
    "no normaliser and no splitting": backend(normalizer=None, pre_tokenizer=None),
    "a text is thrown away": backend(normalizer={"type": "Replace", "pattern": {"Regex": ".*"}, "content": ""}),
    "truncation in the tokenizer": backend(
        truncation={"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 5}
    ),
    "padding in the tokenizer": backend(
        padding={
            "strategy": {"Fixed": 100},
            "direction": "Left",
            "pad_to_multiple_of": None,
            "pad_id": 99,
            "pad_type_id": 9,
            "pad_token": "[PAD]",
        }
    ),
    **{
        f"model_max_length {v!r}": words(model_max_length=v)
        for v in (0, 1, 2, 3, -5, 1e30, float("nan"), "x", None, True, 2.5)
    },
    "tokenizer class unknown": words(tokenizer_class="NonsenseTokenizer"),
    "tokenizer class of another model": words(tokenizer_class="GPT2Tokenizer"),
    "tokenizer class a number": words(tokenizer_class=5),
    "tokenizer settings are a list": content("tokenizer_config.json", b"[]"),
    "tokenizer settings are cut": content("tokenizer_config.json", b'{"a":'),
    "special tokens as numbers": words(cls_token=5, sep_token=[]),
    "special tokens absent": words(**{f"{n}_token": ABSENT for n in ("pad", "unk", "cls", "sep", "mask")}),
    "no padding token": words(pad_token=None),
    "new special tokens": words(mask_token="[NEW]", pad_token="[OTHER]"),  # noqa: S106  no password
    "added tokens beyond": words(added_tokens_decoder={"5000": {"content": "film", "special": False}}),
    "added tokens nonsense": words(added_tokens_decoder={"x": 3}),
    "chat template": words(chat_template=TEMPLATE),
    "files named outside": words(vocab_file="/etc/passwd", tokenizer_file="../../etc/passwd"),
    "fast files named outside": words(fast_tokenizer_files=["../tokenizer.1.0.0.json", "/etc/tokenizer.2.0.json"]),
    "weights are empty": content("model.safetensors", b""),
    "weights are cut": bytes_of("model.safetensors", lambda data: data[: len(data) // 2]),
    "weights have a cut header": bytes_of("model.safetensors", lambda data: data[:40]),
    "weights have a huge header": bytes_of("model.safetensors", lambda data: b"\xff" * 8 + data[8:]),
    "weights have a long header": bytes_of("model.safetensors", lambda data: struct.pack("<Q", 10**8) + data[8:]),
    "weights have no header": bytes_of("model.safetensors", _with_header({})),
    "weights have a broken header": bytes_of("model.safetensors", _with_header(b"{nonsense")),
    "weights overlap": bytes_of(
        "model.safetensors", _with_header({"classifier.bias": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})
    ),
    "weights are of another name": weights(_renamed),
    "weights without a head": _dropped("classifier.weight", "classifier.bias"),
    "weights without a layer": _dropped("bert.encoder.layer.1.output.dense.weight"),
    "a head of another shape": _resized("classifier.weight", 5, 16),
    "a head without shape": _resized("classifier.bias"),
    "embeddings of another shape": _resized("bert.embeddings.word_embeddings.weight", 3, 16),
    "more weights than needed": _resized("extra.weight", 4, 4),
    "weights are NaN": _fixed(float("nan")),
    "weights are infinite": _fixed(float("inf")),
    "weights are huge": _fixed(1e38),
    "weights are zero": _fixed(0.0),
    "half": every(lambda tensor: tensor.half()),
    "bfloat16": every(lambda tensor: tensor.bfloat16()),
    "double": every(lambda tensor: tensor.double()),
    "bytes": every(lambda tensor: tensor.to(torch.int8)),
    "truth values": every(lambda tensor: tensor > 0),
    "float8": every(lambda tensor: tensor.to(torch.float8_e4m3fn)),
    "weights are a folder": directory("model.safetensors"),
    "no weights": without("model.safetensors"),
    "a pickle with code": pickled,
    "shards": sharded(lambda _index, _folder: None),
    "a shard is missing": sharded(lambda _index, folder: min(folder.glob("*.safetensors")).unlink()),
    "a shard is named beside": moved_shard("other.safetensors"),
    "a shard is named above": moved_shard("../other.safetensors"),
    "a shard is named absolutely": moved_shard("PARENT/other.safetensors"),
    "a shard is a pickle": moved_shard("other.bin"),
    "an index without files": sharded(lambda index, _folder: index.update(weight_map={})),
    "an index without a map": sharded(lambda index, _folder: index.pop("weight_map")),
    "an index without metadata": sharded(lambda index, _folder: index.pop("metadata")),
    "an index of numbers": sharded(lambda index, _folder: index.update(weight_map={"classifier.bias": 5})),
    "an index with a zero byte": sharded(lambda index, _folder: index.update(weight_map={"a": "a\0.safetensors"})),
    "weights are a link outside": link("model.safetensors"),
    "config is a link outside": link("config.json"),
    "tokenizer is a link outside": link("tokenizer.json"),
    "tokenizer is a link to a file of the system": link("tokenizer.json", "/etc/passwd"),
    "a folder inside is the folder": _itself,
    "empty": _empty,
    "a file": _file,
    "a link to nowhere": _dangling,
    "a pipe inside": _pipe,
    "an adapter without a base": adapter(),
    "an adapter of nothing": adapter(base_model_name_or_path="../nowhere"),
    "an adapter of itself": adapter(base_model_name_or_path="."),
    "an adapter that imports": adapter(
        base_model_name_or_path="x", megatron_config={}, megatron_core="evil", auto_mapping={"parent_library": "evil"}
    ),
    "an adapter of no kind": adapter(base_model_name_or_path="x", peft_type="NONSENSE"),
    "a model and an adapter": content("adapter_config.json", b'{"base_model_name_or_path": "x", "peft_type": "LORA"}'),
}
