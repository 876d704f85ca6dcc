"""`whylight run` on disks that are full or cannot be written in: one sentence, and nothing that was done is lost."""

import subprocess
import sys
from pathlib import Path

import pytest
from test_driving import written
from test_parts import sums

import tiny

pytestmark = pytest.mark.ray
TEXTS = [f"a {'good' if number % 3 else 'bad'} film, and {number} others of its kind" for number in range(160)]
MOUNTED = 'mount -t tmpfs -o size="$1" none "$2" && shift 2 && exec sh -c "$@"'
"""In a space of its own: a disk of so many bytes at a place, and then a script."""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("asked")
    tiny.model("bert").save_pretrained(folder / "model")
    tiny.tokenizer("bert").save_pretrained(folder / "model")
    data = written(folder / "texts.jsonl", TEXTS)
    asked = f"run --model {folder / 'model'} --data {data} --method occlusion --shard 8"
    return f"{sys.executable} -m whylight {asked} --workers 2 --out"


def on_a_disk(size: str, place: Path, script: str) -> tuple[str, str]:
    place.mkdir()
    whole = ["unshare", "--mount", "--map-root-user", "sh", "-c", MOUNTED, "sh", size, str(place), script]
    done = subprocess.run(whole, capture_output=True, text=True, check=True)  # noqa: S603  our own command
    return done.stdout, done.stderr


def test_a_full_disk_is_said_and_what_was_done_is_gone_on_with(command: str, tmp_path: Path) -> None:
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    full = f"{command} {disk}/run; test $? = 2 && ls {disk}/run/texts | wc -l && mount -o remount,size=9m {disk}"
    out, err = on_a_disk("250k", disk, f"{full} && {command} {disk}/run && cp -r {disk}/run {kept}")
    said, wrote = err.splitlines()
    assert said.startswith(f"whylight: cannot write '{disk}/run/")
    assert said.endswith("': No space left on device.")
    assert wrote == f"whylight: wrote {disk}/run"
    count, again = out.split("\n", 1)
    assert 0 < int(count) < 20
    assert f"160 texts; {160 - 8 * int(count)} of them now" in " ".join(again.split())
    subprocess.run(f"{command} {tmp_path}/whole", shell=True, check=True, capture_output=True)  # noqa: S602  as above
    assert sums(kept) == sums(tmp_path / "whole")


def test_a_disk_that_cannot_be_written_in_is_said_before_the_work(command: str, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    shut = f"mount -o remount,ro {disk} && {command} {disk}/run; test $? = 2"
    assert on_a_disk("9m", disk, shut) == ("", f"whylight: cannot write '{disk}/run': Read-only file system.\n")
