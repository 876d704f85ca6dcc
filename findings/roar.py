"""Claims D2 and D6: does a model that never sees the words that a method names become worse?

    python findings/roar.py path/to/data           the studies of the findings, several hours
    python findings/roar.py path/to/data quick     the same with fewer texts and seeds, to try it out

The bundled classifier is explained on SST sentences, by occlusion with words deleted (LOO) and with words that a masked
language model writes (IM), and by LIME in both ways. The top words of each are removed from training and dev sentences,
deleted or written over by the masked language model, and MiniLM is fine-tuned anew on what is left. Everything is kept,
so that a stopped script goes on.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import minilm
from document import WORK, Table, put
from processes import in_processes

import whylight as wl
from whylight.explaining.options import Options
from whylight.store.tables import RANDOM
from whylight.study.retrained import UNTOUCHED, Roar, RoarComparison, SeedMean

NAMES = {
    "occlusion[remover=delete]": "LOO, deleted",
    "occlusion[remover=infill]": "IM",
    "lime[remover=delete,samples=200]": "LIME",
    "lime[remover=infill[mode=top1],samples=200]": "LIME, infilled",
    RANDOM: RANDOM,
    UNTOUCHED: UNTOUCHED,
}
OCCLUSION, LIME = tuple(NAMES)[:2], tuple(NAMES)[2:4]
REMOVERS = {"delete": "deleted", "infill[mode=top1]": "infilled"}
RENAMED = ("infilled", "deleted")
NUMBERS = {"epochs": 3, "learning_rate": 5e-5, "max_tokens": 128}


@dataclass(frozen=True)
class Study:
    """One study: methods, what happens to their words, and how many of them.

    Attributes:
        path: Folder of the trees.
        name: What its folder is called.
        methods: The methods.
        remover: What happens to the words.
        shares: Shares of the words.
        seeds: How many trainings of each.
        texts: Training and dev sentences.
    """

    path: Path
    name: str
    methods: tuple[str, ...]
    remover: str
    shares: tuple[float, ...]
    seeds: int
    texts: tuple[int, int]

    def done(self) -> Roar:
        """Run it; what was done before is read."""
        self._take_explanations()
        train, dev = (wl.dataset(f"sst:{self.path}", split=split) for split in ("train", "dev"))
        learnt, measured = self.texts
        return wl.roar(
            wl.load(),
            train.without(dev).sample(learnt, seed=0),
            dev.sample(measured, seed=0),
            encoder=minilm.encoder(),
            methods=self.methods,
            remover=self.remover,
            shares=self.shares,
            seeds=range(self.seeds),
            options=Options(score="log_odds"),
            out=WORK / "roar" / self.name,
            **NUMBERS,
        )

    def _take_explanations(self) -> None:
        """Take those of the study that deletes the words: the same methods explain the same sentences."""
        made, own = (WORK / "roar" / name / "explained" for name in (self.name.replace(*RENAMED), self.name))
        if made.is_dir() and not own.exists():
            shutil.copytree(made, own)


def main() -> None:
    """Run the studies, and put the tables into the document."""
    path, quick = Path(sys.argv[1]) / "sst_trees", sys.argv[2:] == ["quick"]
    seeds, texts = (2, (200, 100)) if quick else (5, (2000, 872))
    name = "quick " if quick else ""
    studies = [
        Study(path, f"{name}occlusion deleted", OCCLUSION, "delete", (0.1, 0.2, 0.3), seeds, texts),
        Study(path, f"{name}lime deleted", LIME, "delete", (0.2,), seeds, texts),
        Study(path, f"{name}occlusion infilled", OCCLUSION, "infill[mode=top1]", (0.2,), seeds, texts),
        Study(path, f"{name}lime infilled", LIME, "infill[mode=top1]", (0.2,), seeds, texts),
    ]
    list(in_processes(_explained_and_trained, studies))
    found = {study: study.done() for study in studies}
    tables = {"accuracies": _accuracies(found), "comparisons": _comparisons(found)}
    if quick:
        print("\n\n".join(map(str, tables.values())))
    else:
        put("roar", tables)


def _explained_and_trained(study: Study) -> None:
    study.done()


def _accuracies(found: dict[Study, Roar]) -> Table:
    rows = []
    for study, roar in found.items():
        for line in sorted(roar.lines, key=lambda line: line.share):
            share = f"{line.share:.0%}" if line.share else "none"
            rows.append([NAMES[line.method], share, REMOVERS[study.remover], study.name, _over_seeds(line.accuracy)])
    return Table(["method", "words removed", "how", "study", "accuracy ↓"], rows, names=4)


def _comparisons(found: dict[Study, Roar]) -> Table:
    rows = [
        [
            f"{NAMES[one.first]} - {NAMES[one.second]}",
            f"{one.share:.0%}",
            REMOVERS[study.remover],
            _over_seeds(one.difference, sign="+"),
            _tested(one),
            one.standing,
        ]
        for study, roar in found.items()
        for one in roar.comparisons
    ]
    return Table(["seed by seed", "words removed", "how", "difference of accuracy", "p", "verdict"], rows, names=3)


def _over_seeds(one: SeedMean, *, sign: str = "") -> str:
    if one.low is None or one.high is None:
        return f"{one.mean:{sign}.3f}"
    return f"{one.mean:{sign}.3f} [{one.low:{sign}.3f}, {one.high:{sign}.3f}]"


def _tested(one: RoarComparison) -> str:
    return "" if one.p_value is None else f"{one.p_value:.3f}"


if __name__ == "__main__":
    main()
