"""Plans that are written down, and run in another session."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.corpus import corpus
from tests.table.planner.programs import rows_of
from tests.table.sql.queries import QUERIES, TABLES, Query
from tests.table.sql.sessions import PATH, Session

from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational import nodes as n
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory
from millrace.table import CompiledPlan, EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from millrace.table.expressions import col
from millrace.table.planner import engine
from millrace.table.planner.compiled_plan import PlanReference, read, written
from millrace.table.planner.engine import add_to_program, options_of
from millrace.table.sessions.table_info import register_factory
from millrace.table.sql.binding import TableInfo, bind_query
from millrace.table.sql.grammar.parser import parse_query, parse_type
from millrace.table.udf import udf
from millrace.testing.local import run_locally
from millrace.util.exceptions import TableException

GIVEN = "CREATE TABLE given (k STRING, n INT, at AS PROCTIME()) WITH ('connector' = 'values')"
SUMS = "CREATE TABLE sums (k STRING, s INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'values')"
INSERT = "INSERT INTO sums SELECT k, SUM(n) FROM given WHERE n < 10 GROUP BY k"
ROWS = [("a", 1), ("b", 2), ("a", 3), ("b", 40)]

twice = udf(lambda value: value * 2, result_type="INT", name="twice")


@pytest.fixture(autouse=True)
def _given() -> Iterator[None]:
    register_values("given", ROWS)
    yield
    clear_values()


def session(*tables: str) -> StreamTableEnvironment:
    made = StreamTableEnvironment.create(StreamExecutionEnvironment(), EnvironmentSettings.in_streaming_mode())
    for table in tables or (GIVEN, SUMS):
        made.execute_sql(table)
    return made


def run(plan: CompiledPlan) -> None:
    """What ``execute`` does, without Spark."""
    environment = StreamExecutionEnvironment()
    add_to_program(plan._plans, environment._program, options_of(plan._session))
    run_locally(environment)


@pytest.fixture(scope="module")
def queries() -> Session:
    tables = {}
    for table in TABLES:
        columns = tuple(n.Field(name, parse_type(kind)) for name, kind in table.columns)
        tables[table.name] = TableInfo((*PATH, table.name), n.Values(columns, table.rows))
    return Session(tables)


@corpus("query", QUERIES, 163)
def test_plans_are_the_same_again(query: Query, queries: Session, t_env: TableEnvironment) -> None:
    plan = optimise_streaming(bind_query(parse_query(query.sql), queries), Surroundings(1))
    (again,) = read(json.loads(json.dumps(written([plan], t_env))), t_env)
    assert again == plan


def test_in_another_session(tmp_path: Path) -> None:
    plan = session().compile_plan_sql(INSERT)
    plan.write_to_file(tmp_path / "sums.json")
    again = session().load_plan(PlanReference.from_file(tmp_path / "sums.json"))
    assert again.as_json_string() == plan.as_json_string()
    assert again.get_flink_version() == plan.get_flink_version()
    assert "GlobalGroupAggregate" in again.explain()
    run(again)
    assert rows_of("sums") == [("a", 4), ("b", 2)]


def test_tables_that_the_catalog_does_not_have_are_in_the_plan() -> None:
    text = session().compile_plan_sql(INSERT).as_json_string()
    run(
        session("CREATE TABLE other (k INT) WITH ('connector' = 'blackhole')").load_plan(
            PlanReference.from_json_string(text)
        )
    )
    assert rows_of("sums") == [("a", 4), ("b", 2)]


def test_a_pipeline_and_a_statement_set() -> None:
    t_env = session()
    pipeline = t_env.from_path("given").group_by(col("k")).select(col("k"), col("n").max).insert_into("sums")
    plan = pipeline.compile_plan()
    assert t_env.create_statement_set().add(pipeline).compile_plan().as_json_string() == plan.as_json_string()
    run(plan)
    assert rows_of("sums") == [("a", 3), ("b", 40)]


def test_functions_by_name() -> None:
    t_env = session(GIVEN, "CREATE TABLE log (k STRING, n INT) WITH ('connector' = 'values')")
    t_env.create_temporary_system_function("double_it", twice)
    text = t_env.compile_plan_sql("INSERT INTO log SELECT k, double_it(n) FROM given").as_json_string()
    other = session()
    with pytest.raises(TableException, match="calls function double_it, which is not in the catalog"):
        other.load_plan(PlanReference.from_json_string(text))
    other.create_temporary_system_function("double_it", udf(lambda value: value * 3, result_type="INT", name="thrice"))
    run(other.load_plan(PlanReference.from_json_string(text)))
    assert rows_of("log") == [("a", 3), ("a", 9), ("b", 120), ("b", 6)]


class Names(LookupTableSource):
    def __init__(self, key: Sequence[int]) -> None:
        self.key = tuple(key)

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        return [[(name, f"{name}!")] for (name,) in keys]


class NamesFactory(TableFactory):
    identifier = "test-names"

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        return Names(key)


def test_lookup_joins() -> None:
    register_factory(NamesFactory)
    names = "CREATE TABLE names (k STRING, name STRING) WITH ('connector' = 'test-names')"
    log = "CREATE TABLE log (name STRING, n INT) WITH ('connector' = 'values')"
    query = "SELECT name, n FROM given JOIN names FOR SYSTEM_TIME AS OF given.at ON given.k = names.k"
    text = session(GIVEN, names, log).compile_plan_sql(f"INSERT INTO log {query}").as_json_string()
    again = session(log).load_plan(PlanReference.from_json_string(text))
    (join,) = n.find(again._plans[0], n.LookupJoin)
    assert join.source.key == (0,)
    run(again)
    assert rows_of("log") == [("a!", 1), ("a!", 3), ("b!", 2), ("b!", 40)]


def test_what_exists_in_one_process_only() -> None:
    t_env = session()
    unnamed = t_env.from_path("given").select(col("k"), twice(col("n"))).insert_into("sums")
    with pytest.raises(TableException, match="function twice has no name in the catalog"):
        unnamed.compile_plan()
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(TableException, match="a plan with DataStream cannot be compiled"):
        written([n.StreamScan((), stream)], t_env)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "CREATE TABLE given (k STRING, n BIGINT) WITH ('connector' = 'values')",
            r"its columns are \(k STRING, n BIGINT",
        ),
        (
            "CREATE TABLE sums (k STRING NOT NULL, s INT) WITH ('connector' = 'values')",
            r"its primary key are \(\), and were \(k\)",
        ),
    ],
    ids=["columns", "key"],
)
def test_tables_that_have_changed(table: str, message: str) -> None:
    text = session().compile_plan_sql(INSERT).as_json_string()
    with pytest.raises(TableException, match=message):
        session(table).load_plan(PlanReference.from_json_string(text))


def test_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    monkeypatch.setattr(engine, "submit", lambda plans, session: ran.append(plans))
    t_env = session()
    file = tmp_path / "plans" / "sums.json"
    t_env.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")
    before = file.read_text()
    with pytest.raises(TableException, match=r"there is a plan .* already"):
        t_env.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")
    t_env.execute_sql(f"COMPILE PLAN 'file://{file}' IF NOT EXISTS FOR INSERT INTO sums SELECT k, 1 FROM given")
    assert file.read_text() == before
    t_env.execute_sql(f"EXECUTE PLAN '{file}'")
    t_env.get_config().set("table.plan.force-recompile", "true")
    t_env.execute_sql(f"COMPILE AND EXECUTE PLAN '{file}' FOR INSERT INTO sums SELECT k, 1 FROM given")
    assert file.read_text() != before
    assert len(ran) == 2
    assert ran[0] != ran[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "the text is no compiled plan of Millrace"),
        ("SELECT 1", "the text is no compiled plan"),
        ('{"format": 99, "plans": []}', "a plan of format 99, and this version reads format 1"),
    ],
)
def test_texts_that_are_no_plans(text: str, message: str) -> None:
    with pytest.raises(TableException, match=message):
        session().load_plan(PlanReference.from_json_string(text))


def test_where_there_are_no_plans(tmp_path: Path) -> None:
    with pytest.raises(TableException, match="there is no plan"):
        session().load_plan(PlanReference.from_file(tmp_path / "none.json"))
    batch = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    batch.execute_sql(GIVEN.replace(", at AS PROCTIME()", ""))
    batch.execute_sql(SUMS)
    plan = batch.compile_plan_sql(INSERT).as_json_string()
    with pytest.raises(TableException, match="was compiled in batch mode, and this session is in streaming mode"):
        session().load_plan(PlanReference.from_json_string(plan))
