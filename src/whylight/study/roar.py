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
table: more of them may be asked for later. Workers share texts, and then trainings; the table is the same for one or
many.

Reference: Hooker et al. 2019; Pham et al. 2022, section 5.1, and their code. Cost: each method once per text of both
data sets; (methods x shares + 1) x seeds trainings.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, ModelError, SettingError, unknown
from whylight.core.limits import limited
from whylight.data.dataset import Dataset
from whylight.data.stream import stream
from whylight.engines.where import Where, elsewhere
from whylight.explaining.options import Options
from whylight.explaining.removing import default_remover, remover_settings
from whylight.explaining.variants import asked_methods, each_name, plugin_name
from whylight.metrics._curves import check_share
from whylight.models.contents import weights_contents
from whylight.models.folder import quoted
from whylight.models.load import load as load_model
from whylight.models.prepare import Prepared
from whylight.models.randomise import OnModel, check_seed
from whylight.run.evaluate import Question, answer
from whylight.run.evaluation import open_run
from whylight.run.running import Asked, run_question
from whylight.store.parts import COMMITS
from whylight.store.tables import Row
from whylight.study.removed import removable, text_removal
from whylight.study.retrained import Roar
from whylight.study.retraining import Study, retrained
from whylight.training.folder import claimed_by_one, interruptible, mark_started
from whylight.training.recipe import Recipe, make_recipe
from whylight.training.seeds import check_where
from whylight.training.train import check_data, open_start, require_libraries
from whylight.views.classifier import Classifier, require_texts

SHARES = (0.1, 0.2, 0.3)
SEEDS = (0, 1, 2, 3, 4)
PUBLISHED = {"epochs": 3, "learning_rate": 2e-5, "batch_size": 32}
NUMBERS = (*PUBLISHED, "micro_batch", "max_tokens", "precision")
"""Numbers of a training that may be set."""
MARK = "roar.json"


def roar(  # noqa: PLR0913  the public call: every argument but six is optional
    classifier: Any,  # noqa: ANN401  a classifier, or whatever `wl.load` takes
    data: Dataset,
    dev: Dataset,
    *,
    encoder: str | Path,
    methods: str | Sequence[str],
    out: Path | str,
    remover: str = "delete",
    shares: Sequence[float] = SHARES,
    seeds: Sequence[int] = SEEDS,
    options: Options | None = None,
    progress: bool = True,
    budget: float | None = None,
    max_memory: str | None = None,
    settings: Mapping[str, object] | None = None,
    engine: str = "local",
    workers: int | None = None,
    address: str | None = None,
    load: Mapping[str, Any] | None = None,
    **numbers: object,
) -> Roar:
    """Remove the words that methods call important, train a model anew, and see how much worse it is.

    Args:
        classifier: The classifier that is explained, as `wl.load` returned it; it stays as it is. Workers load their
            own: for them it is a folder, a hub id, or what else `wl.load` takes.
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
        engine: `"local"`, processes of this machine, or `"ray"`, actors of a Ray cluster.
        workers: How many workers, each with one thread; by default all is done here, one after the other.
        address: The Ray cluster; None starts one here.
        load: Further arguments of `wl.load`, e.g. `{"device": "cuda"}`.
        **numbers: Of the trainings: `epochs` (3), `learning_rate` (2e-5), `batch_size` (32), `micro_batch`,
            `max_tokens`, `precision`.

    Returns:
        The table `.rows`, with `.lines` (means over seeds), `.comparisons` of methods, and all of it as `.records()`.

    Example:
        >>> import whylight as wl
        >>> data, dev = wl.dataset("sst:trees", split="train"), wl.dataset("sst:trees", split="dev")  # doctest: +SKIP
        >>> wl.roar(wl.load(), data, dev, encoder="pretrained", methods=["lime"], out="runs/roar")  # doctest: +SKIP
    """
    where = elsewhere(engine, workers, address)
    _check_where(where, classifier, budget=budget, max_memory=max_memory)
    opening = None if isinstance(classifier, Classifier) else partial(load_model, classifier, **(load or {}))
    known: Classifier = classifier if opening is None else opening()
    asked, given, methods = options or Options(), dict(settings or {}), each_name(methods)
    recipe = _recipe(numbers)
    _check_asked(asked, shares=shares, seeds=seeds)
    check_data(data, dev, recipe)
    _check_one_label(known, data)
    texts = (removable(data), removable(dev))
    check_data(*texts, recipe)  # what is left must still teach every label
    own, others = remover_settings(given, [remover])
    removal = text_removal(known, remover, own[remover])
    by_methods = [asked.remover or default_remover(known), *(one.remover or "" for one in asked_methods(methods))]
    shared = plugin_name(remover) in map(plugin_name, by_methods)  # then its settings are the methods' too
    study = Study(encoder, texts, removal, recipe, Path(out))
    identity = study.identity(_open_encoder(study, known))
    question = Question(methods=methods, metrics=(), options=asked, settings=given if shared else others)
    with limited(budget=budget, max_memory=max_memory), claimed_by_one(study.out), interruptible(study.out):
        explain = partial(_explained, known, opening, question, where, progress=progress)
        explained = [
            explain(one, study.out / "explained" / name) for name, one in zip(("train", "dev"), texts, strict=True)
        ]
        mark_started(study.out, identity, name=MARK, kind="study")
        rows = retrained(study, explained, shares, seeds, where=where, progress=progress)
    return Roar(rows, notes=(*texts[0].notes[len(data.notes) :], *texts[1].notes[len(dev.notes) :]))


def _check_where(where: Where | None, classifier: Any, *, budget: float | None, max_memory: str | None) -> None:  # noqa: ANN401
    """Refuse what workers cannot have."""
    check_where(where)
    if where is not None and isinstance(classifier, Classifier):
        raise SettingError("a classifier that is loaded already is in this process; for workers, name its folder.")
    if where is not None and (budget is not None or max_memory is not None):
        raise SettingError("a budget and a bound on memory are of one process; leave them out, or leave out --workers.")


def _explained(  # noqa: PLR0913  what a study has
    classifier: Classifier,
    opening: Callable[[], Classifier] | None,
    question: Question,
    where: Where | None,
    data: Dataset,
    out: Path,
    *,
    progress: bool,
) -> Sequence[Row]:
    """Explain the texts into a run of their own, here or by workers, and return its rows."""
    if where is None or opening is None:
        return answer(classifier, data, question, out=out, progress=progress).explanations
    ran = run_question(opening, Asked(question, stream(data), out, where, progress=progress))
    if ran.failed:
        raise InputError(
            f"{ran.failed} of {ran.texts} texts could not be explained; the column 'reason' of '{out / COMMITS}' says "
            "why, and `whylight query` shows it."
        )
    return open_run(out).explanations


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


def _open_encoder(study: Study, classifier: Classifier) -> Prepared:
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
