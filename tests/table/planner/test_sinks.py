"""What is done to rows before a table gets them, without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.table.planner.programs import insert, rows_of

from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.runtime.tables.changelog import ChangelogNormalize
from millrace.table import EnvironmentSettings, StreamTableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.table.statement_runners.statements import insert_plans

ROWS: list[tuple[Any, ...]] = [(1, "abc"), (2, "abcdef"), (None, "x"), (2, "y")]


@pytest.fixture
def t_env() -> Iterator[StreamTableEnvironment]:
    environment = StreamTableEnvironment.create(StreamExecutionEnvironment(), EnvironmentSettings.in_streaming_mode())
    register_values("given", ROWS)
    environment.execute_sql("CREATE TABLE given (k INT, v STRING) WITH ('connector' = 'values')")
    yield environment
    clear_values()


def create(t_env: StreamTableEnvironment, table: str, columns: str) -> None:
    t_env.execute_sql(f"CREATE TABLE {table} ({columns}) WITH ('connector' = 'values')")


def test_null_in_a_column_that_is_not_null(t_env: StreamTableEnvironment) -> None:
    create(t_env, "strict", "k INT NOT NULL, v STRING")
    with pytest.raises(Exception, match="column k is NOT NULL, but a row has NULL there"):
        insert(t_env, "INSERT INTO strict SELECT k, v FROM given")
    t_env.get_config().set("table.exec.sink.not-null-enforcer", "DROP")
    insert(t_env, "INSERT INTO strict SELECT k, v FROM given")
    assert rows_of("strict") == [(1, "abc"), (2, "abcdef"), (2, "y")]


def test_a_primary_key_is_not_null(t_env: StreamTableEnvironment) -> None:
    """Rows without a key are dropped before rows of equal keys are told apart."""
    create(t_env, "keyed", "k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED")
    t_env.get_config().set("table.exec.sink.not-null-enforcer", "DROP")
    insert(t_env, "INSERT INTO keyed SELECT k, COUNT(*) FROM given GROUP BY k")
    assert rows_of("keyed") == [(1, 1), (2, 2)]


UPSERTS = "'connector' = 'values', 'sink-changelog-mode' = 'I,UA,D'"
TIMED = (
    "CREATE TABLE timed (k INT, n INT, ts AS TO_TIMESTAMP_LTZ(n, 0), WATERMARK FOR ts AS ts) "
    "WITH ('connector' = 'values')"
)


@pytest.fixture
def timed(t_env: StreamTableEnvironment) -> StreamTableEnvironment:
    register_values("timed", [(1, 10), (2, 30), (1, 20), (1, 40)])
    t_env.execute_sql(TIMED)
    t_env.execute_sql(f"CREATE TABLE keyed (k INT, n INT, PRIMARY KEY (k) NOT ENFORCED) WITH ({UPSERTS})")
    return t_env


@pytest.mark.parametrize("epoch_records", [1, None])
def test_which_row_of_a_key_stays(timed: StreamTableEnvironment, epoch_records: int | None) -> None:
    """One task reads: the order of the rows is that of the table."""
    names = insert(
        timed,
        "INSERT INTO keyed SELECT k, n FROM timed ON CONFLICT DO NOTHING",
        epoch_records=epoch_records,
        parallelism=1,
    )
    assert "SinkConflicts" in " ".join(names)
    assert rows_of("keyed") == [(1, 10), (2, 30)]


def test_a_second_row_of_a_key_may_be_an_error(timed: StreamTableEnvironment) -> None:
    insert(timed, "INSERT INTO keyed SELECT k, n FROM timed WHERE n IN (20, 30) ON CONFLICT DO ERROR")
    assert rows_of("keyed") == [(1, 20), (2, 30)]
    with pytest.raises(Exception, match=r"ON CONFLICT DO ERROR: .*keyed gets a second row with the primary key 1"):
        insert(timed, "INSERT INTO keyed SELECT k, n FROM timed ON CONFLICT DO ERROR")


def test_rows_of_one_key_are_no_conflict(timed: StreamTableEnvironment) -> None:
    """The key of the query is that of the table: what follows are versions of one row."""
    names = insert(timed, "INSERT INTO keyed SELECT k, MAX(n) FROM timed GROUP BY k ON CONFLICT DO ERROR")
    assert "SinkConflicts" not in " ".join(names)
    assert rows_of("keyed") == [(1, 40), (2, 30)]


@pytest.mark.parametrize(
    ("insertion", "message"),
    [
        ("plain SELECT k, n FROM timed ON CONFLICT DO NOTHING", "plain takes the old rows of updates, too"),
        ("only SELECT k, n FROM timed ON CONFLICT DO DEDUPLICATE", "only only takes insertions"),
        ("keyed SELECT k, 1 FROM given ON CONFLICT DO NOTHING", "needs a watermark .*given declares none"),
    ],
)
def test_where_conflicts_have_no_answer(timed: StreamTableEnvironment, insertion: str, message: str) -> None:
    create(timed, "plain", "k INT, n INT")
    timed.execute_sql("CREATE TABLE only (k INT, n INT) WITH ('connector' = 'values', 'sink-changelog-mode' = 'I')")
    with pytest.raises(Exception, match=message):
        insert(timed, f"INSERT INTO {insertion}")


def test_another_key_may_want_an_answer(timed: StreamTableEnvironment) -> None:
    timed.get_config().set("table.exec.sink.require-on-conflict", "true")
    with pytest.raises(Exception, match=r"several rows of the query may have one primary key of .*keyed"):
        insert(timed, "INSERT INTO keyed SELECT k, n FROM timed")
    insert(timed, "INSERT INTO keyed SELECT k, MAX(n) FROM timed GROUP BY k")
    insert(timed, "INSERT INTO keyed SELECT k, n FROM timed ON CONFLICT DO DEDUPLICATE")


def lengths(t_env: StreamTableEnvironment, mode: str) -> list[tuple[Any, ...]]:
    """Rows of a table whose values do not keep to its own types, written into one with the same types."""
    for table in ("loose", "fixed"):
        create(t_env, table, "k CHAR(3), v VARCHAR(3)")
    register_values("loose", [("a", "abcdef")])
    t_env.get_config().set("table.exec.sink.type-length-enforcer", mode)
    insert(t_env, "INSERT INTO fixed SELECT k, v FROM loose")
    return rows_of("fixed")


@pytest.mark.parametrize(("mode", "row"), [("IGNORE", ("a", "abcdef")), ("TRIM_PAD", ("a  ", "abc"))])
def test_lengths(t_env: StreamTableEnvironment, mode: str, row: Sequence[str]) -> None:
    assert lengths(t_env, mode) == [row]


def test_a_wrong_length_is_an_error(t_env: StreamTableEnvironment) -> None:
    with pytest.raises(Exception, match=r"column k is CHAR\(3\), but a row has 'a' there"):
        lengths(t_env, "ERROR")


CAPTURED = """
    CREATE TABLE captured (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH (
        'connector' = 'mysql-cdc', 'hostname' = 'nowhere', 'port' = '1', 'username' = 'u', 'password' = 'p',
        'database-name' = 'd', 'table-name' = 't', 'changelog-mode' = 'upsert'
    )
"""
COPIED = """
    CREATE TABLE copied (v STRING, k INT, PRIMARY KEY (k) NOT ENFORCED) WITH (
        'connector' = 'jdbc', 'url' = 'jdbc:sqlite:/nowhere', 'table-name' = 'copied'
    )
"""


@pytest.mark.parametrize(
    ("query", "repeated"),
    [
        ("SELECT v, k FROM captured", [True]),
        ("SELECT UPPER(v), k FROM captured", [False]),
        ("SELECT v, k FROM captured WHERE k > 1", [False]),
        ("SELECT MAX(v), k FROM captured GROUP BY k", [False]),
        ("SELECT a.v, a.k FROM captured AS a JOIN captured AS b ON a.k = b.k", [False]),
    ],
)
def test_repeated_deletions_go_to_sinks_only(t_env: StreamTableEnvironment, query: str, repeated: list[bool]) -> None:
    """What is computed of rows that nobody knows would be wrong, or fail for want of values."""
    t_env.execute_sql(CAPTURED)
    t_env.execute_sql(COPIED)
    environment = StreamExecutionEnvironment()
    plans = insert_plans(f"INSERT INTO copied {query}", t_env._session)
    ready = [optimise_streaming(plan, surroundings_of(t_env._session)) for plan in plans]
    add_to_program(ready, environment._program, options_of(t_env._session))
    configs = [getattr(node.spec, "config", None) for node in environment._program.added()]
    assert [config.repeated for config in configs if isinstance(config, ChangelogNormalize)] == repeated


CHANGES = [
    ("c", None, (1, 10, 1)),
    ("c", None, (2, 10, 2)),
    ("c", None, (3, 11, 3)),
    ("d", (2, 10, 2), None),
    ("d", (3, 11, 3), None),
    ("c", None, (4, 13, 4)),
    ("u", (1, 10, 1), (1, 12, 9)),
]


def changing_source(t_env: StreamTableEnvironment, folder: Any, key: bool = True) -> None:
    """``CHANGES`` as a table."""
    primary = ", PRIMARY KEY (id) NOT ENFORCED" if key else ""
    named = [dict(zip(("id", "k", "v"), row)) if row else None for change in CHANGES for row in change[1:]]
    events = zip((change[0] for change in CHANGES), named[::2], named[1::2])
    lines = [json.dumps({"op": op, "before": before, "after": after}) for op, before, after in events]
    folder.joinpath("changes.json").write_text("\n".join(lines) + "\n")
    t_env.execute_sql(
        f"""CREATE TABLE source (id INT, k INT, v INT{primary})
            WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'debezium-json')"""
    )


@pytest.mark.parametrize("computed", ["RAND()", "UUID()", "RAND() * v", "CAST(CURRENT_TIMESTAMP AS STRING) || UUID()"])
@pytest.mark.parametrize("columns", ["id, v", "v", "v, v AS w"])
def test_a_deletion_finds_its_row_though_a_column_is_computed_anew(
    t_env: StreamTableEnvironment, tmp_path: Any, columns: str, computed: str
) -> None:
    """The sink's key is not the source's, so rows are known by what they hold; RAND() is another number each time."""
    changing_source(t_env, tmp_path)
    t_env.execute_sql(
        f"""CREATE TABLE anew (k INT, {", ".join(f"{each.split()[-1]} INT" for each in columns.split(", "))}, r STRING,
            PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'values', 'sink-changelog-mode' = 'I,UA,D')"""
    )
    insert(t_env, f"INSERT INTO anew SELECT k, {columns}, CAST({computed} AS STRING) FROM source")
    latest = {before_or_after[1]: before_or_after for _, _, before_or_after in CHANGES if before_or_after}
    wanted = [latest[12], latest[13]]
    places = {"id": 0, "v": 2, "w": 2}
    expected = [(row[1], *(row[places[each.split()[-1]]] for each in columns.split(", "))) for row in wanted]
    assert [row[:-1] for row in rows_of("anew")] == expected


def test_a_top_n_finds_a_row_that_is_taken_back_beside_a_column_that_is_computed_anew(
    t_env: StreamTableEnvironment, tmp_path: Any
) -> None:
    changing_source(t_env, tmp_path, key=False)
    t_env.execute_sql(
        """CREATE TABLE top (k INT, v INT, r DOUBLE, n BIGINT, PRIMARY KEY (n) NOT ENFORCED)
           WITH ('connector' = 'values', 'sink-changelog-mode' = 'I,UA,D')"""
    )
    query = "SELECT k, v, r, ROW_NUMBER() OVER (ORDER BY v DESC) AS n FROM (SELECT k, v, RAND() AS r FROM source)"
    insert(t_env, f"INSERT INTO top SELECT * FROM ({query}) WHERE n <= 3")
    assert [(row[3], row[0], row[1]) for row in rows_of("top")] == [(1, 12, 9), (2, 13, 4)]
