"""The trials of a search, an Optuna study in its file: whose they are, and opening them after a kill."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import optuna
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from whylight.core.errors import InputError
from whylight.core.identity import Identity
from whylight.store import files

NAME = "whylight"
"""Of the study in its file."""
STARTUP = 5
"""Complete trials before one is pruned for being worse than their median."""
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)


@contextmanager
def opened_study(folder: Path, identity: Identity, *, numbers: int = 1) -> Iterator[optuna.Study]:
    """Open the study of a folder, silently; what was running when it was last left is marked as failed.

    Args:
        folder: The folder.
        identity: Whose search it is.
        numbers: How many numbers a trial gives, each of which is minimised.
    """
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path = folder / "study.db"
    try:
        if not path.is_file() or _is_void(path, folder, identity, numbers):
            _make(path, identity, numbers)
        with _study(path, numbers) as study:
            for one in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                study.tell(one.number, state=TrialState.FAIL)
            yield study
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, sqlite3.Error) as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0].rstrip(".")
        raise InputError(f"cannot use '{path}', which keeps the trials: {reason}.") from error
    finally:
        optuna.logging.set_verbosity(verbosity)


@contextmanager
def past_study(past: Sequence[FrozenTrial], *, sampler: BaseSampler | None = None) -> Iterator[optuna.Study]:
    """Make a study in memory that knows some trials and no others, silently."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(sampler=sampler, pruner=_pruner(), direction="minimize")
        study.add_trials(past)
        yield study
    finally:
        optuna.logging.set_verbosity(verbosity)


def _pruner() -> optuna.pruners.BasePruner:
    return optuna.pruners.MedianPruner(n_startup_trials=STARTUP)


def _is_void(path: Path, folder: Path, identity: Identity, numbers: int) -> bool:
    """Say whether a study came to nothing, so that another may take its place; another that did not is refused."""
    with _study(path, numbers) as study:
        if study.user_attrs.get("search") == identity.name:
            return False
        if study.get_trials(deepcopy=False, states=FINISHED):
            raise identity.refusal(folder, study.user_attrs.get("asked", {}), kind="search")
        return True


def _make(path: Path, identity: Identity, numbers: int) -> None:
    """Make a study beside its place and move it there: a kill leaves all of it or nothing."""
    beside = path.with_name(f".{path.name}{files.PART}")
    with _study(beside, numbers) as study:
        study.set_user_attr("search", identity.name)
        study.set_user_attr("asked", identity.asked)
    with files.said(path):
        beside.replace(path)


@contextmanager
def _study(path: Path, numbers: int) -> Iterator[optuna.Study]:
    storage = optuna.storages.RDBStorage(f"sqlite:///{path.resolve()}")
    try:
        yield optuna.create_study(
            study_name=NAME, storage=storage, pruner=_pruner(), load_if_exists=True, directions=["minimize"] * numbers
        )
    finally:
        storage.remove_session()
        storage.engine.dispose()
