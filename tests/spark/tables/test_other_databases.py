"""Databases that only Java has drivers for, read and written by Spark: Derby, which lies among Spark's jars."""

from __future__ import annotations

import datetime as dt
import decimal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.services import missing
from tests.spark.tables.test_passthrough import made, rows

from millrace.spark.sessions.session import workplace
from millrace.spark.sessions.settings import SessionWishes
from millrace.spark.tables import engine
from millrace.table import TableEnvironment
from millrace.testing.services.downloads import jars
from millrace.testing.services.server import ServiceUnavailable
from millrace.util.exceptions import TableException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id BIGINT, name STRING, price DECIMAL(10, 2), moment TIMESTAMP(6), d DATE, v DOUBLE"


class Derby:
    """A database in memory, asked by Java's own classes."""

    def __init__(self, spark: SparkSession) -> None:
        self.url = f"jdbc:derby:memory:{uuid.uuid4().hex}"
        jvm: Any = spark._jvm
        jvm.java.lang.Class.forName("org.apache.derby.iapi.jdbc.AutoloadedDriver")
        self._connection = jvm.java.sql.DriverManager.getConnection(f"{self.url};create=true")

    def run(self, *statements: str) -> None:
        statement = self._connection.createStatement()
        for each in statements:
            statement.execute(each)
        statement.close()

    def count(self, table: str) -> int:
        statement = self._connection.createStatement()
        found = statement.executeQuery(f"SELECT COUNT(*) FROM {table}")
        found.next()
        return int(found.getInt(1))

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def derby(spark: SparkSession) -> Iterator[Derby]:
    found = Derby(spark)
    found.run(
        "CREATE TABLE t (id BIGINT, name VARCHAR(20), price DECIMAL(10, 2), moment TIMESTAMP, d DATE, v DOUBLE)",
        "INSERT INTO t VALUES (1, 'a', 1.50, '2024-05-06 07:08:09.123456', '2024-05-06', 0.5)",
        "INSERT INTO t VALUES (2, 'B''s', NULL, NULL, NULL, NULL), (3, NULL, -2.25, NULL, '1960-01-01', 1e10)",
    )
    yield found
    found.close()


@pytest.fixture
def batch(spark: SparkSession) -> TableEnvironment:
    return made(spark, False)


def create(environment: TableEnvironment, url: str, columns: str = COLUMNS, name: str = "t", **options: str) -> None:
    given = {"connector": "jdbc", "url": url, "table-name": "t"}
    given |= {key.replace("_", "."): value for key, value in options.items()}
    texts = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    environment.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({texts})")


def test_a_table_is_read(derby: Derby, batch: TableEnvironment) -> None:
    create(batch, derby.url)
    at = dt.datetime(2024, 5, 6, 7, 8, 9, 123456)
    day = dt.date(2024, 5, 6)
    assert rows(batch, "SELECT * FROM t WHERE id = 1") == [(1, "a", decimal.Decimal("1.50"), at, day, 0.5)]
    assert rows(batch, "SELECT id FROM t WHERE name = 'B''s' OR price < 0") == [(2,), (3,)]
    assert rows(batch, "SELECT id FROM t WHERE name = 'b''s'") == []
    assert rows(batch, "SELECT id FROM t WHERE d < DATE '2000-01-01'") == [(3,)]
    assert rows(batch, "SELECT id, moment FROM t WHERE moment > TIMESTAMP '2024-01-01 00:00:00'") == [(1, at)]
    assert rows(batch, "SELECT COUNT(*), SUM(v) FROM t") == [(3, 1e10 + 0.5)]
    assert rows(batch, "SELECT x.name, y.price FROM t AS x JOIN t AS y ON x.id = y.id AND y.price > 1") == [
        ("a", decimal.Decimal("1.50"))
    ]


