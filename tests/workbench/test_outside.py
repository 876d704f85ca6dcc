"""What people at a browser and agents may ask for: no request names a file, a folder or another machine."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import workbench_app
from whylight.core.errors import WhylightError
from whylight.workbench.outside import MOST, check_asked
from workbench_app import Browser


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with workbench_app.client(workbench_app.bench(workbench_app.sqlite(tmp_path_factory.mktemp("outside")))) as found:
        yield Browser(found)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("occlusion", {"remover": "infill[model=/etc]"}),
        ("occlusion", {"remover": "infill[model=somebody/something]"}),
        ("occlusion", {"infill.model": "/etc"}),
        ("occlusion", {"occlusion.window": "2"}),
        ("occlusion[remover=infill[model=/etc]]", {}),
        ("occlusion[remover=delete]", {}),
        ("aml[folder=/etc]", {}),
        ("aml", {"folder": "/etc"}),
        *(("occlusion", {name: "1"}) for name in ("method", "target", "budget", "progress", "inputs", "classifier")),
        *(("occlusion", {name: "1"}) for name in ("unit", "long", "score", "max_memory", "layer", "evidence_sign")),
        ("lime", {"samples": str(MOST + 1)}),
        ("lime", {"samples": "-1e300"}),
        ("lime[samples=1000000000]", {}),
        ("nothing", {}),
    ],
)
def test_what_is_asked_for_from_outside_are_methods_with_their_own_settings(
    ada: Browser, method: str, settings: dict[str, str]
) -> None:
    body = {"text": "so bad", "method": method, "settings": settings}
    ada.client.cookies.update(ada.cookies)
    headers = {"x-whylight-token": ada.token, "content-type": "application/json"}
    answer = ada.client.post("/api/playground", content=as_sent(body), headers=headers)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"]
    with pytest.raises(WhylightError):
        check_asked(ada.client.app.state.bench.desk.classifier, method, settings)  # type: ignore[attr-defined]


def test_settings_of_a_method_are_taken(ada: Browser) -> None:
    for given in ({"method": "occlusion[window=2]"}, {"method": "occlusion", "settings": {"window": "2"}}):
        (found,) = ada.post("/api/playground", {"text": "so bad", **given}).json()["answers"]
        assert found["receipt"]["settings"]["window"] == 2
    seeded = {"method": "lime", "settings": {"samples": "9", "seed": "123456789"}}
    assert ada.post("/api/playground", {"text": "so bad", **seeded}).status_code == 200


def test_half_a_character_is_answered_in_json(ada: Browser) -> None:
    """A browser may cut a character in two; neither the answer nor the document breaks."""
    typed = {"text": "so bad", "method": "lime", "settings": {"samples": "\ud800"}}
    event = {"version": 0, "kind": "note", "note": "a\ud800"}
    headers = {"x-whylight-token": ada.token, "content-type": "application/json"}
    ada.client.cookies.update(ada.cookies)
    answer = ada.client.post("/api/playground", content=as_sent(typed), headers=headers)
    assert (answer.status_code, "\ud800" in answer.json()["detail"]) == (422, True)
    answer = ada.client.post("/api/documents/1/events", content=as_sent(event), headers=headers)
    assert (answer.status_code, answer.json()["note"]) == (201, "a\ud800")
    assert ada.get("/api/documents/1").json()["review"]["note"] == "a\ud800"
    assert ada.get("/api/history").json()[0]["note"] == "a\ud800"
    assert ada.get("/history", headers={"accept": "text/html"}).status_code == 200


def as_sent(body: Any) -> bytes:
    """JSON as a browser writes it: halves of characters as escapes."""
    return json.dumps(body).encode("ascii")
