"""What a session is asked for. Without a JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.spark.sessions.settings import SessionWishes, session_settings

LEAN = "-XX:TieredStopAtLevel=1"


@pytest.mark.parametrize(
    ("master", "computes", "lean"),
    [
        ("local[2]", False, True),
        ("local[2]", True, True),
        ("local-cluster[3,2,1024]", True, True),
        ("spark://master:7077", False, True),
        ("spark://master:7077", True, False),
        ("yarn", True, False),
    ],
)
def test_the_second_compiler_is_for_clusters_that_compute(
    master: str, computes: bool, lean: bool, tmp_path: Path
) -> None:
    """Where data only passes through, it would take the cores of the Python workers."""
    wishes = SessionWishes(2, computes=computes)
    settings = session_settings(master, str(tmp_path / "x.log"), wishes, "-Dgiven=1", "/scratch")
    for side in ("driver", "executor"):
        options = settings.get(f"spark.{side}.extraJavaOptions", "")
        assert (LEAN in options) == lean
    assert "-Dgiven=1" in settings["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize(("given", "serial"), [("-Da=1", True), ("-Da=1 -XX:+UseG1GC", False)])
def test_options_of_the_configuration_come_last(given: str, serial: bool, tmp_path: Path) -> None:
    """And a collector that they choose is the only one: two are an error of the JVM."""
    wishes = SessionWishes(2, {"env.java.opts.all": given})
    settings = session_settings("local[2]", str(tmp_path / "x.log"), wishes, "", "/scratch")
    options = settings["spark.driver.extraJavaOptions"]
    assert options.endswith(given)
    assert ("-XX:+UseSerialGC" in options) == serial


def test_jars_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "mine.jar").write_text("")
    jars = {"pipeline.jars": f"file://{tmp_path}/mine.jar;file:///none/flink-connector.jar;hdfs://host/other.jar"}
    found = session_settings("yarn", str(tmp_path / "x.log"), SessionWishes(2, jars, jars=("a.jar",)), "", "/scratch")
    assert found["spark.jars"] == f"a.jar,{tmp_path}/mine.jar,hdfs://host/other.jar"
    wishes = SessionWishes(2, {"pipeline.jars": "/none/mine.jar"})
    with pytest.raises(FileNotFoundError, match=r"pipeline.jars .*: no such file: /none/mine.jar"):
        session_settings("yarn", str(tmp_path / "y.log"), wishes, "", "/scratch")


def test_jars_reach_spark(tmp_path: Path) -> None:
    wishes = SessionWishes(2, jars=("a.jar", "b.jar"))
    assert session_settings("yarn", str(tmp_path / "x.log"), wishes, "", "/scratch")["spark.jars"] == "a.jar,b.jar"
