"""``millrace lint``: how it reads programs, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.lint.linting import found_in, lint, written

PROGRAM = """\
import sys
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
print("building", *sys.argv[1:])
env.from_collection([1]).map(str)
try:
    env.execute()
except Exception:
    print("caught")
print("not reached")
"""
TABLES = """\
from millrace.table import EnvironmentSettings, TableEnvironment
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.execute_sql("CREATE TABLE words (word STRING) WITH ('connector' = 'socket', 'hostname' = 'h', 'port' = '1', "
                  "'format' = 'raw')")
t_env.execute_sql("CREATE TABLE counts (word STRING, n BIGINT) WITH ('connector' = 'print')")
t_env.execute_sql("INSERT INTO counts SELECT word, COUNT(*) FROM words GROUP BY word")
t_env.execute_sql("INSERT INTO counts SELECT word, COUNT(*) FROM words GROUP BY word")
{end}
print("not reached")
"""


def test_a_finding_and_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, PROGRAM)
    result = lint(Path("program.py"), arguments=("a", "--b"))
    assert result.exit_code == 1
    first, cure = result.stdout.splitlines()
    assert first == "program.py:5: ML011 lost-results: nothing reads what 'Map' gives"
    assert cure.startswith("    cure: end the stream with sink_to(), ")
    assert result.stderr == "building a --b\n"


def test_findings_as_json(tmp_path: Path) -> None:
    (found,) = json.loads(lint(written(tmp_path, PROGRAM), "--format", "json").stdout)
    assert found["file"].endswith("program.py")
    assert (found["line"], found["code"], found["name"]) == (5, "ML011", "lost-results")


def test_nothing_found(tmp_path: Path) -> None:
    text = PROGRAM.replace(".map(str)", ".print()")
    result = lint(written(tmp_path, text))
    assert (result.exit_code, result.stdout) == (0, "")
    assert lint(written(tmp_path, text), "--format", "json").stdout == "[]\n"


@pytest.mark.parametrize(
    ("end", "goes_on"),
    [
        ("t_env.from_path('words').execute()", True),
        ("next(t_env.from_path('words').execute().collect())", False),
        ("t_env.execute_sql('SELECT 1').print()", False),
        ("t_env.execute_sql('INSERT INTO counts SELECT word, 1 FROM words').wait()", False),
    ],
)
def test_a_program_goes_on_until_it_waits(tmp_path: Path, end: str, goes_on: bool) -> None:
    result = lint(written(tmp_path, TABLES.replace("{end}", end)))
    assert [line for line in result.stdout.splitlines() if "cure" not in line] == [
        f"{tmp_path / 'program.py'}:{line}: ML002 growing-tables: GROUP BY keeps all its groups, for ever"
        for line in (6, 7)
    ]
    assert ("not reached" in result.stderr) == goes_on


def test_functions_of_tables_are_read(tmp_path: Path) -> None:
    text = """\
import time
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.expressions import col
from millrace.table.udf import udf
@udf(result_type=DataTypes.INT())
def slow(value):
    time.sleep(1)
    return value
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.from_elements([(1,)], ["a"]).select(slow(col("a"))).execute().print()
"""
    assert [(each["line"], each["code"]) for each in found_in(written(tmp_path, text))] == [(7, "ML006")]


def test_helpers_and_methods_are_read(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("from time import sleep as rest\n\ndef wait():\n    rest(1)\n")
    text = """\
from helpers import wait
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import MapFunction
class Slow(MapFunction):
    def open(self, runtime_context):
        import time
        time.sleep(1)
    def map(self, value):
        return self.inner(value)
    def inner(self, value):
        wait()
        return value
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).map(Slow()).print()
env.execute()
"""
    (found,) = found_in(written(tmp_path, text))
    assert (Path(found["file"]).name, found["line"], found["code"]) == ("helpers.py", 4, "ML006")
    assert found["text"] == "Slow calls time.sleep() and waits for it"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("print(1)", "ended without executing a job, so there is nothing to look at"),
        ("1 / 0", "ZeroDivisionError"),
        ("import sys; sys.exit(2)", ""),
        ("if", "SyntaxError"),
    ],
)
def test_a_program_that_can_not_be_read(tmp_path: Path, text: str, says: str) -> None:
    result = lint(written(tmp_path, text))
    assert result.exit_code == 2
    assert says in result.stderr


def test_queries_of_batch_mode_are_not_looked_into(tmp_path: Path) -> None:
    text = """\
from millrace.table import EnvironmentSettings, TableEnvironment
t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.execute_sql("SELECT 1").print()
"""
    result = lint(written(tmp_path, text))
    assert result.exit_code == 0
    assert "not looked into: 1 queries of batch mode" in result.stderr
