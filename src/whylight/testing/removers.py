"""What every remover promises, in a line: `check_remover("my_remover")`.

The laws of `whylight.perturb`, on windows of tokens, of plain text and of pictures: of one text, of a pair, and of a
text so long that a window holds a part of its features only. Cost: no pass through any model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

import numpy as np

from whylight.core.arrays import Bools
from whylight.core.encoded import Encoded, Window
from whylight.core.registry import REMOVERS, Plugin, Spec
from whylight.core.text import Text
from whylight.models.infill import filler_of
from whylight.models.load import load
from whylight.testing.removed import content_left, holds, row_shown
from whylight.testing.running import DECLARED, Check, Named, checks_of, promise, registered, run_checks
from whylight.testing.tiny import tiny_classifier
from whylight.views.batch import Batch, Removal, Variants
from whylight.views.filling import Filler
from whylight.views.pixels import PixelBatch, PixelWindow
from whylight.views.texts import TextBatch, TextWindow
from whylight.views.tokens import TokenWindow

CUT, OTHER = "films, the plot drags nevers", "good acting"
COALITIONS = 12
ROUNDED = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Untouched:
    """A window that something is removed from.

    Attributes:
        window: The window.
        n_features: Features of the whole input; the window may hold some of them only.
        row: The untouched window as a batch of one row.
    """

    window: Window
    n_features: int
    row: Batch


@dataclass(frozen=True, eq=False)
class RemoverSubject:
    """A remover.

    Attributes:
        spec: The remover.
        given: Windows to remove from; None for those of texts.
        settings: Settings that it is run with.
    """

    spec: Spec
    given: Sequence[Untouched] | None
    settings: Mapping[str, object]

    @cached_property
    def untouched(self) -> Sequence[Untouched]:
        """Windows to remove from, of every kind that the remover takes."""
        takes = get_args(self.spec.consumes[0]) or (self.spec.consumes[0],)
        known = [*text_windows(), *picture_windows()] if self.given is None else self.given
        found = [one for one in known if isinstance(one.window, takes)] if self.given is None else known
        names = " or ".join(kind.__name__ for kind in takes)
        promise(found, f"a remover of a {names} must be checked with windows=[Untouched(...)] of that kind.")
        return [_having(one, self.spec.facts["replacement"]) for one in found]

    def remove(self, window: Window, keep: Bools) -> Variants:
        """Remove what is not kept."""
        settings = self.spec.complete_settings(self.settings)
        removal = Removal(self.spec.name, self.spec.function, settings, draws=bool(self.spec.facts["draws"]))
        if Filler in self.spec.consumes:
            removal = replace(removal, needs=(filler_of(tiny_classifier(), str(settings["model"])),))
        return removal(window, keep)


def check_remover(
    remover: str | Plugin,
    *,
    windows: Sequence[Untouched] | None = None,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Check that a remover keeps every promise of its kind.

    Args:
        remover: Its name, or the function that is decorated with `@remover`.
        windows: Windows to remove from, for removers of other things than texts.
        settings: Settings to run it with.

    Raises:
        AssertionError: With one sentence per promise that it breaks.
    """
    name = remover if isinstance(remover, str) else remover.__name__
    run_checks(name, remover_checks(remover, windows=windows, settings=settings))


def remover_checks(
    remover: str | Plugin,
    *,
    windows: Sequence[Untouched] | None = None,
    settings: Mapping[str, object] | None = None,
) -> Iterator[Named]:
    """Yield the checks of `check_remover` one by one, as (name, function without arguments).

    Args:
        remover: As for `check_remover`.
        windows: As for `check_remover`.
        settings: As for `check_remover`.
    """
    return checks_of(REMOVER_CHECKS, RemoverSubject(registered(REMOVERS, remover), windows, settings or {}))


def _having(untouched: Untouched, replacement: str | None) -> Untouched:
    """Return a window of a model that has what stands for removed words; which token that is does not matter here."""
    window = untouched.window
    if replacement is None or not isinstance(window, TokenWindow) or replacement in window.replacements:
        return untouched
    token = next(iter(window.replacements.values()))
    return replace(untouched, window=replace(window, replacements={**window.replacements, replacement: token}))


def token_windows(encoded: Encoded) -> list[Untouched]:
    """Return the windows of a text that is cut into tokens."""
    n_features = encoded.n_features
    return [
        Untouched(window, n_features, window.rows(window.ids[None]))
        for window in encoded.windows
        if isinstance(window, TokenWindow)
    ]


def text_windows() -> list[Untouched]:
    """Return windows of tokens and of plain text: of a text, of a pair, and of a long text."""
    tokens, plain = tiny_classifier(), load(lambda texts: [[1.0] for _ in texts], labels=["a"], mask_string="[MASK]")
    inputs = (Text(CUT), Text(CUT, OTHER), Text(f"{CUT} " * 9))
    found = [one for text in inputs for one in token_windows(tokens.encode(text, unit="word", long="window"))]
    own = plain.encode(Text(CUT), unit="word", long="window")
    texts = [window for window in own.windows if isinstance(window, TextWindow)]
    return [*found, *(Untouched(one, own.n_features, TextBatch((one.text,))) for one in texts)]


