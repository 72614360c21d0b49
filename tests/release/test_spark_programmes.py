"""Programmes whose records are in Spark: the release is that of files, on a real cluster too."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.demo import write_census, write_programme
from discreet.errors import MicrodataError, ProgrammeError
from discreet.microdata.spark import fingerprint
from discreet.release import check_release, protect
from tests.helpers.service_server import free_port
from tests.release.test_cubes import tables_of

SOURCE = re.compile(r'^source = "(.*)"$', re.MULTILINE)
#: Of households that inherit their keys, and of dwellings with figures.
TABLES = re.compile(r"\[+tables\.(households|dwellings)[].]")


def in_spark(programme: Path, place: str) -> Path:
    """The same programme, with its main source in Spark."""
    text = SOURCE.sub(f'spark = "{place}"', programme.read_text("utf-8"), count=1)
    return _written(programme.with_name("spark.toml"), text)


def _written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A master and two workers, each a process of its own."""
    import pyspark

    home = Path(pyspark.__file__).parent
    launch = [str(home / "bin/spark-class"), "org.apache.spark.deploy"]
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    sizes = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    environment = {**os.environ, **sizes, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    words = [[f"{launch[1]}.master.Master", "--host", "127.0.0.1", "--port", str(port)]]
    for number in range(2):
        place = ["--work-dir", str(folder / f"worker{number}"), "--host", "127.0.0.1"]
        sized = ["--cores", "1", "--memory", "1g", "--webui-port", str(free_port())]
        words.append([f"{launch[1]}.worker.Worker", *place, *sized, url])
    words[0] += ["--webui-port", str(free_port())]
    logs = [(folder / f"log{number}").open("w+") for number in range(3)]
    processes = []
    try:
        for each, log in zip(words, logs, strict=True):
            processes.append(
                subprocess.Popen(
                    [launch[0], *each], env=environment, cwd=folder, stdout=log, stderr=log
                )
            )
        _until(lambda: _registered(folder) == 2, processes)
        yield url
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)
        for log in logs:
            log.close()


def _registered(folder: Path) -> int:
    return (folder / "log0").read_text("utf-8").count("Registering worker")


def _until(done: Any, processes: list[subprocess.Popen[bytes]], most: float = 240) -> None:
    end = time.monotonic() + most
    while not done():
        assert time.monotonic() < end, "the cluster did not start"
        assert all(process.poll() is None for process in processes), "the cluster stopped"
        time.sleep(0.2)


