"""Which passage and which sentence did an answer come from? Retrieval prompts with a known source.

    python findings/context.py          until twenty questions are answered right
    python findings/context.py 2        fewer, printed and not put into the document

A prompt has eight passages of ten sentences; each passage is about a person, each sentence tells one thing of them. One
sentence tells a thing that is told of nobody else: a password. Behind the passages stands the beginning of that
sentence, up to the quotation mark before the password, so that how it ends stands in one known place; questions, things
that are told of everybody, and passwords without quotation marks are more than so small a model can answer. Where
SmolLM2 goes on rightly, its answer is explained: passages are left out one by one, sentences are left out one by one
(exact leave-one-out), and sentences of the best two passages alone (`hierarchical_occlusion`). Everything is kept,
prompt by prompt, so that a stopped script goes on.
"""

import json
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import smollm2
from document import WORK, Table, put

import whylight as wl
from whylight.core.registry import METHODS
from whylight.core.text import Text
from whylight.explaining import provide
from whylight.explaining.case import Case, open_case
from whylight.explaining.options import Options, removal_of
from whylight.explaining.receipts import explain_case
from whylight.views.classifier import Classifier, Request

RIGHT, PASSAGES, OPENED, TOP = 20, 8, 2, 3
REMOVER = "delete"
PROMPT = wl.Prompt(template="{text}\n\n{pair}", features=("text",), length=6, stop='"', name="beginning")
NAMES = (
    *("Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Henry", "Irene", "Jonas", "Karla", "Louis"),
    *("Maria", "Nils", "Olga", "Peter"),
)
SENTENCE = 'The secret password of {name} is the word "{value}".'
ENDS = ("tiger", "rocket", "sunflower", "diamond", "pumpkin", "thunder", "castle", "penguin", "volcano", "anchor")
FACTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "city": (
        "{name} lives in the city of {value}.",
        ("Lisbon", "Oslo", "Vienna", "Prague", "Dublin", "Madrid", "Athens", "Warsaw", "Helsinki", "Rome"),
    ),
    "job": (
        "{name} earns a living as a {value}.",
        ("baker", "nurse", "pilot", "teacher", "lawyer", "farmer", "plumber", "painter", "dentist", "librarian"),
    ),
    "pet": (
        "The pet of {name} is a {value}.",
        ("parrot", "hamster", "tortoise", "rabbit", "goldfish", "lizard", "pony", "ferret", "snake", "canary"),
    ),
    "drink": (
        "In the morning {name} always drinks {value}.",
        ("cocoa", "lemonade", "milk", "espresso", "cider", "water", "buttermilk", "tea", "juice", "soda"),
    ),
    "instrument": (
        "On Sundays {name} plays the {value}.",
        ("violin", "trumpet", "piano", "flute", "cello", "harp", "guitar", "drum", "oboe", "banjo"),
    ),
    "colour": (
        "The front door of {name} is painted {value}.",
        ("green", "yellow", "purple", "orange", "white", "black", "red", "blue", "pink", "brown"),
    ),
    "month": (
        "The birthday of {name} is in {value}.",
        ("January", "February", "March", "April", "May", "June", "July", "August", "October", "November"),
    ),
    "sport": (
        "After work {name} likes to go for a round of {value}.",
        ("tennis", "golf", "chess", "hockey", "rugby", "cricket", "bowling", "squash", "boxing", "polo"),
    ),
    "fruit": (
        "The favourite fruit of {name} is the {value}.",
        ("mango", "cherry", "plum", "pear", "banana", "peach", "melon", "grape", "apricot", "kiwi"),
    ),
    "vehicle": (
        "{name} comes to work by {value}.",
        ("train", "bicycle", "bus", "ferry", "tram", "car", "scooter", "taxi", "subway", "boat"),
    ),
}


@dataclass(frozen=True)
class Asked:
    """A retrieval prompt: the passages, the beginning that is to be ended, and where its end stands."""

    context: str
    beginning: str
    answer: str
    passage: int
    sentence: int


