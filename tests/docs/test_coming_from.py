"""The pages for those who come from other packages show code that ran, and figures that were counted."""

import pytest
from snippets import PEERS, TASKS, Snippet
from tasks_pages import PAGES, pages, stored

ALL = [Snippet(task, package, peer) for task in TASKS for peer in PEERS for package in ("whylight", peer)]


def test_the_pages_are_what_snippets_and_measurements_make_them() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in PAGES.iterdir()} == pages()


def test_every_snippet_ran_as_it_is_shown() -> None:
    cells = stored()
    assert [one.name for one in ALL if cells.get(one.name, {}).get("code") != one.digest] == []
    assert cells.keys() == {one.name for one in ALL}


@pytest.mark.parametrize("task", TASKS)
def test_no_package_needs_fewer_lines_than_ours(task: str) -> None:
    for peer in PEERS:
        assert Snippet(task, "whylight", peer).lines <= Snippet(task, peer, peer).lines


def test_lines_are_counted_without_imports_comments_and_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import a\nfrom b import (\n    c,\n)\n\n\n# why\ndef f():\n    return 1  # so\n"
    monkeypatch.setattr(Snippet, "code", code)
    assert Snippet("load", "lime", "lime").lines == 2
