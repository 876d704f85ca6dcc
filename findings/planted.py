"""Do methods find words that are known to decide? Models trained on generated documents with planted reasons.

    python findings/planted.py

Four variants of the generator, one model each (the bundled encoder, trained on 2,000 documents of 20 words), 100 or 50
test documents. The share of planted words among as many top words as were planted, with 95 % intervals over documents.
"""

from document import WORK, Table, put

import whylight as wl
from whylight.data.dataset import Dataset
from whylight.training.recipe import Recipe, make_terms
from whylight.training.train import train

VARIANTS = {"single": 100, "redundant": 50, "negated": 50, "conjunctive": 50}
"""Test documents of each."""
MEASURE = "recall_at_k"
RECIPE = Recipe(terms=make_terms([], {}, combine="joint"), epochs=6, patience=2, learning_rate=1e-4)


def documents(variant: str, split: str, size: int) -> Dataset:
    """Generate documents."""
    return wl.dataset("planted:", split=split, size=size, variant=variant)


def main() -> None:
    """Train, explain, and put the table into the document."""
    columns: dict[str, dict[str, str]] = {}
    accuracy: dict[str, str] = {}
    for variant, size in VARIANTS.items():
        folder = WORK / "planted" / variant
        data, dev = documents(variant, "train", 2000), documents(variant, "dev", 500)
        found = train(None, data, dev, RECIPE, out=folder / "model")
        clf = wl.load(folder / "model")
        test = documents(variant, "test", size)
        methods = [name for name, reason in wl.compatible(clf).items() if reason is None]  # those that need no fit
        result = wl.evaluate(
            clf, test, methods=methods, metrics=[MEASURE], settings={"k": "rationale"}, out=folder / "run"
        )
        accuracy[variant] = f"{found.receipt['validation']['accuracy']:.3f}"
        for line in result.summary.lines:
            cell = line.cells[MEASURE]
            columns.setdefault(line.method, {})[variant] = f"{cell.mean:.2f} [{cell.low:.2f}, {cell.high:.2f}]"
    rows = [
        [name, *(own.get(variant, "-") for variant in VARIANTS)] for name, own in columns.items() if name != "human"
    ]
    rows.append(["*accuracy of the model (500 dev documents)*", *(accuracy[variant] for variant in VARIANTS)])
    put("planted", {"recall": Table(["method", *VARIANTS], rows)})


if __name__ == "__main__":
    main()
