"""What a session is asked for. Without a JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.spark.sessions.session import SessionWishes, session_settings

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
    settings = session_settings(master, str(tmp_path / "x.log"), SessionWishes(2, computes=computes), "-Dgiven=1")
    for side in ("driver", "executor"):
        options = settings.get(f"spark.{side}.extraJavaOptions", "")
        assert (LEAN in options) == lean
    assert "-Dgiven=1" in settings["spark.driver.extraJavaOptions"]


def test_jars_reach_spark(tmp_path: Path) -> None:
    wishes = SessionWishes(2, jars=("a.jar", "b.jar"))
    assert session_settings("yarn", str(tmp_path / "x.log"), wishes, "")["spark.jars"] == "a.jar,b.jar"
