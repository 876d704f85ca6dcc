"""Explaining a corpus: `wl.run_corpus` and `whylight run`.

The same run as that of `wl.evaluate(..., out=...)`, in the same kind of folder: data is read as it is worked on,
several workers share the work, and a text that fails is written down instead of stopping the others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from whylight.core.errors import InputError, SettingError
from whylight.core.identity import CALL, LOADED, Identity
from whylight.core.inputs import INPUTS, JsonValue, Noun
from whylight.data.dataset import Dataset, Record, in_order
from whylight.data.stream import Stream, needs_no_labels, stream
from whylight.engines.engine import Engine
from whylight.engines.here import Here
from whylight.engines.where import Where
from whylight.explaining.options import Options
from whylight.explaining.variants import each_name
from whylight.run.driving import Count, Driver
from whylight.run.evaluate import Question, identity_of, plan_of
from whylight.run.growing import check_same, continued
from whylight.run.shards import Shard, shards_of
from whylight.run.software import noted
from whylight.run.tally import shown
from whylight.run.worker import Job, Worker, opened, other_data
from whylight.store import files, parts, runs, success
from whylight.views.classifier import Classifier

HEAD = 64
"""Texts of which one sees what the data has: labels, rationales."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run of a corpus came to.

    Attributes:
        folder: Where it is; `wl.open_run(folder)` reads its tables.
        texts: Texts that are done.
        failed: Those that have failed; `texts` has the reasons.
        new: Texts that this call has worked on.
        seconds: What this call took.
        rows_run: Inputs that the model was given by this call.
        deaths: Workers that died on the way.
        peak_megabytes: The most memory that a worker had.
        sha256: A hash of all results, the same for the same question, data and machine.
        left_out: Records that were left out of the data because they cannot be read (`drop_broken`), as sentences; the
            first few, and how many more there are.
        noun: What the inputs are called.
    """

    folder: Path
    texts: int
    failed: int
    new: int
    seconds: float
    rows_run: int
    deaths: int
    peak_megabytes: float
    sha256: str
    left_out: str = ""
    noun: Noun = field(default=INPUTS, repr=False)


def run_corpus(  # noqa: PLR0913  the public call: every argument but two is optional and named
    model: Any,  # noqa: ANN401  whatever `wl.load` takes, or what it returned
    data: str | Path | Dataset | Stream,
    *,
    methods: str | Sequence[str],
    out: Path | str,
    metrics: str | Sequence[str] = (),
    remover: str | None = None,
    options: Options | None = None,
    settings: Mapping[str, object] | None = None,
    engine: str = "local",
    workers: int = 1,
    address: str | None = None,
    retry_failed: bool = False,
    shard: int | None = None,
    progress: bool = True,
    load: Mapping[str, Any] | None = None,
) -> Ran:
    """Explain a whole corpus into a folder, which a later call goes on with.

    Args:
        model: Folder or hub id, or another model that `wl.load` takes; each worker loads it by itself. A classifier
            that `wl.load` returned is worked with here, by one worker with all threads.
        data: A file, folder, pattern or address as `whylight run --data` takes it, or what `wl.dataset` returned. It
            may have grown since the last call.
        methods: Names of methods.
        out: Folder for the tables.
        metrics: Names of metrics; by default texts are explained, and nothing is measured.
        remover: What "removed" means to methods and metrics alike.
        options: What else is asked of every method alike.
        settings: Settings of methods and metrics.
        engine: `"local"`, processes of this machine, or `"ray"`, actors of a Ray cluster.
        workers: How many workers; each has one thread.
        address: The Ray cluster; None starts one here.
        retry_failed: Work again on texts that failed.
        shard: Texts of a shard, where the folder is new.
        progress: Show how far it has come.
        load: Further arguments of `wl.load`, e.g. `{"head": "sigmoid"}`; of a classifier, those that it was loaded
            with, which the folder keeps for `whylight verify`.

    Returns:
        Counts, and a hash of all results.

    Example:
        >>> import whylight as wl
        >>> ran = wl.run_corpus(wl.load(), "reviews.jsonl", methods=["occlusion"], out="run", progress=False)
        >>> ran.failed
        0
    """
    question = Question(
        methods=each_name(methods),
        metrics=each_name(metrics),
        remover=remover,
        options=options or Options(),
        settings=settings or {},
        baseline=bool(metrics),
    )
    where = Where(engine=engine, workers=workers, address=address)
    source = data if isinstance(data, Stream) else stream(data, **needs_no_labels(data))
    own: dict[str, Any] = {"retry_failed": retry_failed, "shard": shard, "progress": progress, "loaded": load or {}}
    asked = Asked(question, source, Path(out), where, **own)
    if isinstance(model, Classifier):
        if where != Where():
            raise SettingError(
                "a classifier that is loaded already has one worker, here; for several, name the model by its folder."
            )
        return run_question(lambda: model, asked, classifier=model)
    from whylight.models.load import load as loading  # noqa: PLC0415  torch loads only when it is needed

    return run_question(partial(loading, model, **(load or {})), asked)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a run; of the model it says how it is loaded, for whoever loads it again."""

    question: Question
    data: Stream
    out: Path
    where: Where = field(default_factory=Where)
    retry_failed: bool = False
    shard: int | None = None
    progress: bool = True
    loaded: Mapping[str, Any] = field(default_factory=dict)


