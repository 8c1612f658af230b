"""Operations that are given whole rows: map, flat_map, aggregate, flat_aggregate."""

from __future__ import annotations

from typing import Any

from pyflink.common import Row
from pyflink.table import DataTypes
from pyflink.table.expressions import col
from pyflink.table.udf import AggregateFunction, TableAggregateFunction, udaf, udf, udtaf, udtf
from tests.table.pyflink_programs.expected import prints, streaming

PEOPLE = [(1, "Ann", 30), (2, "Bob", 20), (3, "Ann", 40)]
COLUMNS = ["id", "name", "age"]
ROW_OF_TWO = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT()), DataTypes.FIELD("text", DataTypes.STRING())])


@prints("""
    +----+----------------------+--------------------------------+
    | op |                   id |                           text |
    +----+----------------------+--------------------------------+
    | +I |                    1 |                       Ann (30) |
    | +I |                    2 |                       Bob (20) |
    | +I |                    3 |                       Ann (40) |
    +----+----------------------+--------------------------------+
    3 rows in set
    """)
def map_of_whole_rows() -> None:
    @udf(result_type=ROW_OF_TWO)
    def described(person: Row) -> Row:
        return Row(person.id, f"{person.name} ({person[2]})")

    table = streaming().from_elements(PEOPLE, COLUMNS)
    table.map(described).execute().print()


@prints("""
    +----+----------------------+--------------------------------+
    | op |                    a |                              b |
    +----+----------------------+--------------------------------+
    | +I |                    1 |                            Ann |
    | +I |                    2 |                            Bob |
    | +I |                    3 |                            Ann |
    +----+----------------------+--------------------------------+
    3 rows in set
    """)
def map_of_columns() -> None:
    pair = udf(lambda i, name: Row(i, name), result_type=ROW_OF_TWO)
    table = streaming().from_elements(PEOPLE, COLUMNS)
    table.map(pair(col("id"), col("name"))).alias("a", "b").execute().print()


@prints("""
    +----+----------------------+----------------------+
    | op |                    a |                    b |
    +----+----------------------+----------------------+
    | +I |                    2 |                   60 |
    | +I |                    3 |                   40 |
    | +I |                    4 |                   80 |
    +----+----------------------+----------------------+
    3 rows in set
    """)
def map_of_frames() -> None:
    import pandas as pd

    two = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.BIGINT())])

    @udf(result_type=two, func_type="pandas")
    def computed(people: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([people.id + 1, people.age * 2], axis=1)

    streaming().from_elements(PEOPLE, COLUMNS).map(computed).execute().print()


@prints("""
    +I[1, A]
    +I[1, n]
    +I[1, n]
    +I[3, A]
    +I[3, n]
    +I[3, n]
    """)
def flat_map_of_rows() -> None:
    @udtf(result_types=[DataTypes.BIGINT(), DataTypes.STRING()])
    def letters(person: Row) -> Any:
        for letter in person.name:
            yield person.id, letter

    t_env = streaming()
    t_env.execute_sql("CREATE TABLE sink (id BIGINT, letter STRING) WITH ('connector' = 'print')")
    table = t_env.from_elements(PEOPLE, COLUMNS)
    table.where(col("name") == "Ann").flat_map(letters).execute_insert("sink").wait()


class CountAndSum(AggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> Any:
        return Row(0, 0)

    def accumulate(self, accumulator: Any, row: Row) -> None:  # type: ignore[override]
        accumulator[0] += 1
        accumulator[1] += row.age

    def get_value(self, accumulator: Any) -> Any:
        return accumulator

    def get_accumulator_type(self) -> Any:
        return "ROW<a BIGINT, b BIGINT>"

    def get_result_type(self) -> Any:
        return "ROW<a BIGINT, b BIGINT>"


@prints("""
    +I[Ann, 2, 70]
    +I[Bob, 1, 20]
    """)
def aggregate_of_rows() -> None:
    t_env = streaming()
    t_env.execute_sql("CREATE TABLE sink (name STRING, c BIGINT, s BIGINT) WITH ('connector' = 'print')")
    table = t_env.from_elements(PEOPLE, COLUMNS)
    totals = udaf(CountAndSum())
    grouped = table.group_by(col("name")).aggregate(totals.alias("c", "s"))
    grouped.select(col("name"), col("c"), col("s")).execute_insert("sink").wait()


@prints("""
    +I[3, 90]
    """)
def aggregate_of_all_rows() -> None:
    t_env = streaming()
    t_env.execute_sql("CREATE TABLE sink (c BIGINT, s BIGINT) WITH ('connector' = 'print')")
    table = t_env.from_elements(PEOPLE, COLUMNS)
    totals = udaf(CountAndSum())
    table.aggregate(totals.alias("c", "s")).select(col("c"), col("s")).execute_insert("sink").wait()


class TopTwo(TableAggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> Any:
        return [None, None]

    def accumulate(self, accumulator: Any, row: Row) -> None:  # type: ignore[override]
        known = [*(value for value in accumulator if value is not None), row.age]
        accumulator[:] = [*sorted(known, reverse=True), None][:2]

    def emit_value(self, accumulator: Any) -> Any:
        yield from (Row(value) for value in accumulator if value is not None)

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT())])


@prints("""
    +I[Ann, 30]
    +I[Ann, 40]
    +I[Bob, 20]
    """)
def flat_aggregate_of_rows() -> None:
    t_env = streaming()
    t_env.execute_sql("CREATE TABLE sink (name STRING, age BIGINT) WITH ('connector' = 'print')")
    table = t_env.from_elements([*PEOPLE, (4, "Ann", 10)], COLUMNS)
    top = udtaf(TopTwo())
    grouped = table.group_by(col("name")).flat_aggregate(top.alias("a")).select(col("name"), col("a"))
    grouped.execute_insert("sink").wait()
