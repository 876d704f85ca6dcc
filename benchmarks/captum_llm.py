"""A prompted language model beside Captum's `LLMAttribution`: the same rows, the same values, and what they cost.

SmolLM2-135M-Instruct reads four examples and a text, and the log-probability of a given continuation is explained word
by word. Every word of the text is one token, so that both replace the same token by the same neutral one; that the rows
are equal is asserted. Captum runs one row at a time, at the fastest of its three ways to score a continuation.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from captum.attr import FeatureAblation, KernelShap, LLMAttribution, TextTemplateInput
from clock import Result, Work, at_least, at_most, for_orientation, take_turns

import whylight as wl
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining.case import Case, open_case
from whylight.explaining.options import Options
from whylight.explaining.receipts import explain_case
from whylight.perturb.binding import bound

sys.path.append(str(Path(__file__).resolve().parent.parent / "findings"))
import smollm2

SHOTS = (
    (
        "It begins like many others, with a train, a letter and a man who has lost his way, but after ten minutes you "
        "see that nobody here has an idea of what the story is about; the actors wait for their lines, the music "
        "never stops, and the end comes far too late."
    ),
    (
        "What a gift this is. The two sisters are played with so much warmth and wit that you forget the hours, the "
        "city has never looked so good, and when the last song begins half of the room is in tears. I have seen it "
        "twice now, and I will go again."
    ),
    (
        "I wanted to like it, because the book is one of my favourites, but everything that made it great is gone: "
        "the jokes are flat, the hero is a bore, and the famous scene at the lake is over before it starts. My "
        "friends left early, and I should have gone with them."
    ),
    (
        "Small, quiet and close to perfect. A teacher comes back to the village where she was born, and out of that "
        "simple idea the director makes a film about time, money and love that is never loud and always true. The "
        "child is wonderful, the light is beautiful, and the ending feels right."
    ),
)
"""Of 40 to 60 words each."""
ANSWERS = ("negative", "positive")
TEXT = (
    "this is one of the best films that we have seen in a long time because it takes a simple story and makes it feel "
    "new and the people in it look and talk like real people with hopes and fears and a sense of fun that carries you "
    "through the slow parts in the middle until the final scene which made all of us laugh"
)
CONTINUATION = "positive, because the story is told with warmth"
FEW, A_WORD, ROUNDS = 6, 4, 3
"""Words of which every coalition is asked, evaluations of KernelSHAP per word, and rounds of FeatureAblation."""
FASTER, FEWER, SAME = 5.0, 3.0, 1e-3
WAYS: tuple[dict[str, bool], ...] = (
    {"forward_in_tokens": False},
    {"use_cached_outputs": True},
    {"use_cached_outputs": False},
)
"""How Captum scores a continuation: in one pass, or token by token with or without its cache."""


@dataclass(frozen=True)
class Subject:
    """A text in its prompt, in front of both.

    Attributes:
        classifier: The model behind the prompt.
        words: The text.
        before: What stands before it.
    """

    classifier: Any
    words: tuple[str, ...]
    before: str

    @property
    def case(self) -> Case:
        """The text, encoded anew."""
        return open_case(self.classifier, Text(" ".join(self.words)), unit="word", target=CONTINUATION)

    @property
    def given(self) -> TextTemplateInput:
        """The same for Captum."""
        neutral = self.classifier.network.removed_by
        template = self.before + "{}" * len(self.words) + AFTER
        return TextTemplateInput(template, [f" {word}" for word in self.words], baselines=[neutral] * len(self.words))


AFTER = "\nSentiment:"


def captum_llm(*, shots: int = 4, words: int = 60, rounds: int = ROUNDS) -> list[Result]:
    """Compare values, time and computed tokens."""
    subject = _subject(shots, words)
    target = _assert_same_rows(subject)
    theirs = partial(_theirs, subject, target, _best_way(subject, target))
    return [*_ablation(subject, theirs, rounds), *_shap(subject, theirs), *_exact(shots)]


def _subject(shots: int, words: int) -> Subject:
    shown = "".join(f"Review: {text}{AFTER} {ANSWERS[n % 2]}\n\n" for n, text in enumerate(SHOTS[:shots]))
    before = f"{shown}Review:"
    prompt = wl.Prompt(template=f"{before} {{text}}{AFTER}", scoring="sum", length=1, name="captum")
    return Subject(wl.load(smollm2.folder(), prompt=prompt), tuple(TEXT.split()[:words]), before)


def _assert_same_rows(subject: Subject) -> torch.Tensor:
    """Hold the rows of both against each other, and return the tokens of the continuation."""
    case, tokenizer = subject.case, subject.classifier.tokenizer
    (window,) = case.encoded.windows
    keep = np.random.default_rng(0).random((8, len(subject.words))) < 0.5
    keep[0] = True
    ours = bound("neutral")(window, keep).batch.ids.tolist()
    given = subject.given
    theirs = [tokenizer.encode(given.to_model_input(torch.as_tensor(row[None], dtype=torch.float))) for row in keep]
    if ours != theirs:
        raise AssertionError("the two do not read the same rows")
    network: Any = getattr(case.classifier, "network")  # noqa: B009  of this kind of classifier alone
    return torch.as_tensor(network.answers[1])


def _theirs(subject: Subject, target: torch.Tensor, way: dict[str, bool], method: Any, **options: Any) -> Any:  # noqa: ANN401
    """Return Captum's scores of the words."""
    attribution = LLMAttribution(method(subject.classifier.model), subject.classifier.tokenizer)
    with torch.no_grad():
        return attribution.attribute(subject.given, target=target, **way, **options).seq_attr.double().cpu().numpy()


