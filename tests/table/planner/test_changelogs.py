"""TO_CHANGELOG and FROM_CHANGELOG in SQL and in the Table API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from tests.table.planner.programs import changelog, final

from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER
from millrace.table import TableEnvironment
from millrace.table.expressions import col, descriptor, map_
from millrace.table.planner.plan import ChangelogError
from millrace.table.sql.text import SqlError
from millrace.util.exceptions import TableException

EACH = "'connector' = 'values', 'batch-size' = '1'"
NUMBERS = [("a", 1), ("b", 2), ("a", 3)]
EVENTS = [("c", 1, "Ann"), ("r", 2, "Bob"), ("u", 1, "Anna"), ("d", 2, "Bob"), ("c", 3, "Cid")]


@pytest.fixture
def t_env() -> Iterator[TableEnvironment]:
    from millrace.table import EnvironmentSettings

    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    register_values("numbers", NUMBERS)
    register_values("events", EVENTS)
    made.execute_sql(f"CREATE TABLE numbers (k STRING, n INT) WITH ({EACH})")
    made.execute_sql(f"CREATE TABLE events (code STRING, id INT, name STRING) WITH ({EACH})")
    made.execute_sql("CREATE VIEW sums AS SELECT SUM(n) AS s, k FROM numbers GROUP BY k")
    yield made
    clear_values()


def test_changes_as_rows(t_env: TableEnvironment) -> None:
    table = t_env.sql_query("SELECT * FROM TO_CHANGELOG(input => TABLE sums PARTITION BY k)")
    assert table._plan.names == ["k", "op", "s"]
    found = changelog(table._plan, parallelism=1, epoch_records=1)
    assert {kind for kind, _ in found} == {INSERT}
    assert Counter(row for _, row in found) == Counter(
        [
            ("a", "INSERT", 1),
            ("b", "INSERT", 2),
            ("a", "UPDATE_BEFORE", 1),
            ("a", "UPDATE_AFTER", 4),
        ]
    )


def test_some_changes_with_codes(t_env: TableEnvironment) -> None:
    table = t_env.sql_query(
        "SELECT code, s FROM TO_CHANGELOG(TABLE sums, DESCRIPTOR(code), MAP['INSERT, UPDATE_AFTER', 'U'])"
    )
    found = changelog(table._plan, parallelism=1, epoch_records=1)
    assert Counter(row for _, row in found) == Counter([("U", 1), ("U", 2), ("U", 4)])


def test_there_and_back(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE VIEW coded AS SELECT * FROM TO_CHANGELOG(TABLE sums)")
    table = t_env.sql_query("SELECT * FROM FROM_CHANGELOG(TABLE coded)")
    assert table._plan.names == ["s", "k"]
    assert final(changelog(table._plan, parallelism=1, epoch_records=1)) == Counter([(4, "a"), (2, "b")])


UPSERTS = (
    "SELECT * FROM FROM_CHANGELOG(input => TABLE events PARTITION BY id, op => DESCRIPTOR(code), "
    "op_mapping => MAP['c, r', 'INSERT', 'u', 'UPDATE_AFTER', 'd', 'DELETE'])"
)


def test_updates_without_old_rows(t_env: TableEnvironment) -> None:
    found = changelog(t_env.sql_query(UPSERTS)._plan, parallelism=1, epoch_records=1)
    assert final(found) == Counter([(1, "Anna"), (3, "Cid")])
    assert (DELETE, (2, "Bob")) in found
    assert (UPDATE_AFTER, (1, "Anna")) in found
    count = t_env.sql_query(f"SELECT COUNT(*), MAX(name) FROM ({UPSERTS})")
    assert final(changelog(count._plan, parallelism=1, epoch_records=1)) == Counter([(2, "Cid")])


def test_in_the_table_api(t_env: TableEnvironment) -> None:
    coded = t_env.from_path("sums").to_changelog(
        descriptor("code").as_argument("op"), map_("UPDATE_AFTER", "u", "INSERT", "i").as_argument("op_mapping")
    )
    assert final(changelog(coded._plan, parallelism=1, epoch_records=1)) == Counter(
        [("i", 1, "a"), ("i", 2, "b"), ("u", 4, "a")]
    )
    back = t_env.from_path("sums").to_changelog().from_changelog().select(col("k"), col("s"))
    assert final(changelog(back._plan, parallelism=1, epoch_records=1)) == Counter([("a", 4), ("b", 2)])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("FROM_CHANGELOG(TABLE numbers)", "the input has no column 'op'"),
        ("FROM_CHANGELOG(TABLE numbers, DESCRIPTOR(n))", "the codes are text, and 'n' is INT"),
        ("FROM_CHANGELOG(TABLE numbers, DESCRIPTOR(k), MAP['x', 'UPSERT'])", "'UPSERT', which is none of INSERT,"),
        ("FROM_CHANGELOG(TABLE numbers, DESCRIPTOR(k), MAP['x', 'INSERT', 'x', 'DELETE'])", "has 'x' twice"),
        ("FROM_CHANGELOG(TABLE numbers, DESCRIPTOR(k), MAP['x', 'UPDATE_AFTER'])", "need a key: TABLE t PARTITION BY"),
        ("FROM_CHANGELOG(TABLE numbers, DESCRIPTOR(k), MAP['x', 'UPDATE_BEFORE'])", "and no UPDATE_AFTER"),
        ("FROM_CHANGELOG(TABLE numbers, DESCRIPTOR(k), invalid_op_handling => 'LOG')", "is FAIL or SKIP, not LOG"),
        ("TO_CHANGELOG(TABLE numbers, DESCRIPTOR(k))", "the input has a column 'k' already"),
        ("TO_CHANGELOG(TABLE numbers PARTITION BY x)", "PARTITION BY: there is no column 'x'"),
        ("TO_CHANGELOG(TABLE numbers, opp => DESCRIPTOR(x))", "TO_CHANGELOG has no parameter OPP"),
    ],
)
def test_errors(t_env: TableEnvironment, query: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        t_env.sql_query(f"SELECT * FROM {query}")
    assert message in str(raised.value)


def test_errors_of_the_table_api(t_env: TableEnvironment) -> None:
    numbers = t_env.from_path("numbers")
    with pytest.raises(TableException, match=r"given as descriptor\('name'\)"):
        numbers.to_changelog(col("k").as_argument("op"))
    with pytest.raises(TableException, match="the input has no column 'op'"):
        numbers.from_changelog()


def test_a_changing_table_has_no_codes(t_env: TableEnvironment) -> None:
    table = t_env.sql_query("SELECT * FROM FROM_CHANGELOG(TABLE sums, DESCRIPTOR(k))")
    with pytest.raises(ChangelogError, match="FROM_CHANGELOG takes no updates"):
        changelog(table._plan)
