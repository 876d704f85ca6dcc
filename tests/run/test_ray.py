"""Runs on Ray, on several processes, over S3 and in SQL: what needs libraries or minutes of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import corpus_models
import pytest
from test_driving import SHARD, TEXTS, run, written
from test_parts import sums

import whylight as wl
from whylight.core.errors import InputError, SettingError
from whylight.data.stream import stream
from whylight.engines import on_ray
from whylight.engines.engine import Died
from whylight.report.exporting import export
from whylight.run import driving, tally
from whylight.store.querying import query

pytestmark = pytest.mark.ray
KINDS: dict[str, Any] = {"methods": ["occlusion"], "shard": SHARD, "progress": False, "load": corpus_models.LABELS}


@pytest.fixture(scope="module", autouse=True)
def paths() -> Any:
    """Let processes of Ray import what tests import."""
    own = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1]), own])
    yield
    os.environ["PYTHONPATH"] = own


@pytest.fixture
def data(tmp_path: Path) -> str:
    return written(tmp_path / "texts.jsonl")


def test_processes_give_the_bytes_of_one_and_replace_the_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(corpus_models.DIED, str(tmp_path))
    texts = [*TEXTS[:6], "a film that ends a process ONCE", *TEXTS[6:]]
    data = written(tmp_path / "texts.jsonl", texts)
    right = run(data, tmp_path / "one", load=corpus_models.LABELS)  # as the manifest says it
    found = wl.run_corpus(corpus_models.mortal, data, out=tmp_path / "two", workers=2, **KINDS)
    assert found.deaths == 1
    assert found.failed == 0
    assert found.sha256 == right.sha256
    assert sums(tmp_path / "one") == sums(tmp_path / "two")


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_text_that_kills_its_process_is_set_aside(engine: str, tmp_path: Path) -> None:
    data = written(tmp_path / "texts.jsonl", [*TEXTS[:6], "a film that KILLS"])
    found = wl.run_corpus(corpus_models.deadly, data, out=tmp_path / "run", workers=1, engine=engine, **KINDS)
    assert (found.texts, found.failed, found.deaths) == (7, 1, 3)


def test_a_cluster_gives_the_bytes_of_one_process(data: str, tmp_path: Path) -> None:
    right = run(data, tmp_path / "one", load=corpus_models.LABELS)  # as the manifest says it
    found = wl.run_corpus(corpus_models.by_length, data, out=tmp_path / "ray", workers=2, engine="ray", **KINDS)
    assert found.sha256 == right.sha256
    assert sums(tmp_path / "one") == sums(tmp_path / "ray")


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_texts_are_counted_while_workers_elsewhere_work_on_their_shards(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(driving, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(tally, "MINUTE", 0.0)
    data = written(tmp_path / "texts.jsonl", [*TEXTS[:3], "a film that FAILS", *TEXTS[4:], *TEXTS])
    kinds = {**KINDS, "shard": 14, "progress": True}  # two shards
    found = wl.run_corpus(corpus_models.slow, data, out=tmp_path / "run", workers=2, engine=engine, **kinds)
    assert (found.texts, found.failed) == (28, 1)
    lines = re.findall(r"whylight: (\d+) of 28 texts(.*)\.\n", capsys.readouterr().err)
    counts = [int(count) for count, _ in lines]
    assert counts == sorted(counts)
    assert len({count for count in counts if 0 < count < 14}) >= 3  # before any shard can be done
    assert lines[0] == ("0", ", the model is being loaded")
    told = [rest for count, rest in lines if 4 < int(count) < 28]
    assert any(re.fullmatch(r", [\d.]+ per (second|minute), [\d.]+ (s|min) left, 1 failed", rest) for rest in told)


def test_a_node_that_is_lost_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray  # noqa: PLC0415
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    data = written(tmp_path / "texts.jsonl", TEXTS * 12)
    right = run(data, tmp_path / "one", load=corpus_models.LABELS)  # as the manifest says it
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    other = cluster.add_node(num_cpus=1)
    try:
        ray.init(address=cluster.address, log_to_driver=False)

        deaths, died = list[Died](), driving.Driver.died
        begun, ready = list[driving.Driver](), driving.Driver.ready
        lost, done = list[str](), driving.Driver.done

        def noting(self: driving.Driver, task: Any, death: Died) -> None:
            deaths.append(death)
            died(self, task, death)

        def beginning(self: driving.Driver) -> None:
            begun.append(self)
            ready(self)

        def losing(self: driving.Driver, task: Any, receipt: Any) -> None:
            done(self, task, receipt)
            if len(begun) == 2 and not lost:  # both nodes work
                lost.append("a node")
                cluster.remove_node(other, allow_graceful=False)  # and no other one comes

        monkeypatch.setattr(driving.Driver, "died", noting)
        monkeypatch.setattr(driving.Driver, "ready", beginning)
        monkeypatch.setattr(driving.Driver, "done", losing)
        found = wl.run_corpus(corpus_models.slow, data, out=tmp_path / "ray", workers=2, engine="ray", **KINDS)
        assert found.sha256 == right.sha256
        assert found.failed == 0
        assert sums(tmp_path / "one") == sums(tmp_path / "ray")
        assert [death.of_node for death in deaths] == [True]
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_no_ray_an_old_ray_and_a_cluster_that_does_not_answer_are_one_sentence(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {**KINDS, "engine": "ray", "out": tmp_path / "run"}
    with pytest.raises(SettingError, match=r"no Ray cluster answers at '127\.0\.0\.1:9'.*leave out --address\.$"):
        wl.run_corpus(corpus_models.by_length, data, address="127.0.0.1:9", **kinds)
    real = on_ray.import_module("ray")
    monkeypatch.setattr(real, "__version__", "2.40.0")
    with pytest.raises(InputError, match=r"Ray 2\.40\.0 is not safe to use"):
        wl.run_corpus(corpus_models.by_length, data, **kinds)
    monkeypatch.setattr(on_ray, "import_module", lambda _: (_ for _ in ()).throw(ImportError()))
    with pytest.raises(InputError, match=r"pip install 'whylight\[ray\]', or leave out --engine"):
        wl.run_corpus(corpus_models.by_length, data, **kinds)


def test_sql_sees_the_rows_that_count(data: str, tmp_path: Path) -> None:
    run(data, tmp_path / "run", metrics=["aopc_comprehensiveness"])
    (tmp_path / "run" / "scores" / "00000000-0123456789ab.parquet").write_bytes(b"a part without a commit")
    names, rows = query(tmp_path / "run", "select method, count(*) as n from scores group by method order by method")
    assert names == ["method", "n"]
    assert rows == [("occlusion", 14), ("random", 14)]
    assert query(tmp_path / "run", "select count(*) from timings t join texts x using (number)")[1] == [(14,)]
    assert query(tmp_path / "run", "select count(*) from tuning")[1] == [(0,)]
    with pytest.raises(SettingError, match="DuckDB says: "):
        query(tmp_path / "run", "selekt 1")


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "select 1; select 2",
        "copy (select 1) to '{outside}.csv'",
        "copy (select 1) to '{part}'",
        "explain analyze copy (select 1) to '{part}'",
        "attach '{outside}.db' as x",
        "export database '{outside}'",
        "install httpfs",
        "set enable_external_access = true",
        "select * from read_csv('{outside}.txt')",
        "select * from '{outside}.jsonl'",
        "select * from glob('{outside}*')",
    ],
)
def test_sql_writes_no_file_and_reads_no_other_one(sql: str, data: str, tmp_path: Path) -> None:
    run(data, tmp_path / "run")
    before, part = sums(tmp_path / "run"), min((tmp_path / "run" / "explanations").iterdir())
    (tmp_path / "texts.txt").write_text("a,b\n1,2\n")
    there = {*tmp_path.iterdir()}
    with pytest.raises(SettingError, match=r"one statement that reads|DuckDB says"):
        query(tmp_path / "run", sql.format(outside=tmp_path / "texts", part=part))
    assert {*tmp_path.iterdir()} == there
    assert sums(tmp_path / "run") == before


def test_sql_may_be_asked_of_a_folder_with_any_name(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(data, tmp_path / "it's a [run]*?")
    monkeypatch.chdir(tmp_path)
    assert query("it's a [run]*?", "from explanations select count(*)")[1] == [(14,)]
    assert query("it's a [run]*?", "with a as (select * from texts) select max(number) from a")[1] == [(13,)]
    assert len(query("it's a [run]*?", "describe scores")[1]) == 11


def test_a_data_set_of_hugging_face_is_read_back(data: str, tmp_path: Path) -> None:
    import datasets  # noqa: PLC0415

    run(data, tmp_path / "run")
    export(tmp_path / "run", tmp_path / "set", form="datasets")
    found = datasets.load_from_disk(str(tmp_path / "set"))
    rows = list(wl.open_run(tmp_path / "run").explanations)
    assert [row["scores"] for row in found] == [row["scores"] for row in rows]
    assert [row["text"] for row in found] == TEXTS


def test_texts_come_from_an_s3_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    server = ThreadedMotoServer(port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        }.items():
            monkeypatch.setenv(name, value)
        import boto3  # noqa: PLC0415

        store = boto3.client("s3")
        store.create_bucket(Bucket="reviews")
        for number, own in enumerate((TEXTS[:5], TEXTS[5:])):
            body = "".join(json.dumps({"text": text}) + "\n" for text in own).encode()
            store.put_object(Bucket="reviews", Key=f"all/part-{number}.jsonl", Body=body)
        source = stream("s3://reviews/all/part-*.jsonl", unlabelled=True)
        found = run(source, tmp_path / "run")
        assert found.texts == 14
        assert found.sha256 == run(written(tmp_path / "texts.jsonl"), tmp_path / "local").sha256
    finally:
        server.stop()


def command(*arguments: str) -> tuple[int, str, str]:
    whole = [sys.executable, "-m", "whylight", *arguments]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)  # noqa: S603  our own command
    return done.returncode, done.stdout, done.stderr


def test_the_commands_work_one_after_the_other(data: str, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    asked = ("run", "--data", data, "--method", "occlusion", "--out", out)
    code, said, _ = command(*asked, "--dry-run")
    assert code == 0
    assert said.startswith("14 texts: ")
    assert not Path(out).exists()
    for new in ("14", "0"):
        code, said, err = command(*asked, "--workers", "2")
        assert code == 0, err
        assert f"14 texts; {new} of them now" in said
    assert command("verify", out, "--rows", "3")[1].startswith("3 texts, 3 rows: 3 are the same to the last bit")
    assert "14" in command("query", out, "select count(*) as n from explanations")[1]
    assert command("export", out, "--to", "conll", "--out", str(tmp_path / "x.conll"))[0] == 0
    assert (tmp_path / "x.conll").exists()
    assert command("report", out)[0] == 0