def drawn(seed: int) -> Asked:
    """Draw a prompt."""
    draw = random.Random(seed)  # noqa: S311  no secret
    people = draw.sample(NAMES, PASSAGES)
    values = {fact: draw.sample(list(options), PASSAGES) for fact, (_, options) in FACTS.items()}
    passages = [
        [FACTS[fact][0].format(name=name, value=values[fact][number]) for fact in draw.sample(list(FACTS), len(FACTS))]
        for number, name in enumerate(people)
    ]
    place, answer = draw.randrange(PASSAGES * len(FACTS)), draw.choice(ENDS)
    passage, sentence = divmod(place, len(FACTS))
    told = SENTENCE.format(name=people[passage], value=answer)
    passages[passage][sentence] = told
    return Asked("\n\n".join(map(" ".join, passages)), told[: told.index(answer)], answer, passage, place)


@cache
def model() -> Classifier:
    """Return SmolLM2, which goes on with a beginning."""
    return wl.load(smollm2.folder(), prompt=PROMPT)


def looked_at(seed: int) -> dict[str, Any]:
    """Let the model answer a prompt, and explain what it wrote if that is right."""
    one, started = drawn(seed), time.perf_counter()
    case = open_case(model(), Text(one.context, one.beginning), unit="sentence", long="refuse")
    written = case.prediction.label
    found: dict[str, Any] = {"seed": seed, "beginning": one.beginning, "answer": one.answer, "written": written}
    found["right"] = written.casefold() == one.answer
    if found["right"]:
        found |= _explained(case, one)
    return {**found, "seconds": time.perf_counter() - started}


def _explained(case: Case, one: Asked) -> dict[str, Any]:
    """Explain an answer by passages, by sentences, and by the sentences of the best passages."""
    options = Options(target="generated", unit="sentence", remover=REMOVER)
    exact, hierarchy = (
        explain_case(case, METHODS[name], METHODS[name].complete_settings(own), options)
        for name, own in (("occlusion", {}), ("hierarchical_occlusion", {"opened": OPENED}))
    )
    removal = removal_of(case.classifier, options)
    game = provide.game(case, Request(exact.targets, "log_probability"), removal)
    passages = game.levels[0]
    drops = game.full[0] - game(np.stack([passages != number for number in np.unique(passages)]))[:, 0]
    best, near = (np.argsort(-explanation.scores[0], kind="stable") for explanation in (exact, hierarchy))
    return {
        "passage": bool(drops.argmax() == one.passage),
        "sentence": bool(best[0] == one.sentence),
        "same": bool(best[0] == near[0]),
        "overlap": len({*best[:TOP].tolist()} & {*near[:TOP].tolist()}) / TOP,
        "exact": exact.provenance.forward_passes,
        "hierarchy": hierarchy.provenance.forward_passes,
    }


def results(right: int) -> Iterator[dict[str, Any]]:
    """Yield what came of prompts, until so many were answered right; what was done before is read."""
    kept = WORK / "context" / "prompts.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    known = (
        {one["seed"]: one for one in map(json.loads, kept.read_text("utf-8").splitlines())} if kept.is_file() else {}
    )
    count = seed = 0
    while count < right:
        if seed not in known:
            known[seed] = looked_at(seed)
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[seed]) + "\n")
            print(known[seed], flush=True)
        count += known[seed]["right"]
        yield known[seed]
        seed += 1


def table(found: Sequence[Mapping[str, Any]]) -> Table:
    """Return what was found, in figures."""
    right = [one for one in found if one["right"]]
    share = lambda name: f"{np.mean([one[name] for one in right]):.2f}"  # noqa: E731
    evaluations = np.mean([one["hierarchy"] / one["exact"] for one in right])
    rows = [
        ["prompts", str(len(found))],
        ["answered right", str(len(right))],
        ["the passage is first", share("passage")],
        ["the sentence is first by exact leave-one-out", share("sentence")],
        ["the hierarchy finds the first sentence of exact leave-one-out", share("same")],
        [f"overlap of the first {TOP}", share("overlap")],
        ["evaluations of the hierarchy, as a share of exact leave-one-out", f"{evaluations:.2f}"],
        ["seconds per explained prompt", f"{np.mean([one['seconds'] for one in right]):.0f}"],
    ]
    return Table(["", "SmolLM2-135M-Instruct"], rows)


def main() -> None:
    """Ask, explain, and put the table into the document."""
    right = int(sys.argv[1]) if len(sys.argv) > 1 else RIGHT
    found = table(list(results(right)))
    if right == RIGHT:
        put("context", {"found": found})
    else:
        print(found)


if __name__ == "__main__":
    main()
