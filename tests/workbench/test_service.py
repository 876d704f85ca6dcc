"""The service as browsers use it: review, two reviewers, adjudication, export, re-scoring, the queue."""

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import whylight as wl
import workbench_app
from whylight.core.text import Span, Text
from whylight.data.dataset import Dataset, Record
from whylight.workbench.bench import Bench, make_bench
from whylight.workbench.database import open_database
from whylight.workbench.desk import distance, uncertainty
from whylight.workbench.export import Agreed, line_of, marked_of
from whylight.workbench.journal import Document
from whylight.workbench.queue import Asked, queue_page
from whylight.workbench.reviewing import Event
from whylight.workbench.routes.pages import reproduce
from workbench_app import TEXTS, Browser, span, waited


@pytest.fixture
def own(database: str) -> Bench:
    return workbench_app.bench(database)


@pytest.fixture
def client(own: Bench) -> Iterator[Any]:
    with workbench_app.client(own) as found:
        yield found


def test_a_review_is_saved_at_every_step_and_exported_as_training_data(client: Any, tmp_path: Path) -> None:
    ada = Browser(client)
    found = ada.get("/api/documents/1").json()
    assert found["parts"] == [TEXTS[0]]
    assert [one["label"] for one in found["labels"] if one["predicted"]] == ["bad"]
    for kind, given in (
        ("accept", {"label": "bad"}),
        ("mark", {"label": "bad", "span": span(TEXTS[0], "truly bad")}),
        ("add", {"label": "fever"}),
        ("undo", {}),
        ("note", {"note": "<script>"}),
        ("done", {}),
    ):
        answer = ada.act(1, kind, **given)
        assert answer.status_code == 201, answer.text
    state = ada.get("/api/documents/1").json()["review"]
    assert state["decisions"] == {"bad": "accepted"}
    assert state["note"] == "<script>"
    assert (state["done"], state["version"]) == (True, 6)
    exported = ada.get("/api/export").text
    path = tmp_path / "rationales.jsonl"
    path.write_text(exported, encoding="utf-8")
    (record,) = wl.dataset(str(path))
    assert record.example.text == TEXTS[0]
    assert record.labels == ("bad",)
    assert [record.example.show(one) for one in record.rationales["bad"].places] == ["truly bad"]


def test_evidence_is_what_explain_says_and_removing_it_is_scored_anew(client: Any, own: Bench) -> None:
    ada = Browser(client)
    found = ada.get("/api/documents/3/evidence", params={"label": "fever", "method": "occlusion"}).json()
    assert [one["text"] for one in found["for"]] == ["fever"]
    expected = wl.explain(own.desk.classifier, TEXTS[2], method="occlusion", target="fever")
    assert found["for"][0]["score"] == pytest.approx(max(score for _, score in expected.as_list()))
    fall = ada.post("/api/documents/3/without", {"label": "fever", "spans": [span(TEXTS[2], "fever")]}).json()
    assert (fall["before"], fall["after"], fall["words"]) == (pytest.approx(0.9), pytest.approx(0.1), 1)
    assert ada.get("/api/documents/3/evidence", params={"label": "x", "method": "occlusion"}).status_code == 422
    assert ada.get("/api/documents/3/evidence", params={"label": "bad", "method": "lime"}).status_code == 422


def test_two_reviewers_never_overwrite_each_other_and_a_stale_page_is_told(client: Any) -> None:
    ada, bob = Browser(client, "Ada"), Browser(client, "Bob")
    assert ada.act(1, "accept", label="bad").status_code == 201
    assert bob.act(1, "reject", label="bad").status_code == 201
    assert ada.get("/api/documents/1").json()["review"]["decisions"] == {"bad": "accepted"}
    stale = ada.post("/api/documents/1/events", {"version": 0, "kind": "reject", "label": "bad"})
    assert stale.status_code == 409
    assert stale.json()["decisions"] == {"bad": "accepted"}
    assert ada.get("/api/documents/1").json()["review"]["version"] == 1


