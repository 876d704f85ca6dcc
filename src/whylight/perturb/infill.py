"""Infill: a masked language model writes other words in the place of removed ones.

Every removed word becomes one blank of the masked language model, which reads the rest of the window. With p_k, the
probabilities of its likeliest words renormalised, and f the model's probability of a label,

    marginal   f(x without i) = sum_k p_k f(x with word k for i)      one word removed: input marginalisation
    top1       every blank gets its likeliest word
    top1_excluding_original     the likeliest that is not the word itself
    sample     a word drawn by p_k
    auto       marginal where one word is removed, top1 where several are

With several words removed, `marginal` draws `top` texts from the product of the p_k. The original word is among the
candidates: that it is likely, and so nothing changes, is the point of the paper. Where it is chosen, the text stays as
it was, with capitals and accents that the masked language model may not know. Blanks are filled all at once, or from
left to right, each in sight of the words before it. A larger feature, such as a sentence, is one blank as well. Each
window of a long text is filled by itself. Words that would make a row longer than the model reads are cut to the tokens
that the removed ones had. Between two words that only a removed sign kept apart, a blank is put; words that were
written together, as in Chinese, stay so.

Reference: Kim et al. 2020 (input marginalisation); Pham et al. 2022, sections 2.2 and 2.6.
Cost: one pass of the masked language model per coalition (left to right: one per blank), and one pass of the model per
distinct text.
"""

from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Literal

import numpy as np

from whylight.core.arrays import Bools, Floats, Ints
from whylight.core.errors import SettingError
from whylight.core.registry import remover
from whylight.perturb.blanks import Words, asked, blanked, same_words, stretch
from whylight.perturb.splicing import rewritten, spliced
from whylight.views.batch import Variants
from whylight.views.filling import Draft, Filler, Likely
from whylight.views.texts import TextWindow
from whylight.views.tokens import TokenWindow

Mode = Literal["auto", "marginal", "top1", "top1_excluding_original", "sample"]
Order = Literal["at_once", "left_to_right"]
Draws = list[tuple[float, Words]]
"""Fillings of one coalition with their weights."""
Candidates = dict[int, tuple[Ints, Floats]]
"""Tokens that may stand for each removed feature, with probabilities that sum to 1."""


@dataclass(frozen=True, slots=True)
class Filling:
    """How blanks are filled; see `infill`."""

    mode: Mode
    top: int
    threshold: float
    order: Order
    fragments: bool
    seed: int

    def __post_init__(self) -> None:
        if self.top < 1:
            raise SettingError(f"infill.top must be at least 1, not {self.top}.")
        if not 0 <= self.threshold < 1:
            raise SettingError(f"infill.threshold must lie between 0 and 1, not {self.threshold}.")


@remover(draws=True)
def infill(  # noqa: PLR0913  one keyword per setting
    window: TokenWindow | TextWindow,
    keep: Bools,
    filler: Filler,
    *,
    model: str = "whylight/mlm",  # noqa: ARG001  the filler is made of it
    mode: Mode = "auto",
    top: int = 10,
    threshold: float = 0.0,
    order: Order = "at_once",
    fragments: bool = False,
    seed: int = 0,
) -> Variants:
    """Let a masked language model write other words in the place of removed ones.

    Args:
        window: What is read at once.
        keep: Which features stay, `[coalitions, features]`.
        filler: The masked language model.
        model: Its folder or hub id; by default the bundled one, which knows English film reviews.
        mode: Which words, and how many fillings of a coalition.
        top: Candidates for each blank.
        threshold: The least probability of a candidate; the likeliest is always one.
        order: Whether blanks are filled at once, or in sight of those before them.
        fragments: Whether pieces of words are candidates too; they are written as the vocabulary has them, `##ing`.
        seed: Of `sample`, and of `marginal` where several words are removed.
    """
    filling = Filling(mode, top, threshold, order, fragments, seed)
    if isinstance(window, TokenWindow) and not len(window.features):  # a chunk of special tokens
        return Variants(window.rows(np.tile(window.ids, (len(keep), 1))))
    texts, spans, places = stretch(window)
    removed = ~keep[:, window.features]
    originals = [texts[span.part][span.start : span.end] for span in spans]
    draft = filler.draft(texts, spans)
    draws = _fillings(filler, draft, removed, originals, filling)
    weights, written = _written(draws, removed, filler, draft.own)
    if isinstance(window, TextWindow):
        return Variants(rewritten(window, written), weights)
    return Variants(spliced(window, written, places, filler), weights)


def _written(
    draws: list[Draws], removed: Bools, filler: Filler, originals: Ints
) -> tuple[Floats | None, list[dict[int, str]]]:
    """Return the weights of fillings, of which each coalition has as many, and the word for each feature that changes.

    A feature whose own token is chosen stays as it is. What the masked language model cannot read is gone.
    """
    most = max((len(own) for own in draws), default=1)
    weights = np.asarray([[weight for weight, _ in own] + [0.0] * (most - len(own)) for own in draws])
    written = []
    for own, row in zip(draws, removed, strict=True):
        gone = np.flatnonzero(row).tolist()
        told = [
            {one: filler.word(words[one]) if one in words else "" for one in gone if words.get(one) != originals[one]}
            for _, words in own
        ]
        written += told + told[:1] * (most - len(own))
    return (weights if most > 1 else None), written


