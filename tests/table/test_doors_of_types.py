"""Numbers and texts have the form of their declared type, whatever door they come in through: what prints alike is in
one group, and every door gives the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from struct import pack, unpack
from typing import Any

import pandas as pd
import pytest
from tests.table.planner.test_changing_values import changes

from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.udf import AggregateFunction, TableFunction, udaf, udf, udtf

TYPES: dict[str, tuple[Any, list[Any]]] = {
    "FLOAT": (DataTypes.FLOAT(), [0.1, 0.10000000149011612, 1e-50, -0.0, 0.0, 3.4e38, 16777217.0, 16777216.0]),
    "DOUBLE": (DataTypes.DOUBLE(), [0.1, 0.10000000149011612, -0.0, 0.0, 2.5]),
    "DECIMAL(5, 2)": (
        DataTypes.DECIMAL(5, 2), [Decimal(text) for text in ("1.005", "1.01", "1.0100", "2", "-1.005", "999.99")]),
    "DECIMAL(38, 10)": (DataTypes.DECIMAL(38, 10), [Decimal("0.1"), Decimal("0.10"), Decimal("0.10000000004")]),
    "VARCHAR(4)": (DataTypes.VARCHAR(4), ["a", "a   ", "abcd", ""]),
    "CHAR(3)": (DataTypes.CHAR(3), ["abc", "abd", "abc"]),
}  # fmt: skip


def wanted(name: str, value: Any) -> Any:
    """A value of a type, by its definition."""
    if name == "FLOAT":
        return unpack("f", pack("f", value))[0]
    if name.startswith("DECIMAL"):
        return value.quantize(Decimal(1).scaleb(-2 if name == "DECIMAL(5, 2)" else -10), ROUND_HALF_UP)
    return value


class Given(TableFunction):
    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def eval(self, n: int) -> Iterator[Any]:
        yield self.values[n]


class Last(AggregateFunction[Any, Any]):
    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], n: int) -> None:
        accumulator[0] = n

    def get_value(self, accumulator: list[int]) -> Any:
        return self.values[accumulator[0]]


def doors(env: TableEnvironment, name: str, kind: Any, values: list[Any]) -> dict[str, str]:
    """door -> a query of these values."""
    row = DataTypes.ROW([DataTypes.FIELD("a", kind)])
    env.create_temporary_view("e", env.from_elements([(each,) for each in values], row))
    env.create_temporary_view("f", env.from_pandas(pd.DataFrame({"a": values}), row))
    register_values("v", [(each,) for each in values])
    env.execute_sql(f"CREATE TABLE v (a {name}) WITH ('connector' = 'values')")
    numbers = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())])
    env.create_temporary_view("n", env.from_elements([(place,) for place in range(len(values))], numbers))
    env.create_temporary_function("ROWS_OF", udf(lambda n: values[n], result_type=kind))
    env.create_temporary_function(
        "VECTORS_OF", udf(lambda n: pd.Series([values[each] for each in n]), result_type=kind, func_type="pandas")
    )
    env.create_temporary_function("TABLES_OF", udtf(Given(values), result_types=[kind]))
    last = udaf(Last(values), result_type=kind, accumulator_type=DataTypes.ARRAY(DataTypes.INT()))
    env.create_temporary_function("LAST_OF", last)
    return {
        "elements": "SELECT a FROM e",
        "frames": "SELECT a FROM f",
        "values": "SELECT a FROM v",
        "functions": "SELECT ROWS_OF(n) AS a FROM n",
        "vectorized functions": "SELECT VECTORS_OF(n) AS a FROM n",
        "table functions": "SELECT a FROM n, LATERAL TABLE(TABLES_OF(n)) AS r(a)",
        "aggregates": "SELECT LAST_OF(n) AS a FROM n GROUP BY n",
    }


@pytest.fixture
def env() -> Iterator[TableEnvironment]:
    yield TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    clear_values()


@pytest.mark.parametrize("name", TYPES)
def test_every_door_gives_values_of_the_type(name: str, env: TableEnvironment) -> None:
    kind, values = TYPES[name]
    expected = Counter(wanted(name, each) for each in values)
    for door, query in doors(env, name, kind, values).items():
        assert Counter(row[0] for _, row in changes(env, query)) == expected, door
        groups: dict[Any, int] = {}
        for _, row in changes(env, f"SELECT a, COUNT(*) FROM ({query}) GROUP BY a"):
            groups[row[0]] = row[1]
        assert groups == dict(expected), door