def _ours(subject: Subject, name: str, **settings: int) -> Any:  # noqa: ANN401  an array
    text, options = " ".join(subject.words), {"remover": "neutral", "evidence_sign": "none", "progress": False}
    return wl.explain(subject.classifier, text, method=name, target=CONTINUATION, **options, **settings).scores[0]


def _best_way(subject: Subject, target: torch.Tensor) -> dict[str, bool]:
    """Return Captum's fastest way, tried on a few words."""
    few = Subject(subject.classifier, subject.words[:3], subject.before)
    tried: list[Work] = [partial(_theirs, few, target, way, FeatureAblation) for way in WAYS]
    return WAYS[take_turns(tried, rounds=1, warm_up=False).fastest(range(len(WAYS)))]


def _ablation(subject: Subject, theirs: "partial[Any]", rounds: int) -> list[Result]:
    works: list[Callable[[], Any]] = [partial(_ours, subject, "occlusion"), partial(theirs, FeatureAblation)]
    apart = float(np.abs(works[0]() - works[1]()).max())
    turns = take_turns(works, rounds=rounds, warm_up=False)
    read, plain = _computed(subject)
    took = f"{turns.median(0):.2f} s against {turns.median(1):.2f} s"
    detail = f"{len(subject.words) + 1} evaluations, {took}, Captum with {theirs.args[2]}"
    return [
        at_most("occlusion against Captum's FeatureAblation, values", apart, SAME),
        at_least("Captum's FeatureAblation / occlusion, SmolLM2", turns.ratio(1, 0), FASTER, detail),
        at_least("tokens of plain passes / computed tokens", plain / read, FEWER, f"{read:,} of {plain:,}"),
    ]


def _computed(subject: Subject) -> tuple[int, int]:
    """Return the tokens that were computed for occlusion, the untouched text included, and those of plain passes."""
    case = subject.case
    network: Any = getattr(case.classifier, "network")  # noqa: B009
    options = Options(target=CONTINUATION, unit="word", remover="neutral")
    found = explain_case(case, METHODS["occlusion"], METHODS["occlusion"].complete_settings({}), options)
    row = len(getattr(case.encoded.windows[0], "ids"))  # noqa: B009
    behind = sum(map(len, network.answers)) - len(network.answers)
    return row + network.computed, found.provenance.forward_passes * (
        row + behind
    )  # it was read once to write behind it


def _shap(subject: Subject, theirs: "partial[Any]") -> list[Result]:
    evaluations = A_WORD * len(subject.words) + 2
    ours = partial(_ours, subject, "kernel_shap", samples=evaluations - 2)
    turns = take_turns([ours, partial(theirs, KernelShap, n_samples=evaluations)], rounds=1, warm_up=False)
    detail = f"{evaluations} evaluations each, {turns.median(0):.2f} s against {turns.median(1):.2f} s"
    return [at_least("Captum's KernelShap / kernel_shap, SmolLM2", turns.ratio(1, 0), FASTER, detail)]


def _exact(shots: int) -> list[Result]:
    """Compare Shapley values of a few words, from every coalition in both."""
    subject = _subject(shots, FEW)
    target = _assert_same_rows(subject)
    ours = _ours(subject, "kernel_shap", samples=2**FEW)
    theirs = _theirs(subject, target, WAYS[0], _of_every_coalition, n_samples=2**FEW)
    return [
        at_most(
            f"kernel_shap against Captum's, {FEW} words, every coalition", float(np.abs(ours - theirs).max()), SAME
        ),
        for_orientation("largest of these values", float(np.abs(ours).max())),
    ]


def _of_every_coalition(model: Any) -> KernelShap:  # noqa: ANN401  transformers' own type
    """Return Captum's KernelShap with every coalition once, at its weight, instead of random ones."""
    found = KernelShap(model)
    found.perturb_func, found.similarity_func = _coalitions, partial(_weight, found.inf_weight)
    return found


def _coalitions(_original: object, **facts: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401
    for row in product((1, 0), repeat=facts["num_interp_features"]):
        yield torch.tensor([row])


def _weight(ends: float, _original: object, _perturbed: object, sample: torch.Tensor, **_facts: object) -> torch.Tensor:
    n, size = sample.shape[1], int(sample.sum())
    return torch.tensor([ends if size in (0, n) else (n - 1) / (math.comb(n, size) * size * (n - size))])
