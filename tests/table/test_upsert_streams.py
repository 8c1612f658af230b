"""Streams of upserts as tables: their rows are known by a key, and come without what they were before."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest
from tests.table.planner.programs import final
from tests.table.programs.running import changes_in

from millrace.common import Configuration, RowKind, Types
from millrace.common.types import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.table import ChangelogMode, DataTypes, Schema, StreamTableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.testing.local import run_locally

KEYED = (
    Schema.new_builder()
    .column("name", DataTypes.STRING().not_null())
    .column("score", DataTypes.INT())
    .primary_key("name")
    .build()
)
Upsert = tuple[RowKind, str, int]


def content(query: str, changes: Sequence[Upsert], parallelism: int = 1) -> Counter[tuple[object, ...]]:
    """The final rows of a query over the table ``people``."""
    streams = StreamExecutionEnvironment()
    streams.set_parallelism(parallelism)
    tables = StreamTableEnvironment.create(streams)
    rows = [Row.of_kind(kind, name, score) for kind, name, score in changes]
    stream = streams.from_collection(rows, Types.ROW_NAMED(["name", "score"], [Types.STRING(), Types.INT()]))
    tables.create_temporary_view("people", tables.from_changelog_stream(stream, KEYED, ChangelogMode.upsert()))
    plan = optimise_streaming(tables.sql_query(query)._plan, surroundings_of(tables._session))
    add_to_program([plan], streams._program, options_of(tables._session))
    return final(changes_in(run_locally(streams).collected, plan.schema))


def test_a_stream_of_changes_that_come_twice_is_put_right_by_its_key() -> None:
    streams = StreamExecutionEnvironment()
    streams.set_parallelism(1)
    tables = StreamTableEnvironment.create(streams)
    tables.get_config().set("table.exec.source.cdc-events-duplicate", "true")
    kinds = [RowKind.INSERT, RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.UPDATE_AFTER]
    rows = [Row.of_kind(kind, "Alice", score) for kind, score in zip(kinds, [1, 1, 2, 2])]
    stream = streams.from_collection(rows, Types.ROW_NAMED(["name", "score"], [Types.STRING(), Types.INT()]))
    tables.create_temporary_view("people", tables.from_changelog_stream(stream, KEYED))
    plan = optimise_streaming(tables.sql_query("SELECT SUM(score) FROM people")._plan, surroundings_of(tables._session))
    add_to_program([plan], streams._program, options_of(tables._session))
    assert final(changes_in(run_locally(streams).collected, plan.schema)) == Counter({(2,): 1})


def test_an_upsert_takes_the_place_of_the_row_before() -> None:
    changes = [(RowKind.INSERT, "Alice", 12), (RowKind.INSERT, "Bob", 5), (RowKind.UPDATE_AFTER, "Alice", 100)]
    query = "SELECT name, SUM(score) AS total FROM people GROUP BY name"
    assert content(query, changes) == Counter({("Alice", 100): 1, ("Bob", 5): 1})


@pytest.mark.parametrize("seed", range(12))
def test_tables_of_random_upserts(seed: int) -> None:
    chance = random.Random(seed)
    kept: dict[str, int] = {}
    changes: list[Upsert] = []
    for _ in range(chance.randrange(1, 80)):
        name, score = f"n{chance.randrange(8)}", chance.randrange(5)
        if name in kept and chance.random() < 0.3:
            changes.append((RowKind.DELETE, name, kept.pop(name)))
        else:
            kind = RowKind.UPDATE_AFTER if name in kept else chance.choice([RowKind.INSERT, RowKind.UPDATE_AFTER])
            changes.append((kind, name, score))
            kept[name] = score
    by_score: dict[int, int] = defaultdict(int)
    for score in kept.values():
        by_score[score] += 1
    parallelism = chance.choice([1, 3])
    assert content("SELECT name, score FROM people", changes, parallelism) == Counter(kept.items())
    groups = content("SELECT score, COUNT(*) FROM people GROUP BY score", changes, parallelism)
    assert groups == Counter(by_score.items())


def test_upserts_need_a_key() -> None:
    streams = StreamExecutionEnvironment()
    tables = StreamTableEnvironment.create(streams)
    stream = streams.from_collection([Row("a", 1)], Types.ROW_NAMED(["name", "score"], [Types.STRING(), Types.INT()]))
    with pytest.raises(Exception, match=r"a stream of upserts gives rows by their key: its schema needs primary_key"):
        tables.from_changelog_stream(stream, None, ChangelogMode.upsert())
    schema = Schema.new_builder().column_by_expression("x", "score + 1").primary_key("x").build()
    with pytest.raises(Exception, match=r"the primary key 'x' is no field of the stream; it has name, score"):
        tables.from_changelog_stream(stream, schema, ChangelogMode.upsert())


ORDERS = [("a", 1), ("a", 2), ("b", 1), ("b", 5), ("c", 2), ("a", 1)]


def upserts_of(query: str, schema: Schema | None) -> list[tuple[str, tuple[str, int]]]:
    """The changes, as (kind, row), of epochs with one order each."""
    streams = StreamExecutionEnvironment(Configuration.from_dict({"millrace.epoch.max-records": "1"}))
    streams.set_parallelism(1)
    tables = StreamTableEnvironment.create(streams)
    orders = streams.from_collection(ORDERS, Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
    tables.create_temporary_view("orders", orders)
    tables.to_changelog_stream(tables.sql_query(query), schema, ChangelogMode.upsert()).print()
    cells = [(line[:2], line[3:-1].split(",")) for line in run_locally(streams).printed]  # +I[a,1]
    return [(kind, (k, int(total))) for kind, (k, total) in cells]


def test_a_stream_of_upserts_has_no_former_rows() -> None:
    """Whoever keeps the last row of each key has the table, also with another key than that of the query."""
    totals = "SELECT k, SUM(v) AS total FROM orders GROUP BY k"
    counts: Counter[str] = Counter()
    for k, v in ORDERS:
        counts[k] += v
    by_total: dict[int, set[str]] = defaultdict(set)
    for k, total in counts.items():
        by_total[total].add(k)
    for name, place in (("k", 0), ("total", 1)):
        kind_of_key = {"k": DataTypes.STRING(), "total": DataTypes.BIGINT()}[name]
        schema = Schema.new_builder().column(name, kind_of_key.not_null()).primary_key(name).build()
        kept: dict[object, tuple[str, int]] = {}
        changes = upserts_of(totals, schema)
        assert len(changes) > 3
        for kind, row in changes:
            assert kind != "-U"
            if kind == "-D":
                del kept[row[place]]
            else:
                kept[row[place]] = row
        if name == "k":
            assert kept == {k: (k, total) for k, total in counts.items()}
        else:
            assert kept.keys() == by_total.keys()
            assert all(k in by_total[total] for k, total in kept.values())


def test_rows_without_a_key_are_refused() -> None:
    with pytest.raises(Exception, match=r"of rows without a key: name one by primary_key"):
        upserts_of("SELECT SUM(v) + 1 AS x FROM orders GROUP BY k", None)
    schema = Schema.new_builder().column("y", DataTypes.INT().not_null()).primary_key("y").build()
    with pytest.raises(Exception, match=r"the primary key 'y' is no column of the table; it has k, v"):
        upserts_of("SELECT k, v FROM orders", schema)