def test_parts_have_the_rows_within_the_bounds(derby: Derby, batch: TableEnvironment) -> None:
    parts = {"column": "id", "num": "2", "lower-bound": "1", "upper-bound": "2"}
    create(batch, derby.url, **{f"scan.partition.{key}": value for key, value in parts.items()})
    assert rows(batch, "SELECT name FROM t") == [("B's",), ("a",)]
    assert rows(batch, "SELECT COUNT(*) FROM t WHERE id > 1") == [(1,)]


def test_rows_are_appended(derby: Derby, batch: TableEnvironment) -> None:
    create(batch, derby.url)
    moment = "TIMESTAMP '1999-12-31 23:59:59.5', DATE '1999-12-31'"
    more = f"(CAST(9 AS BIGINT), 'ä', CAST(1 AS DECIMAL(10, 2)), {moment}, 1E0)"
    batch.execute_sql(f"INSERT INTO t VALUES {more}").wait()
    assert derby.count("t WHERE id = 9 AND name = 'ä' AND moment = TIMESTAMP('1999-12-31 23:59:59.5')") == 1
    batch.execute_sql("INSERT INTO t (name, id) SELECT UPPER(name), id + 10 FROM t WHERE id < 3").wait()
    assert derby.count("t") == 6 and derby.count("t WHERE id = 11 AND name = 'A' AND price IS NULL") == 1


def test_the_database_gets_columns_and_conditions(derby: Derby, batch: TableEnvironment) -> None:
    create(batch, derby.url)

    def plan(query: str) -> str:
        return batch.explain_sql(query)

    text = plan("SELECT v FROM t WHERE id BETWEEN 1 AND 2 AND name = 'B''s' AND name <> 'x' AND v > 1")
    assert """FROM t WHERE "ID" >= 1 AND "ID" <= 2 AND "NAME" = 'B''s') millrace""" in text
    # A star is at what Spark does not check again.
    assert "PRICE" not in text and ", *" not in text and "[*" not in text
    assert "*LessThan(D,2000-01-01)" in plan("SELECT id FROM t WHERE d < DATE '2000-01-01' AND id > 1")
    create(batch, derby.url, name="u", **{"filter.handling.policy": "never"})
    text = plan("SELECT id FROM u WHERE id > 1").partition("JDBCRelation")[2]
    assert text and "WHERE" not in text and "*" not in text


def test_texts_that_the_database_cannot_compare(derby: Derby, batch: TableEnvironment) -> None:
    derby.run("CREATE TABLE c (id INT, name CLOB)", "INSERT INTO c VALUES (1, 'a'), (2, 'b')")
    create(batch, derby.url, "id INT, name STRING", **{"table-name": "c"})
    assert rows(batch, "SELECT id FROM t WHERE name = 'a' AND id < 5") == [(1,)]


def test_jars_of_the_configuration_and_of_the_program_come_with_a_new_session(
    batch: TableEnvironment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spark: SparkSession
) -> None:
    wished: list[SessionWishes] = []

    def found(given: Any, wishes: SessionWishes) -> Any:
        wished.append(wishes)
        return workplace(given, wishes)

    monkeypatch.setattr(engine, "workplace", found)
    jar = tmp_path / "b.jar"
    jar.touch()
    batch.get_config().set("pipeline.jars", "file:///a.jar")
    batch._session.streams.add_jars(f"file://{jar}")
    assert rows(batch, "SELECT 1") == [(1,)]
    assert [wishes.configuration["pipeline.jars"] for wishes in wished] == ["file:///a.jar"]
    assert [len(wishes.jars) for wishes in wished] == [1]