def picture_windows() -> list[Untouched]:
    """Return pictures of noise: one whose features are pixels, and one of patches."""
    frame = np.asarray(np.random.default_rng(0).random((6, 8, 3)), dtype=np.float32)
    mean = np.full(3, 0.5, dtype=np.float32)
    labels = [np.arange(48).reshape(6, 8), np.arange(6).reshape(3, 2).repeat(2, axis=0).repeat(4, axis=1)]
    return [Untouched(PixelWindow(frame, own, mean), int(own.max()) + 1, PixelBatch(frame[None])) for own in labels]


def keeping_all_is_the_identity(subject: RemoverSubject) -> None:
    """Whatever is drawn."""
    for one in subject.untouched:
        rows = subject.remove(one.window, np.ones((2, one.n_features), dtype=bool)).batch
        same = set(rows.keys()) == set(one.row.keys())
        promise(
            same, f"a window of which all is kept must stay as it is; {row_shown(rows)} came of {row_shown(one.row)}."
        )


def each_coalition_has_as_many_rows_as_it_has_weights(subject: RemoverSubject) -> None:
    """One row per coalition, or several with weights that sum to 1, where draws are declared."""
    for one in subject.untouched:
        keep = some_coalitions(one.n_features)
        found = subject.remove(one.window, keep)
        draws = 1 if found.weights is None else found.weights.shape[1]
        expected = draws * len(keep)
        promise(len(found.batch) == expected, f"{len(keep)} coalitions need {expected} rows, not {len(found.batch)}.")
        if found.weights is not None:
            promise(subject.spec.facts["draws"], "a remover that returns weights must be declared with draws=True.")
            sums = found.weights.sum(axis=1)
            right = (found.weights >= 0).all() and np.abs(sums - 1).max() <= ROUNDED and len(sums) == len(keep)
            promise(right, f"the weights of a coalition must be 0 or more and sum to 1; they sum to {sums}.")


def keeping_none_leaves_no_content(subject: RemoverSubject) -> None:
    """What is removed is gone, overwritten or zeroed, wherever it stood."""
    for one in subject.untouched:
        rows = subject.remove(one.window, np.zeros((1, one.n_features), dtype=bool)).batch
        left = content_left(one.window, rows)
        promise(not left, f"nothing of the words must be left if none is kept; {row_shown(rows)} still holds {left}.")


def what_is_kept_stays_as_it_is(subject: RemoverSubject) -> None:
    """In its order; and so does what belongs to no feature, as special tokens do."""
    for one in subject.untouched:
        keep = some_coalitions(one.n_features)
        found = subject.remove(one.window, keep)
        draws = len(found.batch) // len(keep)
        for number, mask in enumerate(np.repeat(keep, draws, axis=0)):
            row = found.batch.take([number])
            promise(
                holds(one.window, mask, row), f"what is kept must stay as it is; {row_shown(row)} lacks some of it."
            )


def nothing_that_comes_in_is_changed(subject: RemoverSubject) -> None:
    """Neither the window nor the masks."""
    for one in subject.untouched:
        keep = some_coalitions(one.n_features)
        before = keep.copy(), one.row.keys()
        subject.remove(one.window, keep)
        promise((keep == before[0]).all(), "a remover must not change the masks that it is given; it did.")
        promise(_row_of(one).keys() == before[1], "a remover must not change the window that it is given; it did.")


def rows_do_not_depend_on_each_other(subject: RemoverSubject) -> None:
    """A coalition has the same rows alone, in company, and each time."""
    for one in subject.untouched:
        keep = some_coalitions(one.n_features)
        together = _counting(subject.remove(one.window, keep))
        alone = [row for mask in keep for row in _counting(subject.remove(one.window, mask[None]))]
        promise(together == alone, "a coalition must have the same rows alone and among others; they differ.")


def _counting(found: Variants) -> list[list[tuple[bytes, float]]]:
    """Return the rows of each coalition that count for something, and for how much."""
    keys = found.batch.keys()
    weights = np.ones((len(keys), 1)) if found.weights is None else found.weights
    rows = [keys[start : start + weights.shape[1]] for start in range(0, len(keys), weights.shape[1])]
    return [
        [(key, float(weight)) for key, weight in zip(own, counts, strict=True) if weight]
        for own, counts in zip(rows, weights, strict=True)
    ]


def some_coalitions(n_features: int) -> Bools:
    """Return some masks, half of each kept."""
    return np.asarray(np.random.default_rng(0).random((COALITIONS, n_features)) < 0.5)  # noqa: PLR2004  half


def _row_of(one: Untouched) -> Batch:
    window = one.window
    if isinstance(window, TokenWindow):
        return window.rows(window.ids[None])
    return TextBatch((window.text,)) if isinstance(window, TextWindow) else one.row


REMOVER_CHECKS: tuple[Check[RemoverSubject], ...] = (
    *DECLARED,
    Check(keeping_all_is_the_identity),
    Check(each_coalition_has_as_many_rows_as_it_has_weights),
    Check(keeping_none_leaves_no_content, lambda one: not one.spec.facts["draws"]),
    Check(what_is_kept_stays_as_it_is),
    Check(nothing_that_comes_in_is_changed),
    Check(rows_do_not_depend_on_each_other),
)
