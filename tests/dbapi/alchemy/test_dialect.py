"""The SQLAlchemy dialect, on a gateway in this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry
from tests.cluster.gateway.conftest import FakeEngine

from millrace.common.types import Row
from millrace.dbapi.alchemy.dialect import FlinkType, MillraceDialect
from millrace.table.sql.grammar.parser import parse_statement

TABLE = """CREATE TABLE `or ders` (id INT NOT NULL, `from` STRING, price DECIMAL(10, 2), tags ARRAY<STRING>,
    m MAP<STRING, INT>, moment TIMESTAMP_LTZ(3), ts TIMESTAMP(3) METADATA, twice AS id * 2,
    PRIMARY KEY (id) NOT ENFORCED, WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')"""


@pytest.fixture
def alchemy(transport: Any) -> Iterator[sa.Engine]:
    registry.register("millrace", "millrace.dbapi.alchemy.dialect", "MillraceDialect")
    url = "millrace://:secret@localhost:8083/default_catalog/default_database?my.own=one"
    engine = sa.create_engine(url, connect_args={"transport": transport, "heartbeat": None}, pool_pre_ping=True)
    with engine.connect() as connection:
        connection.exec_driver_sql(TABLE)
        connection.exec_driver_sql("CREATE TABLE t (n INT, s STRING) WITH ('connector' = 'datagen')")
        connection.exec_driver_sql("CREATE VIEW v AS SELECT n FROM t")
    yield engine
    engine.dispose()


def test_what_there_is(alchemy: sa.Engine) -> None:
    inspector = sa.inspect(alchemy)
    assert inspector.default_schema_name == "default_database"
    assert inspector.get_table_names() == ["or ders", "t"]
    assert inspector.get_table_names("default_catalog.default_database") == ["or ders", "t"]
    assert inspector.get_view_names() == ["v"]
    assert inspector.has_table("v") and not inspector.has_table("w")
    assert "SELECT n FROM" in inspector.get_view_definition("v")
    assert inspector.get_pk_constraint("or ders")["constrained_columns"] == ["id"]
    assert inspector.get_schema_names() == ["default_database"]
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_columns("w")


def test_columns(alchemy: sa.Engine) -> None:
    table = sa.Table("or ders", sa.MetaData(), autoload_with=alchemy)
    kinds = {column.name: column.type for column in table.columns}
    assert isinstance(kinds["id"], sa.INTEGER) and not table.c.id.nullable
    assert (kinds["price"].precision, kinds["price"].scale) == (10, 2)  # type: ignore[attr-defined]
    assert isinstance(kinds["tags"], sa.ARRAY)
    assert isinstance(kinds["m"], FlinkType) and kinds["m"].text == "MAP<STRING, INT>"
    assert kinds["moment"].timezone and not kinds["ts"].timezone  # type: ignore[attr-defined]
    assert table.c.twice.computed is not None
    assert [column.name for column in table.primary_key] == ["id"]


def test_a_query(alchemy: sa.Engine, engine: FakeEngine) -> None:
    engine.rows = lambda: iter([Row(1, "a"), Row(2, None)])
    table = sa.Table("t", sa.MetaData(), autoload_with=alchemy)
    with alchemy.connect() as connection:
        found = connection.execute(sa.select(table).where(table.c.s == "it's", table.c.n > -1).limit(5))
        assert found.all() == [(1, "a"), (2, None)]
        assert connection.execute(sa.text("SHOW TABLES")).scalars().all() == ["or ders", "t", "v"]


def test_many_rows_are_one_job(alchemy: sa.Engine, engine: FakeEngine) -> None:
    with alchemy.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE sink (n INT, s STRING) WITH ('connector' = 'blackhole')")
        table = sa.Table("sink", sa.MetaData(), autoload_with=connection)
        connection.execute(table.insert(), [{"n": 1, "s": "a"}, {"n": 2, "s": None}, {"n": 3, "s": "c"}])
    assert len(engine.jobs) == 1


def test_a_session_that_is_gone_is_replaced(alchemy: sa.Engine, gateway: Any) -> None:
    with alchemy.connect() as connection:
        handle = connection.connection.driver_connection._session.handle  # type: ignore[union-attr]
    gateway.close(handle)
    with alchemy.connect() as connection:
        assert connection.exec_driver_sql("SHOW TABLES").all() == []


def test_statements_are_flinks() -> None:
    table = sa.Table(
        "order",
        sa.MetaData(),
        sa.Column("Id", sa.BigInteger, primary_key=True),
        sa.Column("a b", sa.String(10)),
        *(sa.Column(f"c{place}", kind) for place, kind in enumerate(
            (sa.Text, sa.Float, sa.Numeric(5, 1), sa.DateTime, sa.DateTime(timezone=True), sa.Date, sa.Time,
             sa.LargeBinary, sa.Boolean, sa.ARRAY(sa.Integer), FlinkType("ROW<a INT>"))
        )),
        schema="cat.db",
        millrace_with={"connector": "kafka", "topic": "it's"},
        millrace_partitioned_by=["c5"],
    )  # fmt: skip
    dialect = MillraceDialect()
    text = str(sa.schema.CreateTable(table).compile(dialect=dialect))
    parse_statement(text)
    assert "CREATE TABLE cat.db.`order`" in text
    assert "PRIMARY KEY (`Id`) NOT ENFORCED" in text
    assert text.rstrip().endswith("PARTITIONED BY (c5)\nWITH ('connector' = 'kafka', 'topic' = 'it''s')")
    for kind in ("c0 STRING", "c1 DOUBLE", "c3 TIMESTAMP(6)", "c4 TIMESTAMP_LTZ(3)", "c7 BYTES", "c9 ARRAY<INTEGER>"):
        assert kind in text
    query = sa.select(table.c["a b"], sa.func.now(), table.c.c2 / 2).offset(3).with_for_update()
    text = str(query.compile(dialect=dialect))
    parse_statement(text.replace("?", "1"))
    assert "FOR UPDATE" not in text and "OFFSET ? ROWS" in text


def test_urls() -> None:
    make = MillraceDialect().create_connect_args
    url = "millrace://:a%2Fb@host/?tls=true&changes=kinds&timeout=5&table.local-time-zone=UTC"
    arguments, options = make(sa.make_url(url))
    assert arguments == ["https://host:8083"]
    assert options == {
        "token": "a/b",
        "properties": {"table.local-time-zone": "UTC"},
        "changes": "kinds",
        "timeout": 5.0,
    }
    arguments, options = make(sa.make_url("millrace://[::1]:9"))
    assert arguments == ["http://[::1]:9"]
    assert options == {"token": None, "properties": {}}
