"""Claims B1 and B2 on a decoder: is a fitted and finetuned mask the most faithful explanation of a prompted model?

    python findings/llm.py path/to/data              all corpora
    python findings/llm.py path/to/data sst imdb     some of them
    python findings/llm.py path/to/data --texts 2    few texts and short fits, printed and not put into the document

SmolLM2-135M-Instruct classifies sentences of SST and of Rotten Tomatoes, and reviews of IMDB, by a prompt with examples
of the training data; tweets by emotion are classified by the same model with a LoRA head, trained here. Texts are
explained for the predicted label, word by word. Three triples of weights are drawn for the attribution network (an
encoder with its own tokenizer), and the one that is best by comprehensiveness on validation texts explains the test
texts, with and without finetuning. Where a prompt is hardly better than chance, nobody can tell what its words mean.
Everything is kept, so that a stopped script goes on; two processes work at a time.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import llm_head
import llm_tables
import minilm
import numpy as np
import smollm2
from document import WORK
from llm_tables import Accuracy, Found, columns
from networks import measured
from processes import in_processes

import whylight as wl
from whylight.core.prompt import Prompt, Shot
from whylight.core.prompt_files import read_prompt
from whylight.data.dataset import Dataset, Record
from whylight.explaining.options import Options
from whylight.run.evaluation import Evaluation
from whylight.views.classifier import Classifier

TEXTS = {"sst": 40, "emotion": 40, "rt_polarity": 10, "imdb": 10}
SHOTS = {"sst": 4, "rt_polarity": 6, "imdb": 4}
WORDS, TOKENS = 20, 400
"""Words that a sentence of SST has at most, and tokens that are read of a review of IMDB."""
SEQUENTIAL, FITTED, VALIDATED, MEASURED = 15, 300, 20, 200
"""Texts for sequential integrated gradients, to fit on, to choose the network by, and for accuracies."""
TRIALS, STEPS, RATE = 3, 10, 3e-4
WEIGHTS = ("prediction", "inverse", "sparsity")
FOLDERS = {"sst": "sst_trees"}
CHEAP = ("occlusion", "input_x_gradient", "deeplift", "decompx_linear")
ASKED = ("self_explanation",)
"""Of a prompted model alone."""
SAMPLED = ("lime[samples=200]", "kernel_shap[samples=200]")
PATHS = ("integrated_gradients[steps=20]", "gradient_shap[samples=20]")
SLOW = ("sequential_integrated_gradients",)
WHOLE = ("sst", "emotion")
"""Corpora on which everything is run; on the others only what is cheap is."""


@dataclass(frozen=True)
class Run:
    """An evaluation on test texts: methods, and what is asked of them."""

    name: str
    methods: tuple[str, ...]
    texts: int
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Corpus:
    """A corpus with the model that classifies it.

    Attributes:
        name: Its name.
        path: Where all data are.
        few: How many texts are explained at most, where the script is only tried.
    """

    name: str
    path: Path
    few: int | None = None

    @property
    def work(self) -> Path:
        """Where models and runs are kept."""
        return WORK / "llm" / (self.name if self.few is None else f"{self.name}-{self.few}")

    def split(self, name: str) -> Dataset:
        """Read a split; sentences of SST are those that are short."""
        folder = self.path / FOLDERS.get(self.name, self.name)
        read = wl.dataset(f"{self.name}:{folder}", split=name)
        kept = (one for one in read if self.name != "sst" or len(one.example.text.split()) <= WORDS)  # type: ignore[attr-defined]
        return replace(read, records=tuple(map(_bare, kept)))

    def sample(self, split: str, count: int) -> Dataset:
        """Draw texts of a split."""
        return self.split(split).sample(count if self.few is None else min(count, self.few), seed=0)

    @property
    def prompted(self) -> bool:
        """Whether it is classified by a prompt."""
        return self.name in SHOTS

    def prompt(self, shots: int) -> Prompt:
        """Return the prompt with so many examples, as many of each label; those of IMDB are sentences of SST."""
        source = Corpus("sst", self.path) if self.name == "imdb" else self
        drawn = _balanced(source.split("train"), shots)
        made = tuple(Shot(text=one.example.text, label=one.labels[0]) for one in drawn)  # type: ignore[attr-defined]
        return replace(read_prompt("sentiment"), shots=made, name=f"sentiment, {shots} examples")

    @property
    def classifier(self) -> Classifier:
        """The model, behind its prompt or with the head that is trained here."""
        return _loaded(self, SHOTS.get(self.name, 0))

    @property
    def removers(self) -> tuple[str, str]:
        """How words are removed: for all metrics but log-odds, and for that."""
        return "delete", self.classifier.removers[0]

    def done(self, run: Run) -> Evaluation:
        """Measure methods; what was done before is read."""
        return wl.evaluate(
            self.classifier,
            self.sample("test", TEXTS[self.name]).sample(run.texts, seed=0),
            methods=run.methods,
            metrics=tuple(dict.fromkeys(metric for metric, _ in columns(self.removers).values())),
            remover="delete",
            metric_removers=tuple(dict.fromkeys(self.removers)),
            options=Options(unit="word", long="truncate"),
            settings=run.settings,
            out=self.work / "runs" / run.name,
        )

    def accuracy(self, shots: int) -> float:
        """Return the share of test texts that are classified rightly."""
        return minilm.accuracy(_loaded(self, shots), self.sample("test", MEASURED))

    def fitted(self, number: int) -> Path:
        """Fit an attribution network with the weights of a trial, unless it is there."""
        done = wl.fit(
            "aml",
            self.classifier,
            self.sample("train", FITTED),
            self.sample("dev", VALIDATED),
            out=self.work / f"trial-{number}",
            trials=0,
            encoder=minilm.encoder(),
            remover="delete",
            epochs=2 if self.few is None else 1,
            learning_rate=RATE,
            **_weights(number),
        )
        return next(iter(done.values())).folder


def main() -> None:
    """Run what is asked for, and put its tables into the document."""
    asked = argparse.ArgumentParser(description="Explanations of a prompted language model, measured.")
    asked.add_argument("path", type=Path)
    asked.add_argument("corpora", nargs="*")
    asked.add_argument("--texts", type=int, help="try it with few texts")
    given = asked.parse_args()
    smollm2.folder()  # made once, before two processes could
    for name in given.corpora or TEXTS:
        llm_tables.write(name, _found(Corpus(name, given.path, given.texts)), keep=given.texts is None)


@cache
def _loaded(corpus: Corpus, shots: int) -> Classifier:
    if not corpus.prompted:
        return llm_head.loaded(corpus.work / "lora", corpus.sample("train", llm_head.TEXTS))
    prompt = corpus.prompt(shots)
    limit = {}
    if corpus.name == "imdb":
        tokens = _tokenizer()(prompt.written(prompt.pieces, [""]))["input_ids"]
        limit = {"max_tokens": len(tokens) + TOKENS}
    return wl.load(smollm2.folder(), prompt=prompt, **limit)


@cache
def _tokenizer() -> Any:
    from transformers import AutoTokenizer  # noqa: PLC0415  it takes seconds

    return AutoTokenizer.from_pretrained(smollm2.folder())


def _bare(record: Record) -> Record:
    """Leave out what people marked, and the words of the corpus: neither is asked about here."""
    return replace(record, rationales={}, example=replace(record.example, words=None))  # type: ignore[type-var]


def _balanced(data: Dataset, count: int) -> list[Record]:
    """Draw as many records of each label, in turns."""
    drawn = data.sample(len(data), seed=1)
    order = np.random.default_rng(1).permutation(len(drawn))
    own = {label: [drawn.records[i] for i in order if label in drawn.records[i].labels] for label in data.label_names}
    return [own[data.label_names[n % len(own)]][n // len(own)] for n in range(count)]


def _weights(number: int) -> dict[str, float]:
    drawn = np.random.default_rng(0).random((TRIALS, len(WEIGHTS)))[number]
    return dict(zip(WEIGHTS, map(float, drawn), strict=True))


def _validated(task: tuple[Corpus, int]) -> float:
    """Return the comprehensiveness of a trial on the validation texts."""
    corpus, number = task
    column = {"Comp": columns(corpus.removers)["Comp"]}
    return measured(corpus.classifier, corpus.sample("dev", VALIDATED), corpus.fitted(number), column)["Comp"]


def _done(task: tuple[Corpus, Run]) -> None:
    corpus, run = task
    corpus.done(run)


def _accuracy(task: tuple[Corpus, int]) -> float:
    corpus, shots = task
    return corpus.accuracy(shots)


def _runs(corpus: Corpus, network: Path | None) -> Sequence[Run]:
    texts = TEXTS[corpus.name] if corpus.few is None else corpus.few
    own = CHEAP if corpus.name != "imdb" else CHEAP[1:]  # hundreds of words are hundreds of passes
    cheap = Run("cheap", (*own, *(ASKED if corpus.prompted else ())), texts)
    if network is None:
        return [cheap]
    folder = {"aml.folder": str(network)}
    tuned = {**folder, "aml.steps": STEPS, "aml.metric": "comprehensiveness", "aml.rate": RATE}
    return [
        Run("slow", SLOW, min(texts, SEQUENTIAL)),
        Run("sampled", SAMPLED, texts),
        Run("paths", PATHS, texts),
        Run("finetuned", ("aml",), texts, tuned),
        Run("pretrained", ("aml",), texts, folder),
        cheap,
    ]


def _found(corpus: Corpus) -> Found:
    """Fit, explain the test texts by everything, and measure."""
    asked = sorted({0, SHOTS[corpus.name]}) if corpus.prompted else [0]
    _ = corpus.classifier  # a head is trained before two processes could
    right = list(in_processes(_accuracy, [(corpus, shots) for shots in asked]))
    trials, best = list[float](), None
    if corpus.name in WHOLE:
        count = TRIALS if corpus.few is None else 1
        trials = list(in_processes(_validated, [(corpus, number) for number in range(count)]))
        best = int(np.argmax(trials))
    runs = _runs(corpus, None if best is None else corpus.fitted(best))
    list(in_processes(_done, [(corpus, run) for run in runs]))
    labels = len(corpus.classifier.labels)
    return Found(
        accuracies=[Accuracy(shots, one, 1 / labels) for shots, one in zip(asked, right, strict=True)],
        prompted=corpus.prompted,
        trials=trials,
        runs={run.name: corpus.done(run) for run in runs},
        removers=corpus.removers,
    )


if __name__ == "__main__":
    main()