@pytest.mark.spark
@pytest.mark.exhaustive
def test_a_cluster_of_a_master_and_two_workers_gives_the_release_of_one_machine(
    tmp_path: Path,
) -> None:
    """Tables of a census: made and inherited keys, sums, means, parts, key figures."""
    census = tmp_path / "census"
    census.mkdir()
    write_census(census, persons=800)
    text = write_programme(census).read_text("utf-8").replace('workbook = "census.xlsx"', "")
    blocks = [each for each in re.split(r"\n(?=\[)", text) if TABLES.match(each)]
    text = "\n".join([text[: text.index("[tables.")], *blocks])
    protect(_written(census / "file.toml", text), tmp_path / "of-file")
    programme = _written(census / "spark.toml", SOURCE.sub(r'spark = "./\1"', text))
    few = "spark.sql.shuffle.partitions 2\nspark.ui.enabled false\n"  # 200 are for large clusters
    _written(tmp_path / "spark-defaults.conf", few)
    with cluster(tmp_path) as url:
        environment = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_CONF_DIR": str(tmp_path),
        }
        done = subprocess.run(
            [sys.executable, "-m", "discreet", "protect", str(programme), "--master", url,
             "--out", "of-cluster"],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=400,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        logs = (tmp_path / "log0").read_text("utf-8")
    assert len(set(re.findall(r"worker-\d+-127\.0\.0\.1-\d+", logs))) == 2
    found, expected = (tables_of(tmp_path / name) for name in ("of-cluster", "of-file"))
    tables = [name for name in expected if name.endswith(".csv")]
    assert len(tables) > 3
    assert {name: found[name] for name in tables} == {name: expected[name] for name in tables}


@pytest.mark.spark
@pytest.mark.exhaustive
def test_the_open_session_is_used_and_tables_have_names(
    programme: Path, spark: Any, tmp_path: Path
) -> None:
    protect(programme, tmp_path / "of-file")
    source = SOURCE.search(programme.read_text("utf-8"))
    assert source is not None
    frame = spark.read.parquet(str(programme.parent / source[1]))
    frame.repartition(3).createOrReplaceTempView("office_records")
    protect(in_spark(programme, "office_records"), tmp_path / "of-table")
    assert tables_of(tmp_path / "of-table") == tables_of(tmp_path / "of-file")


@pytest.mark.spark
@pytest.mark.exhaustive
@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],  # each example is a job of Spark
)
@given(data=st.data())
def test_random_queries_give_the_same_bits(data: st.DataObject, spark: Any) -> None:
    size = data.draw(st.integers(1, 60))
    texts = st.sampled_from(["a", "b", "B ", None, "ß"])
    frame = pl.DataFrame(
        {
            "one": data.draw(st.lists(texts, min_size=size, max_size=size)),
            "two": data.draw(st.lists(st.integers(-2, 3), min_size=size, max_size=size)),
            "value": data.draw(
                st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=size, max_size=size)
            ),
            "key": data.draw(st.lists(st.integers(0, 10**15 - 1), min_size=size, max_size=size)),
        },
        schema={"one": pl.String, "two": pl.Int64, "value": pl.Float64, "key": pl.Int64},
    )
    by = data.draw(st.sampled_from([[], ["one"], ["two"], ["one", "two"]]))
    shown = spark.createDataFrame(frame.rows(), "one string, two bigint, value double, key bigint")
    call: dict[str, Any] = {
        "by": by, "record_key": "key", "values": ["value"], "contributions": 2,
        "allow_unsuitable_keys": True,
    }  # fmt: skip
    found, expected = (dc.tabulate(each, **call) for each in (shown.repartition(4), frame))
    assert found.to_polars().equals(expected.to_polars())
    own, theirs = found.contributions["value"], expected.contributions["value"]
    assert own.top.tobytes() == theirs.top.tobytes()


@pytest.mark.spark
@pytest.mark.exhaustive
def test_a_record_that_changes_changes_the_digest(spark: Any) -> None:
    rows = [("a", 1), ("b", None), (None, 2)]
    frame = spark.createDataFrame(rows, "one string, two int")
    same = spark.createDataFrame(rows[::-1], "one string, two int").repartition(2)
    other = [("a", 1), (None, 2), ("b", 3)]
    moved = spark.createDataFrame(other, "one string, two int")
    assert fingerprint(frame) == fingerprint(same)
    assert fingerprint(frame) != fingerprint(moved)


@pytest.mark.spark
@pytest.mark.exhaustive
def test_what_spark_cannot_read_is_named_without_passwords(spark: Any, programme: Path) -> None:
    for place in ("no_such_table", "no-such-folder/", "s3a://me:word@bucket/persons.parquet"):
        with pytest.raises((ProgrammeError, MicrodataError), match="Spark cannot read") as caught:
            check_release(in_spark(programme, place))
        assert "me:word" not in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('spark = "persons"\nsource = "persons.parquet"', "exclude each other"),
        ('spark = "persons"\ndecimal = ","', "tables of Spark have fixed types"),
        ('spark = "persons"\ntable = "x"', "tables of Spark have fixed types"),
        ("spark = 3", "spark"),
    ],
)
def test_wrong_programmes_are_refused_before_spark_is_asked(
    lines: str, words: str, programme: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.microdata.spark.read_spark", lambda *_: 1 / 0)
    text = SOURCE.sub(lines, programme.read_text("utf-8"), count=1)
    with pytest.raises(ProgrammeError, match=words):
        check_release(_written(programme.with_name("wrong.toml"), text))
