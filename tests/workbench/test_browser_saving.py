"""Nothing that was done or written is lost: a line breaks, another page was faster, or somebody is quick."""

import time
from pathlib import Path
from typing import Any

import pytest

from browsing import LOADED, Reviewer, served

pytestmark = pytest.mark.browser
EVENTS = "**/events"


def test_a_note_stays_when_it_cannot_be_saved_and_is_tried_again(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        page.route(EVENTS, lambda route: route.abort())
        page.fill("#note", "a long thought")
        page.locator("#note").blur()
        page.wait_for_selector("text=Not saved")
        assert page.input_value("#note") == "a long thought"
        page.unroute(EVENTS)
        assert ada.saved(version=1)["note"] == "a long thought"  # nobody has touched it


def _in_another_tab(reviewer: Reviewer, address: str, key: str) -> None:
    """Do the first action on a document that is open elsewhere."""
    other = reviewer.context.new_page()
    other.goto(f"{address}/documents/1")
    other.wait_for_selector(LOADED)
    other.keyboard.press(key)
    reviewer.saved(version=1)


def test_a_note_stays_when_another_page_was_faster(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        _in_another_tab(ada, address, "a")
        page.fill("#note", "a long thought")
        page.locator("#note").blur()
        page.wait_for_selector("text=Somebody else has changed this review")
        assert page.input_value("#note") == "a long thought"
        page.click("nav >> text=Queue")  # and it is saved when the page is left
        assert ada.saved(version=2)["note"] == "a long thought"


def test_what_was_done_quickly_is_there_on_the_next_page(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        page.route(EVENTS, _slowly)
        for key in ("a", "y", "}", "."):
            page.keyboard.press(key)
        page.wait_for_url("**/documents/2*")
        assert ada.saved(version=3)["decisions"] == {"bad": "accepted"}


def test_after_an_action_that_failed_the_next_ones_wait_for_a_look(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        _in_another_tab(ada, address, "r")
        page.route(EVENTS, _slowly)
        for key in ("a", "d"):  # from an old page: it must not be done on what nobody has seen
            page.keyboard.press(key)
        page.wait_for_selector("text=Somebody else has changed this review")
        page.wait_for_timeout(500)
        assert "/documents/1" in page.url
        state = ada.saved(version=1)
        assert (state["decisions"], state["done"]) == ({"bad": "rejected"}, False)
        page.keyboard.press("a")
        assert ada.saved(version=2)["decisions"] == {"bad": "accepted"}


def test_what_was_decided_stays_in_sight_and_an_undo_shows_where(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        page.fill("#missing", "fever")
        page.click("[data-do=add]")
        page.wait_for_selector("section.label.current[data-label=fever]")
        page.keyboard.press("Escape")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("r")
        ada.saved(version=2)
        page.keyboard.press("k")
        page.wait_for_selector("section.label.current[data-label=bad]")
        assert page.locator("section[data-label=fever] .badge").inner_text() == "rejected"
        page.keyboard.press("u")
        page.wait_for_selector("section.label.current[data-label=fever] .badge:has-text('added')")


def test_a_probability_without_evidence_is_shown_at_its_own_label(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path, ["a bad, bad film and a fever"]) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        first = page.locator("section.label.current").get_attribute("data-label")
        page.route("**/without", _slowly)
        page.keyboard.press("w")
        page.keyboard.press("j")
        page.wait_for_selector(f"section.label.current:not([data-label={first}]) ol.evidence")
        page.wait_for_timeout(800)
        assert page.locator("text=becomes").count() == 0


def test_words_of_both_texts_of_a_pair_are_selected_by_keys(chromium: Any, tmp_path: Path) -> None:
    sent: list[Any] = []

    def changed(route: Any, **change: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), **change})

    def take(route: Any) -> None:
        sent.append(route.request.post_data_json["span"])
        route.fulfill(status=422, json={"detail": "it was seen"})

    found = {"part": 1, "start": 2, "end": 7, "text": "fever", "score": 1.0}
    with served(tmp_path, ["a fever"]) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.page
        page.route("**/api/documents/1?*", lambda route: changed(route, parts=["one two", "a fever, too"]))
        page.route("**/evidence?*", lambda route: changed(route, **{"for": [found], "against": []}))
        page.route(EVENTS, take)
        ada.open(1)
        page.keyboard.press("s")  # at the evidence, in the second text
        page.keyboard.press("m")
        page.wait_for_selector("text=it was seen")
        page.keyboard.press("s")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("m")
        page.wait_for_timeout(300)
    assert sent == [
        {"part": 1, "start": 2, "end": 7, "text": "fever"},
        {"part": 0, "start": 4, "end": 7, "text": "two"},
    ]


def test_a_selection_that_leaves_the_text_ends_with_it(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path, ["a fever, and more"]) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        page.click("#text .part", click_count=3)
        page.keyboard.press("m")
        assert ada.saved(version=1)["marked"] == {"fever": [[0, 0, 17]]}
        page.evaluate(
            """() => getSelection().setBaseAndExtent(
              document.querySelector('#text .part').firstChild, 9, document.querySelector('.legend').lastChild, 0)"""
        )
        page.keyboard.press("m")
        assert ada.saved(version=2)["marked"] == {"fever": [[0, 9, 17]]}
        page.evaluate("getSelection().selectAllChildren(document.querySelector('.legend'))")
        page.keyboard.press("m")
        page.wait_for_timeout(300)
        ada.saved(version=2)  # nothing of the text is selected


def test_enter_and_arrows_keep_their_meaning(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        page = Reviewer(chromium, address).open(1)
        page.keyboard.press("?")
        page.locator("dialog tr:has-text('the label is right') button").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=presses buttons and moves")
        page.keyboard.press("g")
        assert "g" in page.inner_text("dialog tr:has-text('the label is right')")
        page.click("text=Back to the usual keys")
        assert page.inner_text("dialog tr:has-text('the label is right') kbd") == "a"


def _slowly(route: Any) -> None:
    time.sleep(0.3)
    route.continue_()
