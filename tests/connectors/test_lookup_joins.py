"""Look-up joins as statements say them: hints, settings of the session, tables that cannot be looked up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.tables.message_tables import MessageTables

from millrace.relational.rows import UPDATE_BEFORE
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory
from millrace.runtime.failure import JobFailedError
from millrace.table.sql.text import SqlError
from millrace.testing.local import run_locally

JOIN = "SELECT {hint} l.k, r.v FROM ({left}) AS l JOIN t FOR SYSTEM_TIME AS OF l.p AS r ON r.k = l.k"


class Counting(LookupTableSource):
    """Each answer is another one."""

    asked: list[list[Any]] = []
    capacities: list[int | None] = []

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        self.asked.append([key for (key,) in keys])
        self.capacities.append(self.capacity)
        return [[(key, len(self.asked))] for (key,) in keys]


class CountingFactory(TableFactory):
    identifier = "counting"

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        return Counting()


@pytest.fixture
def tables() -> Iterator[MessageTables]:
    made = MessageTables()
    made.environment.register_connector(CountingFactory)
    made.environment.execute_sql("CREATE TABLE t (k INT, v INT) WITH ('connector' = 'counting')")
    yield made
    Counting.asked.clear()
    Counting.capacities.clear()


def left(*keys: int) -> str:
    return f"SELECT k, PROCTIME() AS p FROM (VALUES {', '.join(f'({key})' for key in keys)}) AS v(k)"


def test_all_options_of_the_hint(tables: MessageTables) -> None:
    hint = (
        "/*+ LOOKUP('table' = 'r', 'async' = 'true', 'output-mode' = 'allow_unordered', 'capacity' = '7', 'timeout' = "
        "'100 s', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', 'fixed-delay' = '1 ms', "
        "'max-attempts' = '2', 'shuffle' = 'true') */"
    )
    found = tables.query(JOIN.format(hint=hint, left=left(1, 2, 3)))
    assert sorted(row[0] for _, row in found) == [1, 2, 3]
    assert set(Counting.capacities) == {7}


@pytest.mark.parametrize(("hint", "message"), [
    ("'async' = 'maybe'", "'async' of a LOOKUP hint is true or false"),
    ("'speed' = 'high'", "the hint LOOKUP has no option 'speed'"),
])  # fmt: skip
def test_hints_that_cannot_be(tables: MessageTables, hint: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tables.query(JOIN.format(hint=f"/*+ LOOKUP('table' = 'r', {hint}) */", left=left(1)))


def test_shuffled_rows_go_to_the_subtask_of_their_key(tables: MessageTables) -> None:
    for shuffle, wanted in (("true", "ByColumns"), ("false", "NoneType")):
        hint = f"/*+ LOOKUP('table' = 'r', 'shuffle' = '{shuffle}') */"
        plan = tables.environment.sql_query(JOIN.format(hint=hint, left=left(1)))._plan
        nodes = tables.program([plan], 2)._program._nodes.values()
        (join,) = (each for each in nodes if each.name.startswith("LookupJoin"))
        assert [type(edge.partitioner).__name__ for edge in join.edges] == [wanted]


def changes(tables: MessageTables, folder: Path, strategy: str) -> list[tuple[int, tuple[Any, ...]]]:
    tables.environment.get_config().set("table.optimizer.non-deterministic-update.strategy", strategy)
    for number in range(9):
        (folder / f"{number}.csv").write_text(f"{number}\n")
    tables.environment.execute_sql(
        f"CREATE TABLE g (id INT) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{folder}')"
    )
    counts = "SELECT MOD(id, 2) AS k, COUNT(*) AS n, PROCTIME() AS p FROM g GROUP BY MOD(id, 2)"
    query = JOIN.format(hint="", left=counts).replace("l.k,", "l.k, l.n,")
    found = tables.query(query, 2, epoch_records=1)
    assert any(kind == UPDATE_BEFORE for kind, _ in found)
    return found


def test_changing_rows_take_back_what_they_found(tables: MessageTables, tmp_path: Path) -> None:
    table: list[tuple[Any, ...]] = []
    for kind, row in changes(tables, tmp_path, "TRY_RESOLVE"):
        if kind in (0, 2):
            table.append(row)
        else:
            table.remove(row)
    assert sorted(row[0] for row in table) == [0, 1]


def test_otherwise_they_take_back_what_is_found_then(tables: MessageTables, tmp_path: Path) -> None:
    found = changes(tables, tmp_path, "IGNORE")
    added = {row for kind, row in found if kind in (0, 2)}
    assert any(row not in added for kind, row in found if kind == UPDATE_BEFORE)


def test_the_time_of_the_session(tables: MessageTables) -> None:
    class Slow(Counting):
        def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
            import time

            time.sleep(0.3)
            return super().lookup(keys)

    class SlowFactory(CountingFactory):
        identifier = "slow"

        def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
            return Slow()

    tables.environment.register_connector(SlowFactory)
    tables.environment.get_config().set("table.exec.async-lookup.timeout", "20 ms")
    tables.environment.execute_sql("CREATE TABLE s (k INT, v INT) WITH ('connector' = 'slow')")
    query = JOIN.format(hint="", left=left(1)).replace("JOIN t", "JOIN s")
    with pytest.raises(JobFailedError, match=r"keys of .*\bs did not come within 0.02 s"):
        tables.query(query)


@pytest.mark.parametrize(
    ("key", "hint", "message"),
    [
        ("", "", r"'q' has no versions: .* connector 'kafka' are not found by key, so it cannot be looked up"),
        (", PRIMARY KEY (k) NOT ENFORCED", "/*+ LOOKUP('table' = 'r', 'async' = 'true') */",
         r"hint LOOKUP: 'q' cannot be looked up: connector 'upsert-kafka' finds no rows by key"),
    ],
)  # fmt: skip
def test_kafka_is_not_looked_up(tables: MessageTables, key: str, hint: str, message: str) -> None:
    pytest.importorskip("confluent_kafka")
    connector = "upsert-kafka" if key else "kafka"
    formats = "'format' = 'json', 'scan.startup.mode' = 'earliest-offset'"
    if key:
        formats = "'key.format' = 'json', 'value.format' = 'json'"
    tables.environment.execute_sql(
        f"CREATE TABLE q (k INT, v INT{key}) WITH ('connector' = '{connector}', 'topic' = 'q', "
        f"'properties.bootstrap.servers' = 'localhost:1', {formats})"
    )
    query = JOIN.format(hint=hint, left=left(1)).replace("JOIN t", "JOIN q")
    with pytest.raises(SqlError, match=message):
        tables.environment.sql_query(query)


def test_rows_keep_the_order_of_their_keys(tables: MessageTables) -> None:
    config = tables.environment.get_config()
    config.set("table.exec.async-lookup.key-ordered-enabled", "true")
    config.set("table.exec.async-lookup.output-mode", "ALLOW_UNORDERED")
    plan = tables.environment.sql_query(JOIN.format(hint="", left=left(3, 1, 2, 3)))._plan
    from tests.table.programs.running import changes_in

    run = run_locally(tables.program([plan], 1))
    assert [row[0] for _, row in changes_in(run.collected, plan.schema)] == [3, 1, 2, 3]