def test_disagreements_are_adjudicated_and_only_then_exported(client: Any) -> None:
    ada, bob = Browser(client, "Ada"), Browser(client, "Bob")
    ada.act(1, "accept", label="bad")
    bob.act(1, "reject", label="bad")
    for one in (ada, bob):
        one.act(1, "done")
    assert ada.get("/api/export").text == ""
    bob.act(1, "note", note="only in the family")
    page = ada.get("/documents/1/adjudicate", headers={"accept": "text/html"}).text
    assert "Decide as Ada" in page
    assert "only in the family" in page
    assert "note 0" in ada.get("/agreement", headers={"accept": "text/html"}).text
    answer = ada.post("/api/documents/1/adjudication", {"version": 0, "kind": "accept", "label": "bad"})
    assert answer.status_code == 201
    assert json.loads(ada.get("/api/export").text)["labels"] == ["bad"]
    (both,) = ada.get("/api/agreement").json()
    assert (both["first"], both["second"], both["pairs"], both["same"]) == ("Ada", "Bob", 1, 0.0)


def test_the_queue_is_sorted_filtered_and_counted(client: Any, own: Bench) -> None:
    waited(own)
    ada = Browser(client)
    ada.act(2, "done")
    model = own.desk.findings.model

    def page(**given: Any) -> Any:
        return queue_page(own.engine, Asked(**given), "Ada", model=model)

    assert [one.id for one in page(sort="order").entries] == [1, 3, 4]
    unsure = [one.uncertainty for one in page().entries]
    assert unsure == sorted(unsure, reverse=True)
    assert [one.id for one in page(show="done").entries] == [2]
    every = page(show="all", sort="doubt").entries
    doubts = [one.doubt for one in every]
    assert doubts == sorted((one for one in doubts if one is not None), reverse=True) + [None] * doubts.count(None)
    assert [one.id for one in page(find="FEVER", show="all").entries] == [3]
    assert page(find="100%", show="all").matching == 0
    assert (page().done, page().total) == (1, 4)
    assert queue_page(own.engine, Asked(), "Bob", model=model).done == 0
    for wrong in ({"sort": "id; drop table"}, {"show": "x"}, {"page": 0}):
        with pytest.raises(wl.WhylightError):
            Asked(**wrong)


def test_documents_are_found_by_their_names(database: str) -> None:
    names = ("note-é7", "100%_a", "back\\slash", "\0x", "half \ud800")
    own = make_bench(open_database(database), workbench_app.bench(database).desk.classifier, None, password=None)
    own.journal.take_in(Dataset("x", "test", (), tuple(Record(one, Text("a text"), ()) for one in names)))

    def found(words: str) -> list[str]:
        return [one.name for one in queue_page(own.engine, Asked(find=words, sort="order"), "Ada", model="").entries]

    assert found("E-é7") == [names[0]]
    assert found("0%_A") == [names[1]]
    assert found("k\\s") == [names[2]]
    assert found("HALF") == [names[4]]
    assert found("%") == [names[1]]
    assert found("nothing") == []


def test_why_a_document_comes_first(own: Bench) -> None:
    twice, fine = (own.desk.standing(own.journal.document(number)) for number in (1, 3))  # type: ignore[arg-type]
    assert twice.labels == {"bad": pytest.approx(0.9)}
    assert fine.doubt == pytest.approx(0.1 / 0.9)  # one word decides: without it nothing is left
    assert fine.disagreement is not None
    answer = own.desk.prediction(own.journal.document(1).text)  # type: ignore[union-attr]
    assert uncertainty(answer) == pytest.approx(max(1 - abs(p - 0.5) / 0.5 for p in answer.probabilities))
    assert distance([], []) == 0.0