def run_question(opening: Callable[[], Classifier], asked: Asked, *, classifier: Classifier | None = None) -> Ran:
    """Run what is asked.

    Args:
        opening: Loads the model, in whichever process it is called.
        asked: What is asked.
        classifier: The model, if work is to be done here with it.
    """
    asked.where.check()
    reading = asked.data.reading()
    records = asked.data.records(reading)
    head = head_of(asked.data, records)
    known = opening() if classifier is None else classifier
    plan = plan_of(known, head, asked.question)
    identity = identity_of(known, plan, asked.data.described())
    said = {CALL: call_of(asked.question), LOADED: loading_of(asked.loaded)}
    identity = replace(identity, names={**identity.names, **said})
    job = Job(opening, asked.question, head, asked.out, identity)
    del known
    with files.claimed(asked.out), _kept(asked.out):
        most = _taken_up(asked, identity, plan.columns)
        shards = shards_of(chain(head.records, records), most=most)
        engine = asked.where.workers_of(partial(opened, job)) if classifier is None else here(job, classifier)
        with shown(asked.data.count() if asked.progress else None, head.noun, shown=asked.progress) as told:
            driver = Driver(asked.out, asked.retry_failed, told)
            count = driver.drive(_watched(asked.out, shards), engine, workers=asked.where.workers)
        return _ended(asked.out, count, left_out=reading.left_out, noun=head.noun)


def here(job: Job, classifier: Classifier) -> Engine:
    """Return the engine of one worker in this process, with a model that is loaded already."""
    return Here(Worker(job, classifier=classifier).work)


def call_of(question: Question) -> dict[str, JsonValue]:
    """Return how a question was put."""
    options = asdict(question.options)
    own = {name: options[name] for name in ("target", "unit", "remover", "score", "long", "pieces")}
    settings: dict[str, Any] = dict(question.settings)
    return {
        "methods": list(question.methods),
        "metrics": list(question.metrics or ()),
        "remover": question.remover,
        "settings": settings,
        "options": own,
        "baseline": question.baseline,
    }


def loading_of(loaded: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return how a model was loaded, as far as a folder can say it; where it runs is no part of that."""
    plain = {name: list(one) if isinstance(one, tuple) else one for name, one in loaded.items() if name != "device"}
    return {name: one for name, one in plain.items() if isinstance(one, str | int | float | list)}


def question_of(call: Mapping[str, Any]) -> Question:
    """Return the question that was put."""
    plain = {name: call[name] for name in ("methods", "metrics", "remover", "settings", "baseline")}
    return Question(**plain, options=Options(**call["options"]))


def head_of(data: Stream, records: Iterator[Record], *, most: int = HEAD) -> Dataset:
    """Take the first records, as a data set that says what the data has."""
    first = tuple(record for _, record in zip(range(most), records, strict=False))
    names = in_order(label for one in first for label in (*one.labels, *one.rationales))
    if data.whole is not None:
        return replace(data.whole, records=first)
    return Dataset(data.spec, data.split, tuple(names), first, any(len(one.labels) > 1 for one in first))


def _taken_up(asked: Asked, identity: Identity, columns: Any) -> int | None:  # noqa: ANN401
    """Go on with a folder, or begin one; return the texts of its shards."""
    folder = asked.out
    manifest = runs.manifest_in(folder)
    if manifest is not None and manifest.shard is None:
        raise InputError(f"'{folder}' holds a run in the form of an earlier version; name another folder.")
    # who lost the manifest goes on with what was made for the same question, and with nothing else
    names = set() if manifest is not None else {one.run for one in parts.each_that_counts(folder, {})}
    check_same(folder, identity, manifest, names)
    if manifest is not None and asked.shard not in (None, manifest.shard):
        raise SettingError(f"the shards of '{folder}' have {manifest.shard} texts; leave out --shard.")
    made = continued(folder, identity, columns, manifest, grown=asked.retry_failed, shard=asked.shard)
    return made.shard


def _watched(folder: Path, shards: Iterator[Shard]) -> Iterator[Shard]:
    """Hand on shards; the first that a complete folder does not have takes back that it is complete.

    Raises:
        InputError: The folder has shards behind the end of the data.
    """
    ended, end = success.read_success(folder), 0
    for shard in shards:
        end = shard.numbers.stop
        if ended is not None and shard.numbers.stop > ended.get("texts", 0):
            manifest = runs.manifest_in(folder)
            if manifest is not None:
                manifest = replace(noted(folder, manifest), grown=[*manifest.grown, ended])
                runs.write_manifest(folder, manifest)
            success.forget_success(folder)
            ended = None
        yield shard
    if any(parts.first_of(stem) >= end for stem in parts.stems_in(folder)):
        raise other_data(folder, "more texts")


def _ended(folder: Path, count: Count, *, left_out: str, noun: Noun) -> Ran:
    """Remove what no commit vouches for, and write that all is done."""
    manifest = runs.manifest_in(folder)
    parts.tidy(folder, parts.each_that_counts(folder, {} if manifest is None else manifest.earlier))
    # whoever lost a part and made it anew on another machine has other bytes than those that were vouched for
    said = (None if count.new else success.read_success(folder)) or success.write_success(folder)
    return Ran(
        folder,
        count.texts,
        count.failed,
        count.new,
        count.seconds,
        count.rows_run,
        count.deaths,
        count.peak_megabytes,
        str(said["sha256"]),
        left_out,
        noun,
    )


@contextmanager
def _kept(folder: Path) -> Iterator[None]:
    """Say to who stops the work by hand that it can go on; where nothing was done, leave no manifest of it behind."""
    new = not (folder / runs.MANIFEST).exists()
    try:
        yield
    except BaseException as error:
        if new:
            with suppress(InputError, OSError):
                if not parts.stems_in(folder):
                    (folder / runs.MANIFEST).unlink(missing_ok=True)
        if isinstance(error, KeyboardInterrupt):
            said = f"what was done is in '{folder}', and the same call resumes from there"
            raise KeyboardInterrupt(said) from None
        raise
