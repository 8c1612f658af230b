"""What gives an Arrow stream becomes a table with the same values, and comes back."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millrace.connectors.tables.values_table import ValuesSource
from millrace.relational.nodes import Scan
from millrace.table import EnvironmentSettings, Table, TableEnvironment
from millrace.table.values.arrow_tables import arrow_of

polars = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
NOON = datetime.datetime(2020, 1, 1, 12)


@pytest.fixture
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def again(table: Table) -> pa.Table:
    scan = table._plan
    assert isinstance(scan, Scan) and isinstance(scan.source, ValuesSource)
    return arrow_of(scan.schema, scan.source._parts, "Europe/Berlin")


def kinds(table: Table) -> list[str]:
    return [str(column.type) for column in table._plan.schema]


def test_polars(t_env: TableEnvironment) -> None:
    frame = polars.DataFrame(
        {
            "small": polars.Series([1, 255, None], dtype=polars.UInt8),
            "large": polars.Series([2**64 - 1, 0, None], dtype=polars.UInt64),
            "text": ["x", None, "é"],
            "kind": polars.Series(["q", None, "r"], dtype=polars.Categorical),
            "list": [["a"], [], None],
            "row": [{"b": 1}, {"b": None}, {"b": 3}],
            "time": [NOON, None, NOON],
        }
    )
    table = t_env.from_polars(frame)
    assert kinds(table) == [
        "SMALLINT", "DECIMAL(20, 0)", "STRING", "STRING", "ARRAY<STRING>", "ROW<`b` BIGINT>", "TIMESTAMP(6)",
    ]  # fmt: skip
    expected = frame.to_dicts()
    for row in expected:
        row["large"] = None if row["large"] is None else Decimal(row["large"])
    assert again(table).to_pylist() == expected
    lazy = frame.lazy().filter(polars.col("small") == 255)
    assert again(t_env.from_polars(lazy)).num_rows == 1


def test_a_relation_of_duckdb(t_env: TableEnvironment) -> None:
    relation = duckdb.connect().sql("SELECT 1 AS x, 'a' AS y, 1.5::DECIMAL(5, 2) AS z FROM range(3)")
    table = t_env.from_arrow(relation, splits_num=2)
    assert kinds(table) == ["INT", "STRING", "DECIMAL(5, 2)"]
    assert again(table).to_pylist() == [{"x": 1, "y": "a", "z": Decimal("1.50")}] * 3


def test_times_come_back_in_the_zone_of_the_session(t_env: TableEnvironment) -> None:
    moments = pa.table({"t": pa.array([NOON], pa.timestamp("us", "UTC"))})
    found = again(t_env.from_arrow(moments))
    assert str(found.schema.field("t").type) == "timestamp[us, tz=Europe/Berlin]"
    assert found["t"].to_pylist()[0] == NOON.replace(tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize("given", [{"a": [1]}, [1, 2], None])
def test_anything_else_is_refused(t_env: TableEnvironment, given: Any) -> None:
    with pytest.raises(TypeError, match=r"from_arrow takes a pyarrow\.Table"):
        t_env.from_arrow(given)


def test_names_and_types_can_be_given(t_env: TableEnvironment) -> None:
    table = t_env.from_arrow(pa.record_batch({"a": [1], "b": ["x"]}), schema=["n", "s"])
    assert table.get_schema().get_field_names() == ["n", "s"]
