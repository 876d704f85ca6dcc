"""`whylight run` that is stopped by hand, on both engines: no worker is left, and the command that resumes is named."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_driving import written
from test_parts import sums

import tiny
from whylight.run import notes

pytestmark = pytest.mark.ray
TEXTS = [f"a {'good' if number % 3 else 'bad'} film, and {number} others of its kind" for number in range(240)]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A command without its folder."""
    folder = tmp_path_factory.mktemp("asked")
    tiny.model("bert").save_pretrained(folder / "model")
    tiny.tokenizer("bert").save_pretrained(folder / "model")
    data = written(folder / "texts.jsonl", TEXTS)
    return ["run", "--model", str(folder / "model"), "--data", data, "--method", "kernel_shap", "--shard", "16"]


@pytest.fixture(scope="module")
def whole(asked: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run gives that nobody stops."""
    out = tmp_path_factory.mktemp("whole") / "run"
    subprocess.run(command(asked, out), check=True, capture_output=True)  # noqa: S603  our own command
    return sums(out)


def command(asked: list[str], out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "whylight", *asked, "--out", str(out), *more]


def living(session: int) -> list[str]:
    """The processes of a session, but for those that have ended and that nobody has asked about."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(place.name)) == session and "\nState:\tZ" not in (place / "status").read_text():
                found.append((place / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("where", [("--workers", "1"), ("--workers", "2"), ("--workers", "2", "--engine", "ray")])
def test_ctrl_c_ends_all_workers_and_says_what_resumes(
    where: tuple[str, ...], asked: list[str], whole: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "a run"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    whole_command = ["env", "--default-signal=INT", *command(asked, out, *where)]  # in the background it is ignored
    with subprocess.Popen(whole_command, **streams, text=True, start_new_session=True) as run:  # type: ignore[call-overload]  # noqa: S603
        while run.poll() is None and len(list((out / "texts").glob("*.parquet"))) < 3:
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to all processes of the command
        said, complained = run.communicate(timeout=60)
    assert run.returncode == 130, complained
    assert said == ""
    found = re.fullmatch(
        r"whylight: stopped; what was done is in '(.*)', and this resumes from there: (.*)\.\n", complained
    )
    assert found, complained
    assert found[1] == str(out)
    assert found[2] == " ".join(["whylight", *asked, "--out", f"'{out}'", *where])
    end = time.monotonic() + 20
    while living(run.pid) and time.monotonic() < end:  # those of Ray itself take a moment
        time.sleep(0.1)
    assert living(run.pid) == []
    assert not (out / notes.WORKING).exists()
    assert 3 <= len(list((out / "texts").glob("*.parquet"))) < 15
    subprocess.run(whole_command, check=True, capture_output=True)  # noqa: S603
    assert sums(out) == whole
