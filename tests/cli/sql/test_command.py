"""The command line of ``millrace sql``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.cli.main import main

FAILING = """\
-- makes a table
CREATE TABLE fruit (name STRING) WITH ('connector' = 'datagen');
SHOW TABLES;
SELECT nme
FROM fruit;
SHOW CATALOGS;
"""

EXPECTED = """\
[ERROR] Could not execute SQL statement. Reason:
{file}:4:8: unknown column 'nme', did you mean 'name'? (columns: name)
at line 4, column 8:
  SELECT nme
         ^^^
"""


ONLY_LOOKS = """\
import sys
from millrace.cli.main import main
batch = "SET 'execution.runtime-mode' = 'batch'"
table = "CREATE TABLE t (a INT) WITH ('connector' = 'datagen')"
try:
    main(["sql", "-e", f"{table}; SHOW TABLES; SET; EXPLAIN SELECT a FROM t; {batch}; CREATE VIEW v AS TABLE t"])
except SystemExit as end:
    assert end.code == 0
assert not {"pyspark", "prompt_toolkit"} & set(sys.modules)
"""


@pytest.fixture(autouse=True)
def _own_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def sql(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["sql", *args], input=stdin)


def test_statements_on_the_command_line() -> None:
    found = sql("-e", "SET 'sql-client.display.print-time-cost' = 'false'; SHOW CATALOGS; SHOW TABLES")
    assert found.exit_code == 0
    assert "default_catalog" in found.stdout
    assert found.stdout.endswith("Empty set\n")
    assert "[INFO]" not in found.stdout
    assert "[INFO]" in found.stderr


def test_the_first_failing_statement_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text(FAILING)
    found = sql("-f", str(file))
    assert found.exit_code == 1
    assert "fruit" in found.stdout
    assert "catalog name" not in found.stdout
    assert found.stderr.endswith(EXPECTED.format(file=file))


def test_a_text_without_end_fails_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "a.sql"
    file.write_text("SHOW CATALOGS;\nSELECT 'a;\n")
    found = sql("-f", str(file))
    assert (found.exit_code, found.stdout) == (1, "")
    assert f"{file}:2:8: this text has no closing quote" in found.stderr


def test_the_init_file_comes_first(tmp_path: Path) -> None:
    init = tmp_path / "init.sql"
    init.write_text("CREATE TABLE made_before (a INT) WITH ('connector' = 'blackhole');")
    assert "made_before" in sql("-i", str(init), "-e", "SHOW TABLES").stdout
    init.write_text("CREATE TABEL")
    found = sql("-i", str(init), "-e", "SHOW TABLES")
    assert (found.exit_code, found.stdout) == (1, "")
    assert f"{init}:1:8: " in found.stderr


def test_a_pipe_is_read_and_quit_ends_it() -> None:
    found = sql(stdin="SHOW CATALOGS; QUIT; SHOW NONSENSE;")
    assert found.exit_code == 0
    assert "default_catalog" in found.stdout


def test_settings_of_the_command_line() -> None:
    found = sql("-D", "pipeline.name=mine", "-p", "3", "-D", "execution.runtime-mode=batch", "-e", "SET")
    assert found.exit_code == 0
    for key, value in (("pipeline.name", "mine"), ("parallelism.default", "3"), ("execution.runtime-mode", "batch")):
        assert [line for line in found.stdout.splitlines() if key in line and f" {value} |" in line]
    assert sql("-D", "execution.runtime-mode=sometimes", "-e", "SET").exit_code == 2


def test_modules_of_functions(tmp_path: Path) -> None:
    folder = tmp_path / "functions"
    folder.mkdir()
    (folder / "my_functions.py").write_text(
        "from millrace.table import DataTypes\nfrom millrace.table.udf import udf\n"
        "twice = udf(lambda x: 2 * x, result_type=DataTypes.BIGINT())\n"
    )
    statements = (
        "CREATE FUNCTION twice AS 'my_functions.twice' LANGUAGE PYTHON; SHOW USER FUNCTIONS; "
        "CREATE TABLE t (a BIGINT) WITH ('connector' = 'datagen'); EXPLAIN SELECT twice(a) FROM t"
    )
    found = sql("-pyfs", str(folder), "-e", statements)
    assert found.exit_code == 0, found.stderr
    assert "PythonCalc" in found.stdout


@pytest.mark.parametrize("option", ["-j", "-l"])
def test_jars_are_told_to_be_of_no_use(option: str) -> None:
    found = sql(option, "a.jar", "-e", "SHOW JARS")
    assert found.exit_code == 0
    assert f"{option}: jars are not used" in found.stderr


def test_old_forms() -> None:
    found = sql("embedded", "-s", "mine", "-u", "SHOW CATALOGS")
    assert found.exit_code == 0
    assert "-u is Flink's old name of -e" in found.stderr
    assert "default_catalog" in found.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("-e", "SHOW TABLES", "-u", "SHOW TABLES"), "contradict each other"),
        (("-f", "no/such/file.sql"), "no/such/file.sql"),
        (("gateway",), "gateway"),
        (("-D", "nonsense"), "is not key=value"),
        (("-D", "sql-client.verbose=maybe", "-e", "SET"), "'maybe' for key 'sql-client.verbose': expected is true"),
    ],
)
def test_wrong_options(args: tuple[str, ...], message: str) -> None:
    found = sql(*args)
    assert found.exit_code == 2
    assert message in found.stderr


def test_nothing_of_this_starts_spark() -> None:
    """DDL, SHOW, SET and EXPLAIN of a stream: a client that only looks answers at once."""
    ended = subprocess.run([sys.executable, "-c", ONLY_LOOKS], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