PROGRAM = """
import sys
from millrace.table import EnvironmentSettings, TableEnvironment

jar, url = sys.argv[1:]
environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
environment.get_config().set("pipeline.jars", f"file://{jar}")
columns = "id INT, name STRING, n DECIMAL(20, 3), big BIGINT, moment TIMESTAMP_LTZ(6), data BYTES"
login = "'username' = 'sa', 'password' = ''"
environment.execute_sql(
    f"CREATE TABLE t ({columns}) WITH ('connector' = 'jdbc', 'url' = '{url}', 'table-name' = 't', {login})"
)
environment.execute_sql(
    "INSERT INTO t SELECT id, 'n' || CAST(id AS STRING), CAST(id AS DECIMAL(20, 3)), CAST(id AS BIGINT), "
    "TO_TIMESTAMP_LTZ(1700000000123, 3), x'0102' FROM (VALUES (1), (2), (3)) AS v(id)"
).wait()
environment.get_config().set("table.local-time-zone", "UTC")
at = "UNIX_TIMESTAMP(DATE_FORMAT(moment, 'yyyy-MM-dd HH:mm:ss'))"
query = f"SELECT id, name, n, big, {at}, data FROM t WHERE name = 'n2' OR id > 2"
with environment.execute_sql(query).collect() as found:
    print(sorted(tuple(row) for row in found))
"""
H2_TABLE = (
    "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, name VARCHAR(20), n NUMERIC(20, 3), big DECIMAL(18), "
    "moment TIMESTAMP WITH TIME ZONE, data BLOB)"
)


@pytest.mark.slow
@pytest.mark.connectors
def test_h2_whose_driver_comes_as_a_jar(tmp_path: Path) -> None:
    try:
        jar = next(jars("h2", "com.h2database:h2:2.3.232").glob("h2*.jar"))
    except ServiceUnavailable as error:
        missing(error)
    (tmp_path / "program.py").write_text(PROGRAM)
    url = f"jdbc:h2:{tmp_path}/d;INIT={H2_TABLE}"
    command = [sys.executable, str(tmp_path / "program.py"), str(jar), url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == (
        "[(2, 'n2', Decimal('2.000'), 2, 1700000000, b'\\x01\\x02'), (3, 'n3', Decimal('3.000'), 3, 1700000000, "
        "b'\\x01\\x02')]"
    )


def test_what_cannot_be_is_said(derby: Derby, batch: TableEnvironment, spark: SparkSession) -> None:
    def refuses(said: str, statement: str, environment: TableEnvironment = batch) -> None:
        with pytest.raises(TableException, match=said) as caught:
            environment.execute_sql(statement).wait()
        assert "Pass-Word" not in str(caught.value)

    create(batch, derby.url, "id INT, name STRING", "narrow")
    refuses(r"column 'id' is bigint in the data source, which does not fit into INT", "SELECT * FROM narrow")
    create(batch, derby.url, "nothing INT", "other")
    refuses(r"t has no column 'nothing'; it has ID, NAME", "SELECT * FROM other")
    create(batch, derby.url, "id INT", "missing", **{"table-name": "nowhere"})
    refuses(r"jdbc:derby: nowhere: .*'NOWHERE' does not exist", "SELECT * FROM missing")
    refuses(r"jdbc:derby: nowhere: .*'NOWHERE' does not exist", "INSERT INTO missing VALUES (1)")
    create(batch, derby.url, "id BIGINT, PRIMARY KEY (id) NOT ENFORCED", "keyed")
    refuses("Spark only appends", "INSERT INTO keyed VALUES (1)")
    login = {"username": "u", "password": "Pass-Word-1234"}
    create(batch, "jdbc:oracle:thin:@//127.0.0.1:1/x", "id BIGINT", "oracle", **login)
    refuses(r"no class 'oracle.jdbc.OracleDriver': name the jar .*'pipeline.jars'", "SELECT * FROM oracle")
    create(batch, "jdbc:postgres://h/d", "id BIGINT", "typo")
    refuses(r"'jdbc:postgres:' is a database that Millrace has no driver for", "SELECT * FROM typo")
    streaming = made(spark, True)
    create(streaming, derby.url, "id BIGINT")
    refuses(r"'jdbc:derby:' .* in batch mode only: .*Debezium", "SELECT * FROM t", streaming)
    refuses(r"in batch mode only: write to Kafka", "INSERT INTO t VALUES (1)", streaming)
    joined = "(SELECT 1 AS k, PROCTIME() AS p) AS l JOIN t FOR SYSTEM_TIME AS OF l.p AS r ON r.id = l.k"
    refuses("it is not looked up", f"SELECT * FROM {joined}", streaming)
