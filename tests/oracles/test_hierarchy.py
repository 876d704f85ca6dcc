"""Hierarchical occlusion: on games in which one sentence decides, and held against leave-one-out."""

import numpy as np
import pytest

import tiny
import whylight as wl
from whylight.core.arrays import Bools, Floats
from whylight.core.errors import SettingError
from whylight.core.segment import paragraphs, sentences
from whylight.core.text import Span, Text
from whylight.methods.hierarchical_occlusion import hierarchical_occlusion
from whylight.methods.occlusion import occlusion
from whylight.testing.games import additive_game
from whylight.views.game import Game

PASSAGES, SENTENCES, WORDS = 8, 10, 6


def game_of(worth: Floats, *, levels: bool = True) -> tuple[Game, list[int]]:
    """A game of passages of sentences of words, each of which adds what it is worth, and how many rows it is asked."""
    asked: list[int] = []
    plain = additive_game(worth)
    n = worth.shape[1]
    numbers = np.arange(n) // (SENTENCES * WORDS), np.arange(n) // WORDS

    def value(keep: Bools) -> Floats:
        asked.append(len(keep))
        return plain(keep)

    game = Game(value, n_features=n, n_targets=len(worth), levels=lambda: numbers if levels else ())
    return game, asked


def planted(place: int, *, seed: int = 0) -> Floats:
    """One word decides, the others hardly count."""
    worth = 0.001 * np.random.default_rng(seed).standard_normal(PASSAGES * SENTENCES * WORDS)
    worth[place] = 3.0
    return worth[None]


@pytest.mark.parametrize("place", [0, 137, 479])
def test_the_word_that_decides_is_found_at_a_fraction_of_the_cost(place: int) -> None:
    worth = planted(place)
    game, asked = game_of(worth)
    found = hierarchical_occlusion(game, opened=2)
    assert found.values[0].argmax() == place
    assert found.values[0, place] == pytest.approx(3.0)
    assert sum(asked) == 1 + PASSAGES + 2 * SENTENCES + 2 * WORDS
    assert f"{sum(asked)} evaluations, where leave-one-out takes {PASSAGES * SENTENCES * WORDS + 1}" in found.notes[0]


def test_what_was_left_out_alone_is_exact_and_the_rest_shares_what_its_stretch_counts_for() -> None:
    worth = np.random.default_rng(1).standard_normal((2, PASSAGES * SENTENCES * WORDS))
    game, _ = game_of(worth)
    found = hierarchical_occlusion(game, opened=2)
    for target in range(2):
        exact = np.isclose(found.values[target], worth[target])
        assert exact.sum() == 2 * WORDS
        # in an additive game a passage counts for the sum of its words, whether it was opened or not
        passages, expected = (one.reshape(PASSAGES, -1) for one in (found.values[target], worth[target]))
        assert np.allclose(passages.sum(axis=1), expected.sum(axis=1))
        assert sum(len(np.unique(own)) == 1 for own in passages) == PASSAGES - 2
        alone = hierarchical_occlusion(game_of(worth[[target]])[0], opened=2)
        assert np.allclose(alone.values[0], found.values[target], atol=1e-12)


def test_everything_opened_is_occlusion_and_so_is_a_text_without_levels() -> None:
    worth = np.random.default_rng(2).standard_normal((2, PASSAGES * SENTENCES * WORDS))
    expected = occlusion(game_of(worth)[0])
    for game, opened in ((game_of(worth)[0], 1000), (game_of(worth, levels=False)[0], 1)):
        found = hierarchical_occlusion(game, opened=opened, check=True)
        assert np.allclose(found.values, expected)
        (note,) = found.notes
        assert note.startswith("exact leave-one-out: 100%, 100% of what speaks for the target was recovered")
        assert note.endswith("its first feature found, found")


def test_the_share_of_exact_leave_one_out_is_what_the_opened_words_hold_of_it() -> None:
    worth = np.abs(planted(100, seed=3))
    worth[0, 470] = 1.0
    game, _ = game_of(worth)
    found = hierarchical_occlusion(game, opened=1, check=True)
    own = np.isclose(found.values[0], worth[0], atol=1e-12)
    share = worth[0, own].sum() / worth[0].sum()
    assert 0.5 < share < 0.8
    assert f"{share:.0%} of what speaks" in found.notes[-1]
    assert "its first feature found" in found.notes[-1]


def test_the_first_feature_that_was_missed_is_told() -> None:
    """A passage whose words cancel out hides its best word."""
    worth = np.zeros((1, PASSAGES * SENTENCES * WORDS))
    worth[0, 5], worth[0, 6:60], worth[0, 200] = 3.0, -3.0 / 54, 1.0
    found = hierarchical_occlusion(game_of(worth)[0], opened=1, check=True)
    assert "25% of what speaks for the target was recovered, its first feature missed" in found.notes[-1]


def test_at_least_one_stretch_is_opened() -> None:
    with pytest.raises(SettingError, match="'opened' must be at least 1"):
        hierarchical_occlusion(game_of(planted(0))[0], opened=0)


def test_paragraphs_end_at_blank_lines_and_sentences_lie_within_them() -> None:
    text = "One. Two!\nStill one.\n \r\nNext passage \n\n\n\nLast. End"
    shown = [text[start:end] for start, end in paragraphs(text)]
    assert shown == ["One. Two!\nStill one.", "Next passage", "Last. End"]
    example = Text(text, "A pair. Two.")
    places = [Span(part, *one) for part, own in enumerate(example.parts) for one in sentences(own)]
    by_paragraph, by_sentence = example.levels(places)
    assert by_paragraph.tolist() == [1, 1, 1, 2, 3, 3, 4, 4]
    assert by_sentence.tolist() == list(range(1, 9))
    assert paragraphs(" \n\n ") == []


def test_a_text_of_several_paragraphs_is_opened_where_its_score_falls_most() -> None:
    clf = tiny.classifier("bert")
    text = "the plot drags . a good film .\n\nit is great . the end .\n\nan awful script . the acting was dull ."
    exact, found = (wl.explain(clf, text, method=name) for name in ("occlusion", "hierarchical_occlusion[opened=1]"))
    same = np.isclose(found.scores[0], exact.scores[0], atol=1e-5)
    assert 3 <= same.sum() < len(same)
    assert found.provenance.forward_passes < exact.provenance.forward_passes
    passages = wl.explain(clf, text, method="hierarchical_occlusion", unit="sentence")
    assert passages.scores.shape == (1, 6)
