"""The tools of agents: they answer as `wl.explain` does, over the protocol, and say what cannot be trusted."""

import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from mcp.client import Client

import whylight as wl
import workbench_app
from whylight.workbench.agents import make_server, trusted

MODEL = wl.load(workbench_app.rule, labels=["bad", "fever"], identity="rule-1", head="sigmoid")


def call(name: str, **given: Any) -> Any:
    """Call a tool as a client does."""

    async def asked() -> Any:
        async with Client(make_server(MODEL)) as client:
            return await client.call_tool(name, given)

    return anyio.run(asked)


def test_a_client_lists_the_tools() -> None:
    async def asked() -> Any:
        async with Client(make_server(MODEL)) as client:
            return await client.list_tools()

    tools = anyio.run(asked).tools
    assert {one.name for one in tools} == {"predict", "explain", "trust"}
    assert all(one.description for one in tools)


def test_the_answers_are_those_of_the_package() -> None:
    said = call("predict", text="a fever").structured_content
    assert said["predicted"] == ["fever"]
    found = call("explain", text="a fever", label="fever", method="occlusion").structured_content
    expected = wl.explain(MODEL, "a fever", method="occlusion", target="fever").as_list()
    assert [(one["text"], one["score"]) for one in found["for"]] == [("fever", pytest.approx(expected[1][1]))]


def test_evidence_that_can_go_without_a_fall_is_not_to_be_relied_on() -> None:
    own = call("trust", text="a fever", method="occlusion").structured_content
    assert (own["without_the_evidence"], own["with_the_evidence_alone"]) == (pytest.approx(0.1), pytest.approx(0.9))
    assert own["verdict"].startswith("the decision falls")
    one = wl.explain(MODEL, "bad bad fever", method="random", target=["fever"])
    wrong = type(one)(**{name: getattr(one, name) for name in one.__slots__} | {"scores": abs(one.scores) * [1, 1, 0]})
    assert trusted(MODEL, wrong, [])["verdict"].startswith("do not rely")


@pytest.mark.parametrize(
    "given", [{"text": " "}, {"text": "x", "label": "nothing"}, {"text": "x", "method": "nothing"}]
)
def test_what_cannot_be_answered_is_an_error_in_words(given: dict[str, Any]) -> None:
    found = call("explain", **given)
    assert found.is_error
    assert found.content[0].text


@pytest.mark.parametrize(
    "method", ["occlusion[remover=infill[model=/etc]]", "aml[folder=/etc]", "lime[samples=999999]"]
)
def test_an_agent_names_no_file_and_no_other_machine(method: str) -> None:
    for tool in ("explain", "trust"):
        assert call(tool, text="a fever", method=method).is_error


def test_several_questions_at_once_are_answered_one_after_the_other() -> None:
    inside, most = 0, 0

    def rule(texts: Sequence[str]) -> list[list[float]]:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.002)
        inside -= 1
        return workbench_app.rule(texts)

    model = wl.load(rule, labels=["bad", "fever"], identity="rule-1", head="sigmoid")

    async def asked() -> None:
        async with Client(make_server(model)) as client, anyio.create_task_group() as group:
            for name in ("predict", "explain", "trust") * 3:
                group.start_soon(client.call_tool, name, {"text": f"a fever, {name}"})

    anyio.run(asked)
    assert most == 1


@pytest.mark.slow
def test_standard_output_carries_the_protocol_alone() -> None:
    hello = (
        '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", '
        '"capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}}\n'
    )
    command = [sys.executable, "-m", "whylight", "mcp"]
    found = subprocess.run(command, input=hello, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603
    lines = found.stdout.splitlines()
    assert lines
    assert all(line.startswith('{"jsonrpc"') for line in lines)
