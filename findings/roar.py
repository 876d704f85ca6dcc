"""Claims D2 and D6: does a model that never sees the words that a method names become worse?

    python findings/roar.py path/to/data occlusion           leave-one-out and input marginalisation, two hours or more
    python findings/roar.py path/to/data lime                LIME with words deleted and infilled, as long
    python findings/roar.py path/to/data occlusion quick     the same with fewer texts and seeds, to try it out

The bundled classifier is explained on SST sentences, by occlusion with words deleted (LOO) and with words that the
bundled masked language model writes (IM), and by LIME in both ways. The top words of each are removed from training
and dev sentences, deleted or written over by the masked language model, and MiniLM is fine-tuned anew on what is left.
Everything is kept, so that a stopped script goes on.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import minilm
from document import WORK, Table, put
from processes import JOBS, in_processes

import whylight as wl
from whylight.core.identity import RECEIPT
from whylight.data.dataset import Dataset
from whylight.explaining.options import Options
from whylight.models.bundled_start import BUNDLED_NAME
from whylight.store.tables import RANDOM
from whylight.study.removed import removable
from whylight.study.retrained import UNTOUCHED, Roar, RoarComparison, SeedMean

NAMES = {
    "occlusion[remover=delete]": "LOO, deleted",
    "occlusion[remover=infill]": "IM",
    "lime[remover=delete,samples=200]": "LIME",
    "lime[remover=infill[mode=top1],samples=200]": "LIME, infilled",
    RANDOM: RANDOM,
    UNTOUCHED: UNTOUCHED,
}
METHODS = {"occlusion": tuple(NAMES)[:2], "lime": tuple(NAMES)[2:4]}
REMOVERS = {"delete": "deleted", "infill[mode=top1]": "infilled"}
ASKED = Options(score="log_odds")
NUMBERS = {"epochs": 3, "learning_rate": 5e-5, "max_tokens": 128, "precision": "bfloat16"}


@dataclass(frozen=True)
class Study:
    """One study: some methods, what happens to their words, and how many of them.

    Attributes:
        path: Folder of the trees.
        kind: Which methods.
        remover: What happens to the words.
        share: Share of the words.
        seeds: How many trainings of each.
        texts: Training and dev sentences.
    """

    path: Path
    kind: str
    remover: str
    share: float
    seeds: int
    texts: tuple[int, int]

    @property
    def shared(self) -> Path:
        """Where explanations and trainings lie that all studies of these methods and texts have in common."""
        return WORK / "roar" / f"{self.kind} {self.texts[0]}"

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.shared / f"{REMOVERS[self.remover]} {self.share:.0%}"

    def data(self) -> tuple[Dataset, Dataset]:
        """Return the sentences to learn from and to measure on."""
        train, dev = (wl.dataset(f"sst:{self.path}", split=split) for split in ("train", "dev"))
        learnt, measured = self.texts
        return train.without(dev).sample(learnt, seed=0), dev.sample(measured, seed=0)

    def explain(self) -> None:
        """Explain all sentences, for every study of these methods."""
        for name, one in zip(("train", "dev"), self.data(), strict=True):
            out = self.shared / "explained" / name
            wl.run_corpus(
                BUNDLED_NAME, removable(one), methods=METHODS[self.kind], options=ASKED, out=out, workers=JOBS
            )

    def done(self) -> Roar:
        """Run it; what was done before is read."""
        if not self.folder.exists():
            every = list(self.shared.glob(f"*/trained/{UNTOUCHED}-*/{RECEIPT}"))  # of no words removed
            shutil.copytree(self.shared / "explained", self.folder / "explained")
            for made in every:
                own = self.folder / "trained" / made.parent.name
                own.mkdir(parents=True, exist_ok=True)
                shutil.copy(made, own)
        return wl.roar(
            wl.load(),
            *self.data(),
            encoder=minilm.encoder(),
            methods=METHODS[self.kind],
            remover=self.remover,
            shares=[self.share],
            seeds=range(self.seeds),
            options=ASKED,
            out=self.folder,
            **NUMBERS,
        )


def main() -> None:
    """Run the studies, and put the tables into the document."""
    path, kind, quick = Path(sys.argv[1]) / "sst_trees", sys.argv[2], sys.argv[3:] == ["quick"]
    size = (2, (200, 100)) if quick else (5, (2000, 872))
    every = [("delete", 0.2), ("infill[mode=top1]", 0.2)]
    every += [("delete", 0.1), ("delete", 0.3)] if kind == "occlusion" else []
    studies = [Study(path, kind, remover, share, *size) for remover, share in every]
    studies[0].explain()
    found = dict(zip(studies, in_processes(Study.done, studies), strict=True))
    tables = {"accuracies": _accuracies(found), "comparisons": _comparisons(found)}
    if quick:
        print("\n\n".join(map(str, tables.values())))
    else:
        put(f"roar_{kind}", tables)


def _accuracies(found: dict[Study, Roar]) -> Table:
    rows = []
    for study, roar in found.items():
        for line in roar.lines:
            if line.share or study is next(iter(found)):  # where nothing is removed, all studies are one
                share = f"{line.share:.0%}" if line.share else "none"
                how = REMOVERS[study.remover] if line.share else ""
                rows.append([NAMES[line.method], share, how, _over_seeds(line.accuracy)])
    return Table(["method", "words removed", "how", "accuracy ↓"], rows, names=3)


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