def test_what_was_found_is_kept_for_this_model_alone(own: Bench) -> None:
    document = own.journal.document(1)
    assert document is not None
    first = own.desk.explanation(document.text, "occlusion", [0], document=1)
    again = own.desk.explanation(document.text, "occlusion", [0], document=1)
    assert again.to_dict() == first.to_dict()
    other = wl.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["bad", "fever"], identity="rule-2", head="sigmoid")
    elsewhere = workbench_app.make_bench(own.engine, other, None, methods=["occlusion"], password=None)
    assert elsewhere.desk.explanation(document.text, "occlusion", [0]).scores.max() == 0
    assert elsewhere.desk.findings.placed() == set()


def test_the_playground_explains_and_keeps_nothing(client: Any) -> None:
    ada = Browser(client)
    (found,) = ada.post("/api/playground", {"text": "so bad", "method": "occlusion"}).json()["answers"]
    assert found["words"] == [["so", pytest.approx(0.0)], ["bad", pytest.approx(0.4)]]
    wrong = ada.post("/api/playground", {"text": "so bad", "method": "lime", "settings": {"samples": "many"}})
    assert (wrong.status_code, "samples" in wrong.json()["detail"]) == (422, True)
    assert ada.post("/api/playground", {"text": "", "method": "lime"}).status_code == 422


def test_history_says_who_did_what(client: Any) -> None:
    ada = Browser(client)
    ada.act(3, "accept", label="fever")
    (row,) = ada.get("/api/history").json()
    assert (row["reviewer"], row["kind"], row["label"], row["document"]) == ("Ada", "accept", "fever", 3)
    page = ada.get("/history", headers={"accept": "text/html"}).text
    command = "whylight explain --model rule-1 --file document-3.jsonl --target fever --method occlusion --method 'lime"
    assert command.replace("'", "&#39;") in page


def test_the_history_of_one_document_is_of_that_alone(client: Any) -> None:
    ada, html = Browser(client), {"accept": "text/html"}
    ada.act(1, "note", note="first note")
    ada.act(2, "note", note="second note")
    page = ada.get("/history?document=1", headers=html).text
    assert ("first note" in page, "second note" in page) == (True, False)
    assert ada.get("/history?document=99", headers=html).status_code == 404
    assert "first note" in ada.get("/history", headers=html).text


def test_what_could_not_be_explained_is_said_and_may_be_tried_again(database: str) -> None:
    failing = True

    def rule(texts: Sequence[str]) -> list[list[float]]:
        if failing:
            raise wl.WhylightError("the line to the model is broken")
        return workbench_app.rule(texts)

    model = wl.load(rule, labels=["bad", "fever"], identity="rule-1", head="sigmoid")
    own = make_bench(open_database(database), model, workbench_app.documents(), methods=["occlusion"], password=None)
    with workbench_app.client(own) as client:
        ada, html = Browser(client), {"accept": "text/html"}
        waited(own)
        assert "4 documents could not be explained: the line to the model is broken" in ada.get("/", headers=html).text
        failing = False
        assert ada.post("/api/job", {}).status_code == 202
        waited(own)
        assert "could not be explained" not in ada.get("/", headers=html).text
        assert own.desk.findings.placed() == {1, 2, 3, 4}


def test_a_command_names_the_model_of_then(client: Any, own: Bench) -> None:
    """A server that is started with another model, or other methods, does not change what was signed off."""
    Browser(client).act(3, "accept", label="fever")
    other = wl.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["bad", "fever"], identity="rule-2", head="sigmoid")
    later = make_bench(own.engine, other, None, methods=["random"], password=None, asked=["--head", "sigmoid"])
    with workbench_app.client(later) as found:
        bob = Browser(found, "Bob")
        bob.act(3, "reject", label="fever")
        last, first = bob.get("/api/history").json()
        assert reproduce(first).startswith("whylight explain --model rule-1 --file document-3.jsonl")
        assert reproduce(last) == (
            "whylight explain --model rule-2 --head sigmoid --file document-3.jsonl --target fever --method random"
        )
        assert "other weights" in bob.get("/history", headers={"accept": "text/html"}).text
    own.journal.add(3, "review:Eve", Event("accept", "fever"), reviewer="Eve", seen=0)  # of an earlier version
    assert reproduce(own.journal.history()[0]) == ""


