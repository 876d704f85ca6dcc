"""What goes wrong in the world: the server dies, and documents are hostile; nothing is lost, and nothing runs."""

import random
import time
from pathlib import Path
from typing import Any

import pytest

import workbench_app
from browsing import LOADED, Reviewer, served
from whylight.workbench.database import open_database
from whylight.workbench.journal import Journal
from workbench_app import XSS

pytestmark = pytest.mark.browser
KILLS = 20
WRITING = """() => { window.answered = 0; (async () => {
  const token = document.querySelector('meta[name="whylight-token"]').content;
  const headers = { 'content-type': 'application/json', 'x-whylight-token': token };
  let { version } = (await (await fetch('/api/documents/1')).json()).review;
  for (;;) {
    const body = JSON.stringify({ version, kind: 'note', note: String(version) });
    const answer = await fetch('/api/documents/1/events', { method: 'POST', body, headers });
    if (answer.status === 201) { ({ version } = await answer.json()); window.answered = version; }
    if (version % 3 === 0) await new Promise((done) => setTimeout(done, Math.random() * 20));
  }
})().catch(() => {}); }"""


def test_no_answered_action_is_lost_when_the_server_is_killed(chromium: Any, tmp_path: Path) -> None:
    generator = random.Random(0)  # noqa: S311
    answered = 0
    for turn in range(KILLS):
        with served(tmp_path) as (address, server):
            ada = Reviewer(chromium, address)
            page = ada.open(1)
            assert ada.state()["version"] >= answered
            page.evaluate(WRITING)  # actions follow each other with and without a pause: a kill falls between or into
            time.sleep(0.3 + generator.random() * 0.7)
            server.kill()
            answered = max(answered, page.evaluate("window.answered"))
            ada.context.close()
        kept = Journal(open_database(workbench_app.sqlite(tmp_path))).events(1, "review:Ada")
        assert len(kept) >= answered > turn
        assert [one.note for one in kept] == [str(i) for i in range(len(kept))]
    print(f"\n{KILLS} kills, {answered} answered actions, {len(kept)} kept")  # noqa: T201  the figure that is asked for


def test_hostile_words_open_no_dialog_and_break_no_policy(chromium: Any, tmp_path: Path) -> None:
    """Text, label, name of the model, of the document and of the reviewer, note and what is typed."""
    with served(tmp_path, [XSS] * 4, hostile=True) as (address, _):
        people = [Reviewer(chromium, address, name) for name in ("<img src=x onerror=alert(1)>", "</script><b>x")]
        for one, key in zip(people, ("a", "r"), strict=True):
            for number in (1, 2, 3):
                page = one.open(number)
                assert page.locator("#text").inner_text() == XSS
                page.keyboard.press(key)
                page.keyboard.press("y")
                page.fill("#note", XSS)
                page.locator("#note").blur()
                one.saved(version=3, number=number)
                page.keyboard.press("w")
                page.wait_for_selector("text=becomes")
                page.keyboard.press("d")
                page.wait_for_url(lambda url, number=number: f"/documents/{number}" not in url)
        ada = people[0]
        for path in PAGES:
            ada.page.goto(ada.address + path)
            ada.page.wait_for_load_state("networkidle")
            assert ada.page.locator("main b, main img, main script").count() == 0, path
        ada.page.goto(f"{ada.address}/playground")
        ada.page.fill("#typed", XSS)
        ada.page.click("button[type=submit]")
        ada.page.wait_for_selector("#answer:not([hidden])")
        assert ada.page.locator("main b, main img, main script").count() == 0
        assert [one.wrong for one in people] == [[], []]


PAGES = (
    "/",
    "/?show=all",
    "/?find=%3Cscript%3Ealert(1)%3C/script%3E",
    "/history",
    "/agreement",
    "/playground",
    "/suggestions",
    "/export",
    "/documents/1",
    "/documents/1/adjudicate",
)


def test_keys_that_somebody_else_wrote_into_the_browser_run_nothing(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path) as (address, _):
        ada = Reviewer(chromium, address)
        page = ada.page
        for kept in (f'{{"accept": "{XSS[:20]}"}}', "{", "[]", "null", '{"accept": {"x": 1}}', '"x"', "7"):
            page.evaluate("(kept) => localStorage.setItem('whylight-keys', kept)", kept)
            page.goto(f"{address}/documents/1")
            page.wait_for_selector(LOADED)
            page.keyboard.press("?")
            page.wait_for_selector("dialog[open] kbd")
        assert ada.wrong == []
