"""Whole reviews in a real browser: by mouse, by keys alone, by several people, with suggestions, over a reload."""

import json
from pathlib import Path
from typing import Any

import pytest

from browsing import LOADED, Reviewer, select, served, units
from workbench_app import TEXTS

pytestmark = pytest.mark.browser
SAME = tuple(f"note {i}: fever curve" for i in range(6))


def test_a_whole_review_by_mouse(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        page.click("ol.evidence .stretch >> nth=0")
        page.click("text=Without the evidence?")
        page.wait_for_selector("text=becomes")
        page.click("button:has-text('Right') >> nth=0")
        page.click("[aria-label^='right:'] >> nth=0")
        assert ada.saved(version=2)["decisions"] == {"bad": "accepted"}
        select(page, units(TEXTS[0][: TEXTS[0].index("film")]), units(TEXTS[0]))
        page.click("text=Mark as evidence")
        ada.saved(version=3)
        page.fill("#missing", "fever")
        page.click("[data-do=add]")
        ada.saved(version=4)
        page.click("[data-do=undo]")
        state = ada.saved(version=5)
        assert state["decisions"] == {"bad": "accepted"}
        page.fill("#note", "a second look")
        page.click("[data-do=done]")
        page.wait_for_url("**/documents/2*")
        assert (ada.state()["note"], ada.state()["done"]) == ("a second look", True)
        page.click("nav >> text=Export")
        with page.expect_download() as given:
            page.click("text=rationales.jsonl")
        exported = json.loads(Path(given.value.path()).read_text(encoding="utf-8"))
        assert [one["text"] for one in exported["rationales"]["bad"]][-1] == "film, truly bad"
        assert ada.wrong == []


def test_a_whole_review_by_keys_alone(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        for key, version in (("a", 1), ("y", 2), ("n", 2), ("}", 3), ("u", 4), ("U", 5)):
            page.keyboard.press(key)
            ada.saved(version=version)
        page.keyboard.press("w")
        page.wait_for_selector("text=becomes")
        page.keyboard.press("s")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("m")
        ada.saved(version=6)
        page.keyboard.press("+")
        page.keyboard.type("fever")
        page.keyboard.press("Enter")
        assert ada.saved(version=7)["decisions"]["fever"] == "added"
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        page.wait_for_selector("dialog[open] kbd")
        page.keyboard.press("Escape")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("d")
        page.wait_for_url("**/documents/2*")
        assert ada.wrong == []


def test_a_key_can_be_another_one(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        page.keyboard.press("?")
        page.click("dialog tr:has-text('the label is right') button")
        page.keyboard.press("g")
        page.keyboard.press("Escape")
        page.reload()
        page.wait_for_selector(LOADED)
        page.keyboard.press("a")
        page.keyboard.press("g")
        assert ada.saved(version=1)["decisions"] == {"bad": "accepted"}


def test_a_note_is_kept_while_it_is_written(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        page.locator("#note").press_sequentially("first")
        assert ada.saved(version=1)["note"] == "first"  # nobody has left the field
        page.locator("#note").press_sequentially(" and second")
        page.reload()  # at once
        page.wait_for_selector(LOADED)
        assert ada.saved(version=2)["note"] == page.input_value("#note") == "first and second"


def test_a_reload_lands_where_the_reviewer_was(chromium: Any, tmp_path: Path) -> None:
    text = "a bad and bad start of a fever, and a bad end"
    with served(tmp_path, [text]) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        page.click("section.label[data-label=fever] .label-head")
        page.wait_for_selector("section.label.current[data-label=fever] ol.evidence")
        page.keyboard.press("a")
        ada.saved(version=1)
        page.click("section.label[data-label=bad] .label-head")
        page.wait_for_selector("section.label.current[data-label=bad] ol.evidence")
        count = page.locator("section.label.current ol.evidence:first-of-type li").count()
        page.keyboard.press("n")
        was = page.locator("li.current").inner_text(), page.url
        assert (count > 1) == ("at=1" in was[1])
        page.reload()
        page.wait_for_selector(LOADED)
        assert (page.locator("li.current").inner_text(), page.url) == was
        assert page.locator("section.label.current").get_attribute("data-label") == "bad"
        assert page.locator("section[data-label=fever] .badge").inner_text() == "accepted"


def test_undecided_labels_are_said_before_a_review_is_done(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.open(1)
        page.keyboard.press("d")
        page.wait_for_selector("text=1 predicted label is undecided")
        assert ada.state()["done"] is False
        page.keyboard.press("d")
        page.wait_for_url("**/documents/2*")
        assert ada.state()["done"] is True


def test_two_reviewers_at_once_and_an_old_page_is_told(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada, bob = Reviewer(chromium, address, "Ada"), Reviewer(chromium, address, "Bob")
        first, second = ada.open(1), bob.open(1)
        other = ada.context.new_page()
        other.goto(f"{address}/documents/1")
        other.wait_for_selector(LOADED)
        first.keyboard.press("a")
        ada.saved(version=1)
        second.keyboard.press("r")
        assert bob.saved(version=1)["decisions"] == {"bad": "rejected"}
        other.keyboard.press("r")
        other.wait_for_selector("text=Somebody else has changed this review")
        assert ada.saved(version=1)["decisions"] == {"bad": "accepted"}


def test_two_who_disagree_are_adjudicated(chromium: Any, tmp_path: Path, database: str) -> None:
    with served(tmp_path, url=database) as (address, _):
        ada, bob = Reviewer(chromium, address, "Ada"), Reviewer(chromium, address, "Bob")
        for one, key in ((ada, "a"), (bob, "r")):
            page = one.open(1)
            page.keyboard.press("y")
            page.keyboard.press(key)
            one.saved(version=2)
            page.keyboard.press("d")
            page.wait_for_url("**/documents/2*")
        page = ada.page
        page.click("nav >> text=Export")
        assert "0 of 4 documents" in page.inner_text("main")
        page.click("nav >> text=Agreement")
        assert "Ada, Bob" in page.inner_text("table")
        page.click("main a:has-text('note 0')")
        page.wait_for_selector("text=They differ about whether it applies")
        page.wait_for_load_state("load")  # scripts have run
        page.click("text=Decide as Ada")
        page.wait_for_selector("h2 .badge:has-text('accepted')")
        page.wait_for_load_state("load")
        exported = json.loads(page.evaluate("fetch('/api/export').then((one) => one.text())"))
        assert exported["labels"] == ["bad"]
        page.click("text=Decide as Bob")  # a decision may be made again
        page.wait_for_selector("h2 .badge:has-text('rejected')")
        exported = json.loads(page.evaluate("fetch('/api/export').then((one) => one.text())"))
        assert exported["labels"] == []
        assert ada.wrong == bob.wrong == []


def test_suggestions_are_followed_one_by_one_or_all_and_taken_back(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path, SAME) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.page
        for number in (1, 2, 3):
            ada.open(number).keyboard.press("}")  # the evidence ends one word later
            ada.saved(version=1, number=number)
        page.wait_for_function("fetch('/api/job').then((one) => one.json()).then((one) => !one.running)")
        page.goto(address)
        page.click("text=Do the same in 3 more places?")
        page.wait_for_selector("text=you corrected fever to fever curve")
        page.wait_for_load_state("load")
        assert ada.state(4)["version"] == 0
        page.click("button[data-event] >> nth=0")
        page.wait_for_selector("text=Take back")
        assert ada.state(4)["marked"] == {"fever": [[0, 8, 19]]}
        page.click("text=Take back")
        page.wait_for_selector("text=Take back", state="detached")
        assert ada.state(4)["marked"] == {}
        page.click("button[data-all]")
        page.wait_for_selector("text=3 done and saved")
        assert all(ada.state(number)["marked"] == {"fever": [[0, 8, 19]]} for number in (4, 5, 6))
        page.reload()
        assert "There are none yet" in page.inner_text("main")
        assert ada.wrong == []