def test_the_file_of_a_document_is_the_document(client: Any, own: Bench, tmp_path: Path) -> None:
    ada = Browser(client)
    path = tmp_path / "document.jsonl"
    for number, text in enumerate(TEXTS, start=1):
        path.write_bytes(ada.get(f"/api/documents/{number}/file").content)
        (record,) = wl.dataset(str(path), unlabelled=True)
        assert record.example.text == text
    words = Text("a  b", "c", words=(Span(0, 0, 1), Span(0, 3, 4), Span(1, 0, 1)))
    own.journal.take_in(Dataset("own", "test", (), (Record("own words", words, ()),)))
    path.write_bytes(ada.get("/api/documents/5/file").content)
    (record,) = wl.dataset(str(path), unlabelled=True)
    assert record.example == words


def test_next_is_next_in_the_queue(client: Any, own: Bench) -> None:
    waited(own)
    ada = Browser(client)
    for query in ("", "?sort=order", "?sort=doubt&show=all", "?sort=length&find=bad"):
        asked = Asked(**dict(one.split("=") for one in query[1:].split("&") if one))
        ids = [one.id for one in queue_page(own.engine, asked, "Ada", model=own.desk.findings.model).entries]
        for before, after in zip([None, *ids], [*ids, None], strict=True):
            if before is not None:
                assert ada.get(f"/api/documents/{before}{query}").json()["next"] == after
            if after is not None:
                assert ada.get(f"/api/documents/{after}{query}").json()["previous"] == before
    ada.act(2, "done")
    assert ada.get("/api/documents/1?sort=order").json()["next"] == 3
    assert ada.get("/api/documents/2?sort=order").json()["next"] == 3
    assert ada.get("/api/documents/1?sort=x").status_code == 422


def test_what_was_agreed_on_is_written_for_other_tools(client: Any) -> None:
    ada = Browser(client)
    ada.act(1, "accept", label="bad")
    ada.act(1, "mark", label="bad", span=span(TEXTS[0], "truly bad"))
    ada.act(3, "accept", label="fever")
    for number in (1, 3):
        ada.act(number, "done")
    with zipfile.ZipFile(io.BytesIO(ada.get("/api/export?form=brat").content)) as folder:
        names = sorted(folder.namelist())
        assert names == ["00000000.ann", "00000000.txt", "00000001.ann", "00000001.txt"]
        assert folder.read("00000000.txt").decode() == TEXTS[0]
        start = TEXTS[0].index("truly bad")
        assert folder.read("00000000.ann").decode() == f"T1\tbad {start} {start + 9}\ttruly bad\n"
        assert folder.read("00000001.ann") == b""
    first, second = ada.get("/api/export?form=labelstudio").json()
    (region,) = first["annotations"][0]["result"]
    units = TEXTS[0].encode("utf-16-le")
    value = region["value"]
    assert units[2 * value["start"] : 2 * value["end"]].decode("utf-16-le") == value["text"] == "truly bad"
    assert second["annotations"] == [{"result": []}]
    words = [line.split("\t") for line in ada.get("/api/export?form=conll").text.split("\n\n")[0].splitlines()[3:]]
    assert [(word, tag) for word, *_, score, tag in words if tag != "O" or score != "_"] == [
        ("truly", "B-bad"),
        ("bad", "I-bad"),
    ]
    assert ada.get("/api/export?form=../x").status_code == 422
    page = ada.get("/export", headers={"accept": "text/html"}).text
    assert "2 of 4 documents" in page


def test_pairs_are_exported_for_training_alone() -> None:
    document, found = Document(1, "x", Text("a bad", "bad bad"), ()), Agreed(("bad",), {"bad": (Span(1, 4, 7),)}, ())
    with pytest.raises(wl.WhylightError, match="pairs"):
        list(marked_of(document, found, ["Ada"]))
    row = json.loads(line_of(document, found, several=True))
    assert row["rationales"]["bad"] == [{"part": 1, "start": 4, "end": 7, "text": "bad"}]
