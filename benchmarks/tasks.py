"""Ten everyday tasks in whylight, SHAP, Captum and LIME: every snippet of `docs/coming_from` is run, and counted.

    python benchmarks/tasks.py                what has changed since it was last run, and the pages
    python benchmarks/tasks.py --time         and how long each takes: in turns with whylight, on a quiet machine
    python benchmarks/tasks.py --pages        the pages alone

Snippets are in `coming_from/PACKAGE/TASK.py`. Each starts from what `load` and `explain_one` of its package left, and a
check looks whether it did what it is for. What came out is kept in `tasks.json` after every task: a run resumes.
Pages are written by `tasks_pages.py`, and have no other source of figures.
"""

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import torch
from clock import seconds, take_turns
from snippets import PEERS, TASKS, Snippet
from subjects import PARAGRAPH, SENTENCES, bundled, many_labels
from tasks_pages import STORED, Cells, stored, write_pages
from transformers import PreTrainedModel, PreTrainedTokenizerBase

import whylight as wl

POSITIONS = 128
"""How many tokens the models of the tasks read, so that a long document is quick to explain."""
LABELS = 5
THREADS = 2
ROUNDS = 3
FEW = SENTENCES[:3]
GIVEN = {
    "text": SENTENCES[0],
    "second": SENTENCES[3],
    "texts": list(FEW),
    "document": PARAGRAPH * 2 + "What remains is a wonderful epilogue.",
}
"""What a snippet finds when it starts."""
Names = dict[str, Any]


def words_of(names: Names) -> set[str]:
    """Return the words that were given scores, as far as they are whole."""
    return {str(word).strip().lower() for word, _ in names["scores"]}


def pairs_are_there(names: Names) -> bool:
    """Look whether words of the text have numbers."""
    return {"moving", "film"} <= words_of(names) and all(float(score) == score for _, score in names["scores"])


def both_texts_are_there(names: Names) -> bool:
    """Look whether words of both texts have numbers."""
    return {"moving", "watch"} <= words_of(names)


def the_end_is_there(names: Names) -> bool:
    """Look whether a long document was read to its end."""
    return {"marvel", "wonderful"} <= words_of(names)


def a_file(name: str) -> Callable[[Names], bool]:
    """Return a check that looks for a file of some size."""
    return lambda _: Path(name).stat().st_size > 1000


CHECKS: dict[str, Callable[[Names], bool]] = {
    "load": lambda _: True,
    "explain_one": pairs_are_there,
    "explain_many": lambda names: set(names["frame"].iloc[:, 0]) == set(range(len(FEW))),
    "all_labels": lambda names: len(names["scores"]) == LABELS and len(names["scores"][0]) > LABELS,
    "plot": a_file("why.png"),
    "share": a_file("why.html"),
    "long_document": the_end_is_there,
    "pair": both_texts_are_there,
    "compare": lambda names: len(names["drops"] if "drops" in names else names["found"].summary.lines) > 1,
    "sanity": lambda names: abs(names["correlation"]) <= 1 if "correlation" in names else bool(names["found"].lines),
}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep bars and notices away from the terminal."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):  # noqa: PTH123
        yield


def shortened(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: str) -> None:
    """Save a model that reads few tokens at once."""
    embeddings = model.bert.embeddings
    weight = embeddings.position_embeddings.weight.detach()[:POSITIONS].clone()
    embeddings.position_embeddings = torch.nn.Embedding.from_pretrained(weight)
    embeddings.position_ids = embeddings.position_ids[:, :POSITIONS].clone()
    embeddings.token_type_ids = embeddings.token_type_ids[:, :POSITIONS].clone()
    model.config.max_position_embeddings = tokenizer.model_max_length = POSITIONS
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@contextlib.contextmanager
def workshop() -> Iterator[None]:
    """Open a folder with the models and the data that snippets read, and work there."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, classifier in (("coder", many_labels(LABELS)), ("model", bundled())):
            with quiet():
                shortened(classifier.model, classifier.tokenizer, name)
        lines = [json.dumps({"text": one, "label": "positive"}) for one in FEW]
        Path("reviews.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        yield


def run(snippet: Snippet) -> float:
    """Run what a snippet starts from, then itself, check what it left, and return its seconds."""
    names: Names = dict(GIVEN)
    with quiet():
        for earlier in snippet.before:
            exec(compile(earlier.code, earlier.name, "exec"), names)  # noqa: S102  our own files
        code = compile(snippet.code, snippet.name, "exec")
        taken = seconds(lambda: exec(code, names))  # noqa: S102
    if not CHECKS[snippet.task](names):
        sys.exit(f"{snippet.name} ran, but did not do what it is for.")
    return taken


def timed(snippets: list[Snippet]) -> list[float]:
    """Return the median seconds of snippets that take turns."""
    taken = [list[float]() for _ in snippets]
    works = [lambda one=one, own=own: own.append(run(one)) for one, own in zip(snippets, taken, strict=True)]
    take_turns(works, rounds=ROUNDS)
    return [sorted(own[1:])[len(own[1:]) // 2] for own in taken]  # the first was to warm up


def work(kept: Cells, *, with_time: bool) -> None:
    """Run what is not stored yet, and store it."""
    for task, peer in product(TASKS, PEERS):
        snippets = [Snippet(task, "whylight", peer), Snippet(task, peer, peer)]
        cells = [kept.get(one.name, {}) for one in snippets]
        same = all(cell.get("code") == one.digest for one, cell in zip(snippets, cells, strict=True))
        if same and (not with_time or all("seconds" in cell for cell in cells)):
            continue
        begun = time.perf_counter()
        took = timed(snippets) if with_time else [run(one) for one in snippets]
        for one, own in zip(snippets, took, strict=True):
            kept[one.name] = {"code": one.digest} | ({"seconds": round(own, 3)} if with_time else {})
        STORED.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{task}, {peer}: {time.perf_counter() - begun:.1f} s", flush=True)


def main() -> None:
    """Run what is to be run, and write the pages."""
    if "--pages" not in sys.argv:
        mpl.use("agg")
        with_time = "--time" in sys.argv
        torch.set_num_threads(
            THREADS if with_time else 1
        )  # threads that wait for each other are slow on a busy machine
        with workshop():
            work(stored(), with_time=with_time)
    write_pages()


if __name__ == "__main__":
    print(f"whylight {wl.__version__}")
    main()
