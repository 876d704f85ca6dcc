"""Remove and retrain: does a model that never sees the words that a method names become worse?

    accuracy(method, share, seed) = accuracy of the encoder, fine-tuned anew on training texts without the top words by
                                    the method, on validation texts without theirs

A deletion metric asks the explained model about texts that it has never seen the like of. Here the model learns from
such texts, so that a fall is one of information, not of the unusual. Methods that name words that matter leave a
lower accuracy; `random` stands beside them, and the untouched texts above. Two limits: where the label stands in a text
twice, removing one mention costs nothing, and which words are gone may itself give the label away (Rong et al. 2022).

Each text's words are ranked by their scores for the label that the explained model predicts (`target="gold"`: for the
true one). The retrained model starts from the pretrained encoder with a fresh head, never from the explained model.
Accuracy is that of the last epoch: no checkpoint is chosen by the texts that it is measured on. Texts of which words
were removed may meet in training and validation data; as in the paper, they stay.

A run is a folder. `explained/` holds the explanations as two ordinary runs, `trained/` a receipt per training; models
are removed as soon as they are measured. After a kill the same call resumes, within a training from its last epoch. The
runs and `roar.json` (for the trainings) say whose study it is, and refuse another. Shares and seeds are rows of the
table: more of them may be asked for later.

Reference: Hooker et al. 2019; Pham et al. 2022, section 5.1, and their code. Cost: each method once per text of both
data sets; (methods x shares + 1) x seeds trainings.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product, takewhile
from pathlib import Path
from urllib.parse import quote

from whylight.core.errors import InputError, ModelError, SettingError, unknown
from whylight.core.identity import RECEIPT, Identity
from whylight.core.limits import limited
from whylight.data.dataset import Dataset
from whylight.explaining.bar import progress_bar
from whylight.explaining.options import Options
from whylight.explaining.removing import default_remover, remover_settings
from whylight.explaining.variants import asked_methods, plugin_name
from whylight.metrics._curves import check_share
from whylight.models.contents import weights_contents
from whylight.models.folder import quoted
from whylight.models.prepare import Prepared
from whylight.models.randomise import OnModel, check_seed
from whylight.run.evaluate import evaluate
from whylight.store import files
from whylight.store.tables import Row
from whylight.study.removed import removable, text_removal, without_top
from whylight.study.retrained import UNTOUCHED, Retrained, Roar
from whylight.training.folder import claimed_by_one, interruptible, mark_started
from whylight.training.progress import Steps
from whylight.training.recipe import Recipe, make_recipe
from whylight.training.result import read_receipt
from whylight.training.train import check_data, identity_of, open_start, require_libraries, train
from whylight.views.batch import Removal
from whylight.views.classifier import Classifier, require_texts

SHARES = (0.1, 0.2, 0.3)
SEEDS = (0, 1, 2, 3, 4)
PUBLISHED = {"epochs": 3, "learning_rate": 2e-5, "batch_size": 32}
NUMBERS = (*PUBLISHED, "micro_batch", "max_tokens", "precision")
"""Numbers of a training that may be set."""
MARK = "roar.json"


@dataclass(frozen=True, slots=True)
class _Cell:
    """One training of the table."""

    method: str
    share: float
    seed: int

    def folder(self, out: Path) -> Path:
        """Return where it is trained; a method may carry settings in its name, and these any character."""
        return out / "trained" / f"{quote(self.method, safe='[]=,@')}-{self.share!r}-seed-{self.seed}"


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    """What all trainings share.

    Attributes:
        encoder: What they start from.
        texts: Training and validation texts, untouched.
        removal: What happens to removed words.
        recipe: How they train, but for the seed.
        out: Folder of the study.
    """

    encoder: str | Path
    texts: tuple[Dataset, Dataset]
    removal: Removal
    recipe: Recipe
    out: Path

    def identity(self, prepared: Prepared) -> Identity:
        """Say whose trainings the folder holds; whose explanations, the two runs in it say themselves."""
        settings = {name: value for name, value in self.recipe.asked.items() if name != "seed"}
        settings |= {"remover": self.removal.name, "remover_settings": dict(self.removal.settings)}
        found = identity_of(self.encoder, prepared, self.texts, settings)
        return replace(found, contents={**found.contents, **self.removal.contents})

    def without(self, explained: Sequence[Sequence[Row]], method: str, share: float) -> tuple[Dataset, Dataset]:
        """Return the texts that a training learns from, and those that it is measured on."""
        learnt, measured = (
            without_top(one, rows, method=method, share=share, removal=self.removal)
            for one, rows in zip(self.texts, explained, strict=True)
        )
        return learnt, measured


def roar(  # noqa: PLR0913  the public call: every argument but six is optional
    classifier: Classifier,
    data: Dataset,
    dev: Dataset,
    *,
    encoder: str | Path,
    methods: Sequence[str],
    out: Path | str,
    remover: str = "delete",
    shares: Sequence[float] = SHARES,
    seeds: Sequence[int] = SEEDS,
    options: Options | None = None,
    progress: bool = True,
    budget: float | None = None,
    max_memory: str | None = None,
    settings: Mapping[str, object] | None = None,
    **numbers: object,
) -> Roar:
    """Remove the words that methods call important, train a model anew, and see how much worse it is.

    Args:
        classifier: The classifier that is explained, as `wl.load` returned it; it stays as it is.
        data: Texts to learn from, with one label each.
        dev: Texts to measure the accuracy on.
        encoder: Folder or hub id of the pretrained encoder that every training starts from.
        methods: Names of methods; `random` stands beside them.
        out: Folder of the study; one that was stopped resumes from there.
        remover: What happens to the words: `delete`, or `infill` with `settings={"infill.model": ...}`.
        shares: Shares of the words that are removed.
        seeds: Seeds of the trainings; every method is trained with all of them.
        options: What is asked of every method alike: the target (`"predicted"` or `"gold"`), and what "removed" means
            to methods that remove words themselves.
        progress: Show progress bars, and announce what takes minutes.
        budget: Seconds; a study that takes longer, by an early estimate, is refused.
        max_memory: Memory that the process may take, e.g. `"4GB"`.
        settings: Settings of methods and removers, e.g. `{"lime.samples": 200}`.
        **numbers: Of the trainings: `epochs` (3), `learning_rate` (2e-5), `batch_size` (32), `micro_batch`,
            `max_tokens`, `precision`.

    Returns:
        The table `.rows`, with `.lines` (means over seeds), `.comparisons` of methods, and all of it as `.records()`.

    Example:
        >>> import whylight as wl
        >>> data, dev = wl.dataset("sst:trees", split="train"), wl.dataset("sst:trees", split="dev")  # doctest: +SKIP
        >>> wl.roar(wl.load(), data, dev, encoder="pretrained", methods=["lime"], out="runs/roar")  # doctest: +SKIP
    """
    asked, given = options or Options(), dict(settings or {})
    recipe = _recipe(numbers)
    _check_asked(asked, shares=shares, seeds=seeds)
    check_data(data, dev, recipe)
    _check_one_label(classifier, data)
    texts = (removable(data), removable(dev))
    check_data(*texts, recipe)  # what is left must still teach every label
    own, others = remover_settings(given, [remover])
    removal = text_removal(classifier, remover, own[remover])
    by_methods = [asked.remover or default_remover(classifier), *(one.remover or "" for one in asked_methods(methods))]
    shared = plugin_name(remover) in map(plugin_name, by_methods)  # then its settings are the methods' too
    study = _Study(encoder, texts, removal, recipe, Path(out))
    identity = study.identity(_open_encoder(study, classifier))
    with limited(budget=budget, max_memory=max_memory), claimed_by_one(study.out), interruptible(study.out):
        explained = [
            evaluate(
                classifier,
                one,
                methods=methods,
                metrics=(),
                options=asked,
                out=study.out / "explained" / name,
                progress=progress,
                settings=given if shared else others,
            ).explanations
            for name, one in zip(("train", "dev"), texts, strict=True)
        ]
        mark_started(study.out, identity, name=MARK, kind="study")
        rows = _retrained(study, explained, shares, seeds, progress=progress)
    return Roar(rows, notes=(*texts[0].notes[len(data.notes) :], *texts[1].notes[len(dev.notes) :]))


def _recipe(numbers: Mapping[str, object]) -> Recipe:
    """Complete the numbers of the trainings; every epoch is run."""
    for name in numbers:
        if name not in NUMBERS:
            raise unknown("number of a training", name, NUMBERS)
    recipe = make_recipe((), numbers={**PUBLISHED, **numbers}, settings={})
    return replace(recipe, patience=recipe.epochs)


def _check_asked(options: Options, *, shares: Sequence[float], seeds: Sequence[int]) -> None:
    """Refuse what makes no table."""
    if not shares or not seeds:
        raise SettingError("there is nothing to train without a share and a seed; give at least one of each.")
    for share in shares:
        check_share("shares", share)
    for seed in seeds:
        check_seed(seed)
    if options.unit not in (None, "word") or options.long == "truncate":
        raise SettingError("words of the whole text are removed; leave out the unit, and do not truncate.")


def _check_one_label(classifier: Classifier, data: Dataset) -> None:
    """Refuse texts and models of several labels: there is no one label to explain, and no accuracy."""
    if data.multi_label:
        raise InputError(f"'{data.name}' may give a text several labels, and accuracy is of one label a text.")
    require_texts(classifier.reads, "remove and retrain")
    classifier.labels.require_fixed("remove and retrain")
    if classifier.labels.head == "sigmoid":
        raise ModelError("the model may predict several labels of a text, and words are removed for one of them.")


def _open_encoder(study: _Study, classifier: Classifier) -> Prepared:
    """Open the encoder; the explained classifier, or another that knows the labels already, is refused."""
    require_libraries()
    if study.encoder is None:
        raise ModelError("name the pretrained encoder that trainings start from; there is no default.")
    prepared = open_start(study.encoder, study.texts[0], study.recipe, "auto")
    same = isinstance(classifier, OnModel) and (
        weights_contents(classifier.model.base_model) == weights_contents(prepared.model.base_model)
    )
    classifies = any("ForSequenceClassification" in kind for kind in prepared.model.config.architectures or ())
    if not prepared.fresh or (same and classifies):
        what = "the explained classifier itself" if same else "a classifier of these labels already"
        raise ModelError(
            f"{quoted(study.encoder)} is {what}; trainings start from a pretrained encoder, such as the one that it "
            "was fine-tuned from."
        )
    return prepared


def _retrained(
    study: _Study,
    explained: Sequence[Sequence[Row]],
    shares: Sequence[float],
    seeds: Sequence[int],
    *,
    progress: bool,
) -> tuple[Retrained, ...]:
    """Train what was not trained before, and return the table."""
    first = explained[0][0]["example_id"]
    methods = [row["method"] for row in takewhile(lambda row: row["example_id"] == first, explained[0])]
    removed = [(UNTOUCHED, 0.0), *product(methods, map(float, dict.fromkeys(shares)))]
    cells = [_Cell(method, share, seed) for (method, share), seed in product(removed, dict.fromkeys(seeds))]
    missing = [cell for cell in cells if not _is_done(cell.folder(study.out))]
    texts, made_for = study.texts, removed[0]
    with progress_bar(len(missing), shown=progress) as step:
        for cell in missing:
            step(f"training: {cell.method} {cell.share:.0%}, seed {cell.seed}")
            if made_for != (cell.method, cell.share):  # the seeds of one share follow each other
                made_for = cell.method, cell.share
                texts = study.without(explained, *made_for)
            _train(study, texts, cell)
    return tuple(Retrained(cell.method, cell.share, cell.seed, _accuracy(cell.folder(study.out))) for cell in cells)


def _train(study: _Study, texts: tuple[Dataset, Dataset], cell: _Cell) -> None:
    recipe, folder = replace(study.recipe, seed=cell.seed), cell.folder(study.out)
    train(study.encoder, *texts, recipe, out=folder, disjoint=False, progress=False, callbacks=[Steps()])
    _is_done(folder)  # and its model can go


def _is_done(folder: Path) -> bool:
    """Say whether a training is over; of one that is, nothing but the receipt is kept."""
    with files.said(folder):
        if not (folder / RECEIPT).is_file():
            return False
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != RECEIPT:
                path.unlink()
    return True


def _accuracy(folder: Path) -> float:
    """Return the accuracy after the last epoch."""
    history = read_receipt(folder).get("history", [])
    found = [float(one["eval_accuracy"]) for one in history if "eval_accuracy" in one]
    if not found:
        raise InputError(f"'{folder / RECEIPT}' is damaged: it has no accuracy; remove its folder, and call again.")
    return found[-1]