def _fillings(filler: Filler, draft: Draft, removed: Bools, words: list[str], filling: Filling) -> list[Draws]:
    """Return the fillings of each coalition."""
    find = partial(_candidates, filler, draft, words, filling)
    if filling.order == "at_once":
        every = [np.flatnonzero(row).tolist() for row in removed]
        return [_draws(own, row, filling) for own, row in zip(find(removed, every), removed, strict=True)]
    state: list[Draws] = [[(1.0, {})] for _ in removed]
    for step in range(int(removed.sum(axis=1).max(initial=0))):
        turn = {i: int(np.flatnonzero(row)[step]) for i, row in enumerate(removed) if row.sum() > step}
        drafts = [(i, draw) for i in turn for draw in range(len(state[i]))]
        known = [state[i][draw][1] for i, draw in drafts]
        found = find(removed[[i for i, _ in drafts]], [[turn[i]] for i, _ in drafts], known)
        for (i, draw), own in zip(drafts, found, strict=True):
            for feature, chosen in own.items():
                _write(state[i], draw, feature, chosen, removed[i], filling)
    return state


def _candidates(  # noqa: PLR0913, PLR0917  one parameter per fact
    filler: Filler,
    draft: Draft,
    words: list[str],
    filling: Filling,
    removed: Bools,
    wanted: list[list[int]],
    known: list[Words] | None = None,
) -> list[Candidates]:
    """Return what may stand for the wanted features of each row, of which some others may be known already."""
    found: list[Candidates] = [{} for _ in wanted]
    for number, window in enumerate(draft.windows):
        here = [[feature for feature in own if draft.best[feature] == number] for own in wanted]
        rows = [i for i, own in enumerate(here) if own]
        if not rows:
            continue
        batch, places = blanked(window, removed[rows], filler.mask, known and [known[i] for i in rows])
        blanks = [np.asarray([where[f] for f in here[i]]) for i, where in zip(rows, places, strict=True)]
        stands = [draft.stands[here[i]] for i in rows]
        likely = filler.likely(batch, blanks, stands, top=asked(filling.top), fragments=filling.fragments)
        for i, one in zip(rows, likely, strict=True):
            for place, feature in enumerate(here[i]):
                choices = one.best(place, asked(filling.top))
                found[i][feature] = _word_choices(filler, choices, words[feature], int(draft.own[feature]), filling)
    return found


def _write(state: Draws, draw: int, feature: int, chosen: tuple[Ints, Floats], row: Bools, filling: Filling) -> None:
    """Write a word into one draw; at the first word of a coalition this may make several of it."""
    weight, words = state[draw]
    if words or draw:
        token = _one_of(chosen, filling, row, draw, feature) if _is_drawn(filling, row) else int(chosen[0][0])
        state[draw] = (weight, {**words, feature: token})
        return
    state[:] = [(own, {feature: one[feature]}) for own, one in _draws({feature: chosen}, row, filling)]


def _is_drawn(filling: Filling, row: Bools) -> bool:
    """Say whether words are drawn at random, rather than taken by rank."""
    return filling.mode == "sample" or (filling.mode == "marginal" and row.sum() > 1)


def _word_choices(filler: Filler, likely: Likely, word: str, own: int, filling: Filling) -> tuple[Ints, Floats]:
    """Return the words that may stand in a blank, with probabilities that sum to 1."""
    tokens, probabilities = likely.tokens[0], likely.probabilities[0]
    if filling.mode == "top1_excluding_original":
        other = ~same_words(filler, tokens, word, own)
        tokens, probabilities = (tokens[other], probabilities[other]) if other.any() else (tokens, probabilities)
    tokens, probabilities = tokens[: filling.top], probabilities[: filling.top]
    likely_enough = probabilities >= min(filling.threshold, float(probabilities[0]))
    tokens, probabilities = tokens[likely_enough], probabilities[likely_enough]
    return tokens, probabilities / probabilities.sum()


def _draws(found: Candidates, row: Bools, filling: Filling) -> Draws:
    """Return the fillings of a coalition, by the candidates for each of its blanks."""
    if not found:
        return [(1.0, {})]
    several = int(row.sum()) > 1
    if filling.mode == "marginal" or (filling.mode == "auto" and not several):
        if not several:
            ((feature, (tokens, weights)),) = found.items()
            return [(float(w), {feature: int(token)}) for token, w in zip(tokens, weights, strict=True)]
        return [
            (1 / filling.top, {f: _one_of(own, filling, row, draw, f) for f, own in found.items()})
            for draw in range(filling.top)
        ]
    if filling.mode == "sample":
        return [(1.0, {f: _one_of(own, filling, row, 0, f) for f, own in found.items()})]
    return [(1.0, {feature: int(tokens[0]) for feature, (tokens, _) in found.items()})]


def _one_of(chosen: tuple[Ints, Floats], filling: Filling, row: Bools, draw: int, feature: int) -> int:
    """Draw a candidate; the same coalition has the same draws, alone and in company."""
    name = blake2b(np.packbits(row).tobytes() + f"{filling.seed} {draw} {feature}".encode(), digest_size=8).digest()
    at = np.random.default_rng(int.from_bytes(name)).random()
    tokens, weights = chosen
    return int(tokens[min(int(np.searchsorted(np.cumsum(weights), at, side="right")), len(tokens) - 1)])
