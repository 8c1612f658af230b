"""Programs with the names of Flink 1.7 to 1.13 give what the book and the interview questions say."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tests.legacy.conftest import Run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def lines_of(folder: Path) -> list[str]:
    parts = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith((".", "_"))]
    return sorted(line for path in parts for line in path.read_text().splitlines())


def test_word_count_and_functions(run: Run, spark: SparkSession, tmp_path: Path) -> None:
    """P12, P13 and P15: batch tables are Spark's, so they share a test and its session."""
    (tmp_path / "words").write_text("flink\npyflink\nflink\n")
    run("word_count", tmp_path / "words", tmp_path / "counts", locally=False)
    assert lines_of(tmp_path / "counts") == ["flink,2", "pyflink,1"]
    (tmp_path / "numbers").write_text("1,2\n")
    run("udf_add", tmp_path / "numbers", tmp_path / "plain", tmp_path / "pandas", locally=False)
    assert lines_of(tmp_path / "plain") == lines_of(tmp_path / "pandas") == ["3"]


def test_a_function_with_a_dependency(run: Run) -> None:
    assert run("udf_dependency") == ["3"]


def test_functions_that_are_registered(run: Run) -> None:
    assert sorted(run("registering")) == ["1 3 1", "5 7 5"]


def test_functions_in_plans(run: Run) -> None:
    assert run("plans") == ["(3, 2) (1, 8) (8, 0)", "(1, 2, 3)", "(0,) (-2,) (5,)"]


def test_sensors(run: Run) -> None:
    assert sorted(run("sensors")) == ["1970-01-01,room1,41.70", "1970-01-02,room2,0.00"]


def test_time_characteristics(run: Run) -> None:
    assert run("characteristics") == [
        "ProcessingTime",
        "SlidingProcessingTimeWindows",
        "IngestionTime",
        "SlidingEventTimeWindows",
        "EventTime",
        "SlidingEventTimeWindows",
        "3",
    ]


def test_each_older_name_is_told_once_with_its_line(run: Run, told: list[warnings.WarningMessage]) -> None:
    run("registering")
    found = {str(each.message).partition(" is of an older Flink")[0]: each for each in told}
    assert len(found) == len(told)
    assert found.keys() == {
        "TableEnvironment.register_function()",
        "TableEnvironment.register_table()",
        "TableEnvironment.scan()",
        "an expression as text",
    }
    scan = found["TableEnvironment.scan()"]
    assert str(scan.message) == "TableEnvironment.scan() is of an older Flink; today: from_path(name)"
    line = Path(scan.filename).read_text().splitlines()[scan.lineno - 1]
    assert (Path(scan.filename).name, "t_env.scan(" in line) == ("registering.py", True)
