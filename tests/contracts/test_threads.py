"""One classifier in several threads, and two classifiers on one model: the same results as one after the other."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
import torch

import quick
import tiny
from whylight.core.errors import WhylightError
from whylight.explaining.compatible import compatible
from whylight.models.load import load

THREADS = 8
TEXTS = [" ".join(tiny.WORDS[(7 * i + 3 * j) % 30] for j in range(4 + i % 5)) for i in range(16)]


def in_training(architecture: str) -> Any:
    model = tiny.model(architecture).train()
    next(iter(model.parameters())).requires_grad_(requires_grad=False)
    return model


def scores(clf: Any, method: str, text: str) -> tuple[bytes, int]:
    found = quick.run(clf, text, method, target="all")
    return np.round(found.scores, 6).tobytes(), found.provenance.forward_passes


@pytest.mark.parametrize(
    "architecture", ["bert", *(pytest.param(name, marks=pytest.mark.slow) for name in ("plm_ca", "bigbird"))]
)
def test_threads_that_share_a_model_get_what_one_thread_gets(architecture: str) -> None:
    model = in_training(architecture)
    tokenizer = tiny.tokenizer(tiny.style_of(architecture))
    classifiers = [load(model, tokenizer), load(model, tokenizer)]
    methods = [name for name, reason in compatible(classifiers[0]).items() if reason is None]
    work = [(method, text) for text in TEXTS[:1] for method in methods]
    before = quick.snapshot(model)
    serial = [scores(classifiers[0], *one) for one in work]
    start = Barrier(THREADS)

    def every(thread: int) -> list[tuple[bytes, int]]:
        start.wait()
        order = [(place + thread * 5) % len(work) for place in range(len(work))]
        found = {place: scores(classifiers[thread % 2], *work[place]) for place in order}
        return [found[place] for place in range(len(work))]

    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(every, range(THREADS)):
            wrong = [work[place] for place in range(len(work)) if found[place] != serial[place]]
            assert wrong == []
    assert quick.snapshot(model) == before


def test_models_that_share_an_encoder_take_turns() -> None:
    first, second = tiny.model("bert"), tiny.model("bert")
    second.bert = first.bert
    with torch.no_grad():
        second.classifier.weight.mul_(-1)
    classifiers = [load(one, tiny.tokenizer()) for one in (first, second)]
    serial = [[scores(clf, "attingrad", text) for text in TEXTS] for clf in classifiers]
    with ThreadPoolExecutor(THREADS) as pool:
        jobs = [pool.submit(scores, classifiers[i % 2], "attingrad", TEXTS[i // 2]) for i in range(2 * len(TEXTS))]
        assert [job.result() for job in jobs] == [serial[i % 2][i // 2] for i in range(2 * len(TEXTS))]


def test_special_tokens_in_a_text_stay_text_in_threads() -> None:
    clf, text = quick.classifier(), "a [SEP] film [MASK] good"
    expected = quick.encode(clf, text).windows[0].ids.tolist()
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda _: quick.encode(clf, text).windows[0].ids.tolist(), range(400)))
    assert [ids for ids in found if ids != expected] == []


def test_a_thread_that_fails_lets_the_others_go_on() -> None:
    clf = quick.classifier()
    expected = scores(clf, "occlusion", TEXTS[0])

    def work(number: int) -> tuple[bytes, int] | None:
        if number % 2:
            with pytest.raises(WhylightError):
                quick.run(clf, " ", "occlusion")
            return None
        return scores(clf, "occlusion", TEXTS[0])

    with ThreadPoolExecutor(4) as pool:
        found = [one for one in pool.map(work, range(16)) if one is not None]
    assert found == [expected] * 8
