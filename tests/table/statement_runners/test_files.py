"""Files as tables: columns that are found out, paths in FROM, SUMMARIZE and DESCRIBE of a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
from tests.local_jobs import run_jobs_locally

from millrace.common import Row
from millrace.table import TableEnvironment
from millrace.table.sql.text import SqlError
from millrace.table.udf import udtf
from millrace.util.exceptions import TableException

TABLE = pa.table({"id": [1, 2, 2], "name": ["Ada", "Ben", None], "paid": [1.5, 2.0, 4.0]})
ROWS = [(1, "Ada", 1.5), (2, "Ben", 2.0), (2, None, 4.0)]


@pytest.fixture(autouse=True)
def _locally(monkeypatch: pytest.MonkeyPatch) -> None:
    run_jobs_locally(monkeypatch)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text('"id","name","paid"\n1,Ada,1.5\n2,"Ben",2.0\n2,,4\n')
    (tmp_path / "t.json").write_text("".join(f"{row}\n" for row in pa_json()))
    pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet")
    pyarrow.orc.write_table(TABLE, tmp_path / "t.orc")
    kinds = [("id", "long"), ("name", ["null", "string"]), ("paid", "double")]
    schema = {"type": "record", "name": "t", "fields": [{"name": name, "type": kind} for name, kind in kinds]}
    with (tmp_path / "t.avro").open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), TABLE.to_pylist())
    return tmp_path


def pa_json() -> list[str]:
    import json

    return [json.dumps(row) for row in TABLE.to_pylist()]


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(statement).collect() as found:
        return sorted((tuple(row) for row in found), key=repr)


@pytest.mark.parametrize("format", ["csv", "json", "parquet", "orc", "avro"])
def test_columns_are_found_and_kept(t_env: TableEnvironment, files: Path, format: str) -> None:
    made = t_env.execute_sql(
        f"CREATE TABLE t WITH ('connector' = 'filesystem', 'path' = '{files}/t.{format}', 'format' = '{format}')"
    )
    ((text,),) = (tuple(row) for row in made.collect())
    assert "`id` BIGINT,\n  `name` STRING,\n  `paid` DOUBLE\n" in text
    assert ("'csv.header' = 'true'" in text) == (format == "csv")
    found = rows(t_env, "SELECT * FROM t")
    # An empty text of CSV is text, as in Flink.
    assert found == sorted([(1, "Ada", 1.5), (2, "Ben", 2.0), (2, "" if format == "csv" else None, 4.0)], key=repr)
    t_env.execute_sql(text.replace("`t`", "`again`"))
    assert rows(t_env, "SELECT * FROM again") == found


@pytest.mark.parametrize("read", ["'{}/t.parquet'", "READ_PARQUET('{}/*.parquet')", "TABLE(read_file('{}/t.parquet'))"])
def test_paths_in_from(t_env: TableEnvironment, files: Path, read: str) -> None:
    assert rows(t_env, f"SELECT * FROM {read.format(files)}") == sorted(ROWS, key=repr)


def test_files_join(t_env: TableEnvironment, files: Path) -> None:
    query = f"SELECT p.paid, c.name FROM '{files}/t.parquet' p JOIN '{files}/t.csv' AS c ON p.id = c.id WHERE c.id = 1"
    assert rows(t_env, query) == [(1.5, "Ada")]


def test_a_watermark_and_partitions_may_be_given(t_env: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "dt=a").mkdir()
    (tmp_path / "dt=a" / "x.csv").write_text("n,moment\n1,2026-01-01 10:00:00\n")
    t_env.execute_sql(
        "CREATE TABLE t (WATERMARK FOR moment AS moment - INTERVAL '1' SECOND) PARTITIONED BY (dt) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    described = [tuple(row)[:2] for row in t_env.execute_sql("DESCRIBE t").collect()]
    assert described == [("n", "BIGINT"), ("moment", "TIMESTAMP(3) *ROWTIME*"), ("dt", "STRING")]
    assert rows(t_env, "SELECT n, dt FROM t") == [(1, "a")]


def test_summarize(t_env: TableEnvironment, files: Path) -> None:
    assert rows(t_env, f"SUMMARIZE '{files}/t.parquet'") == [
        ("id", "BIGINT", 3, 0, 2, "1", "2", 5 / 3),
        ("name", "STRING", 3, 1, 2, "Ada", "Ben", None),
        ("paid", "DOUBLE", 3, 0, 3, "1.5", "4.0", 2.5),
    ]
    expected = [("b", "BOOLEAN", 2, 0, 2, None, None, None)]
    assert rows(t_env, "SUMMARIZE SELECT b FROM (VALUES (TRUE), (FALSE)) AS v(b)") == expected
    nothing = rows(t_env, f"SUMMARIZE SELECT id FROM '{files}/t.parquet' WHERE id > 7")
    assert nothing == [("id", "BIGINT", 0, 0, 0, None, None, None)]


def test_describe_a_query(t_env: TableEnvironment) -> None:
    found = [tuple(row) for row in t_env.execute_sql("DESCRIBE SELECT 1 AS one, 'a' || 'b' AS two").collect()]
    assert found[0] == ("one", "INT", False) and found[1][0] == "two"


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("SELECT * FROM '/x/t.txt'", r"ends with \.csv, .*READ_CSV"),
        ("SELECT * FROM '/no/such/t.csv'", "no file to know them from: /no/such/t.csv"),
        ("SELECT * FROM READ_CSV()", "usage: READ_CSV"),
        ("CREATE TABLE t WITH ('connector' = 'filesystem', 'path' = '/no/such', 'format' = 'raw')", "only of avro"),
        ("CREATE TABLE t WITH ('connector' = 'filesystem', 'path' = '/no/such', 'format' = 'csv')", "no file to know"),
    ],
)
def test_what_cannot_be_known(t_env: TableEnvironment, statement: str, told: str) -> None:
    with pytest.raises((TableException, SqlError), match=told):
        t_env.execute_sql(statement)


def test_files_with_a_header_are_not_written(t_env: TableEnvironment, files: Path) -> None:
    t_env.execute_sql(f"CREATE TABLE t WITH ('connector' = 'filesystem', 'path' = '{files}/t.csv', 'format' = 'csv')")
    with pytest.raises(TableException, match=r"'csv.header' are read only"):
        t_env.execute_sql("INSERT INTO t SELECT * FROM t")


def test_a_function_of_the_program_comes_first(t_env: TableEnvironment) -> None:
    @udtf(result_types=["INT"])
    def read_csv(number: int) -> Any:
        yield Row(number + 1)

    t_env.create_temporary_function("read_csv", read_csv)
    assert rows(t_env, "SELECT x FROM (VALUES (1)) AS v(n), LATERAL TABLE(read_csv(n)) AS r(x)") == [(2,)]
