"""Stand-ins for files outside torch: a runtime that asks a tiny model, so that no optional package is needed."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import tiny
from whylight.core.errors import ModelError

ANY = (None, None)


class TinyRuntime:
    """What onnxruntime would be for a file of a tiny model.

    Args:
        model: The model that answers, as it is now.
        inputs: The inputs that the file claims to have.
        outputs: Its outputs.
        error: What is added to each logit, of rows that are longer than `after`.
    """

    name, token_budget = "a stand-in 1.0", 768

    def __init__(
        self,
        model: Any,
        *,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        error: float = 0.0,
        after: int = 0,
    ) -> None:
        self.model, self.error, self.after = copy.deepcopy(model).eval(), error, after
        names = ["input_ids", "attention_mask", "token_type_ids"]
        self.inputs = dict.fromkeys(names, ANY) if inputs is None else dict(inputs)
        self.kinds = dict.fromkeys(self.inputs, "tensor(int64)")
        self.outputs = {"logits": (None, model.config.num_labels)} if outputs is None else dict(outputs)
        self.calls = 0

    @property
    def output(self) -> str:
        return "logits" if "logits" in self.outputs or len(self.outputs) != 1 else next(iter(self.outputs))

    def __call__(self, given: Mapping[str, NDArray[np.int64]]) -> NDArray[np.float32]:
        self.calls += 1
        fed = {name: torch.as_tensor(np.asarray(value)) for name, value in given.items()}
        try:
            with torch.no_grad():
                logits = self.model(**fed).logits.numpy()
        except RuntimeError as error:  # as runtimes do
            raise ModelError(f"the file cannot be run on a text: {error}") from error
        return np.asarray(logits + self.error * (fed["input_ids"].shape[1] > self.after))


def folder_of(place: Path, *, config: bool = True, file: str = "model.onnx") -> Path:
    """Write a folder as one with an ONNX file looks; the file itself says nothing."""
    tiny.tokenizer().save_pretrained(place)
    if config:
        tiny.config("bert", id2label={0: "bad", 1: "good"}, label2id={"bad": 0, "good": 1}).save_pretrained(place)
    (place / file).write_bytes(b"weights.bin of a stand-in")
    return place
