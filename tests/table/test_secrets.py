"""What a session shows has no secrets in it; what it computes with has."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.common import Configuration
from millrace.connectors.tables.values_table import ValuesFactory, clear_values, register_values
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.sources import FormatContext, TableContext, TableSink, TableSource
from millrace.table import (
    DataTypes,
    EnvironmentSettings,
    ModelDescriptor,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
)
from millrace.table.planner.compiled_plan import PlanReference
from millrace.table.sessions.table_info import register_factory
from millrace.util.exceptions import TableException

SECRET = "s3cr3t"
URL = f"jdbc:postgresql://ann:{SECRET}@host/db?password={SECRET}&ssl=true"
OPTIONS = (
    f"'connector' = 'guarded', 'url' = '{URL}', 'password' = '{SECRET}', 'api-key' = '{SECRET}', "
    f"'properties.sasl.jaas.config' = 'Plain username=\"ann\" password=\"{SECRET}\";', 'key.format' = 'json'"
)
SHOWN = {
    "connector": "guarded",
    "url": "jdbc:postgresql://ann:******@host/db?password=******&ssl=true",
    "password": "******",
    "api-key": "******",
    "properties.sasl.jaas.config": "******",
    "key.format": "json",
}


class GuardedFactory(ValuesFactory):
    """Needs a password; remembers what it was given."""

    identifier = "guarded"
    optional = (*ValuesFactory.optional, "url", "password", "api-key", "properties.", "key.format")
    given: list[str | None] = []

    def source(self, table: TableContext) -> TableSource:
        self.given.append(table.options.get("password"))
        return super().source(table)

    def sink(self, table: TableContext) -> TableSink:
        self.given.append(table.options.get("password"))
        return super().sink(table)


@pytest.fixture(autouse=True)
def _guarded() -> Iterator[None]:
    register_factory(GuardedFactory)
    GuardedFactory.given.clear()
    register_values("t", [(1, "x")])
    yield
    clear_values()


def session(*statements: str) -> StreamTableEnvironment:
    made = StreamTableEnvironment.create(StreamExecutionEnvironment(), EnvironmentSettings.in_streaming_mode())
    for statement in statements:
        made.execute_sql(statement)
    return made


TABLE = f"CREATE TABLE t (id INT, password STRING) WITH ({OPTIONS})"
SINK = f"CREATE TABLE s (id INT, password STRING) WITH ({OPTIONS})"
INSERT = "INSERT INTO s SELECT id, password FROM t WHERE password = 'x'"


def text_of(environment: StreamTableEnvironment, statement: str) -> str:
    with environment.execute_sql(statement).collect() as rows:
        return "\n".join(str(list(row)) for row in rows)


STATEMENTS = [
    "SHOW CREATE TABLE t",
    "SHOW CREATE VIEW v",
    "SHOW CREATE MODEL m",
    "SHOW CREATE CATALOG c",
    "DESCRIBE CATALOG EXTENDED c",
    "DESCRIBE DATABASE EXTENDED d",
    "DESCRIBE EXTENDED t",
    "EXPLAIN SELECT * FROM t",
    "EXPLAIN ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN SELECT * FROM v",
    f"EXPLAIN PLAN FOR {INSERT}",
    "SET",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_statements_show(statement: str) -> None:
    environment = session(
        TABLE,
        SINK,
        f"CREATE VIEW v AS SELECT id FROM t /*+ OPTIONS('password' = '{SECRET}2') */",
        f"CREATE MODEL m INPUT (a STRING) OUTPUT (b STRING) WITH ('provider' = 'x', 'openai.api-key' = '{SECRET}')",
        "CREATE DATABASE d",
        f"ALTER DATABASE d SET ('k' = 'v', 'password' = '{SECRET}')",
        f"SET 's3.secret-key' = '{SECRET}'",
    )
    environment.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
    environment.execute_sql(f"ALTER CATALOG c SET ('token' = '{SECRET}')")
    shown = text_of(environment, statement)
    assert SECRET not in shown
    if not statement.startswith("EXPLAIN") and statement != "DESCRIBE EXTENDED t":
        assert "******" in shown


def test_the_options_of_a_table_keep_their_names() -> None:
    shown = text_of(session(TABLE), "SHOW CREATE TABLE t")
    for name, value in SHOWN.items():
        assert f"'{name}' = '{value}'" in shown.replace("\\'", "'").replace('\\"', '"').replace("\\n", "\n")


def test_programs_get_what_was_set() -> None:
    environment = session(TABLE, f"SET 's3.secret-key' = '{SECRET}'")
    assert environment.get_config().get("s3.secret-key", "") == SECRET
    table = environment._session.catalogs.find_table(("default_catalog", "default_database", "t"))
    assert table is not None and table.table.get_options()["url"] == URL
    environment.sql_query("SELECT id FROM t")
    assert set(GuardedFactory.given) == {SECRET}


def test_texts_of_objects() -> None:
    configuration = Configuration.from_dict({"a.password": SECRET, "url": URL, "key.format": "json"})
    assert str(configuration) == "{a.password=******, url=" + SHOWN["url"] + ", key.format=json}"
    assert configuration.to_dict()["a.password"] == SECRET
    schema = Schema.new_builder().column("a", DataTypes.INT()).build()
    table = TableDescriptor.for_connector("guarded").schema(schema).option("password", SECRET).build()
    model = ModelDescriptor.for_provider("x").option("api-key", SECRET).build()
    context = TableContext(("a", "b", "c"), (), options={"password": SECRET}, configuration={"token": SECRET})
    format_context = FormatContext("t", (), {"password": SECRET}, configuration={"token": SECRET})
    for value in (configuration, table, model, context, format_context):
        assert SECRET not in f"{value} {value!r}", type(value)
    assert table.get_options()["password"] == SECRET
    other = TableDescriptor.for_connector("guarded").schema(schema).option("password", "other").build()
    assert table != other, "descriptors are what they say, secrets too"


@pytest.mark.parametrize(
    "wrong",
    [
        f"CREATE TABLE t (id INT) WITH ('connector' = 'guarded', 'password' = '{SECRET}' 'x')",
        f"CREATE TABLE t (id INT) WITH ('connector' = 'guarded',\n'url' = '{URL}', )",
        f"SELECT nothing FROM t /*+ OPTIONS('password' = '{SECRET}') */",
        f"CREATE TABLE t (id INT) WITH ('password' /* x */ = '{SECRET}' 'y')",
        f"CREATE TABLE t (id INT) WITH (password = '{SECRET}')",
        f"CREATE TABLE t (id INT) WITH ('password' '{SECRET}')",
        f"CREATE TABLE t (id INT) WITH ('password' = {SECRET})",
        f"CREATE TABLE t (id INT) WITH ('password' = '{SECRET})",
        f'CREATE TABLE t (id INT) WITH ("password" = "{SECRET}")',
    ],
)
def test_errors(wrong: str) -> None:
    with pytest.raises(Exception) as caught:
        session(TABLE).execute_sql(wrong)
    assert SECRET not in str(caught.value) and "^" in str(caught.value)


def test_errors_of_configurations() -> None:
    configuration = Configuration().set_string("token.count", SECRET)
    with pytest.raises(ValueError, match=r"could not parse value \*{6} for key 'token.count': ValueError$"):
        configuration.get_integer("token.count", 0)


# -- compiled plans ---------------------------------------------------------------------------------------------------


def compiled(tmp_path: Path) -> tuple[str, Path]:
    session(TABLE, SINK, f"COMPILE PLAN '{tmp_path}/plan.json' FOR {INSERT}")
    return (tmp_path / "plan.json").read_text(), tmp_path / "plan.json"


def options_in(document: Any) -> Iterator[dict[str, Any]]:
    if isinstance(document, dict):
        if "options" in document and "path" in document:
            yield document["options"]
        for part in document.values():
            yield from options_in(part)
    elif isinstance(document, list):
        for part in document:
            yield from options_in(part)


def test_compiled_plans_hold_no_secrets(tmp_path: Path) -> None:
    text, _ = compiled(tmp_path)
    assert SECRET not in text
    found = list(options_in(json.loads(text)))
    assert len(found) == 2
    for options in found:
        assert {name: value for name, value in options.items() if isinstance(value, str)} == {
            "connector": "guarded",
            "key.format": "json",
        }
        assert options.keys() == SHOWN.keys()


def test_compiled_plans_take_secrets_from_the_catalog(tmp_path: Path) -> None:
    _, path = compiled(tmp_path)
    tables = (table.replace(f"'{SECRET}'", "'changed'") for table in (TABLE, SINK))
    GuardedFactory.given.clear()
    again = session(*tables).load_plan(PlanReference.from_file(str(path)))
    assert set(GuardedFactory.given) == {"changed"}
    assert SECRET not in again.as_json_string() and "changed" not in again.as_json_string()


@pytest.mark.parametrize(
    ("tables", "missing"),
    [
        ([], "'url', 'password', 'api-key', 'properties.sasl.jaas.config'"),
        ([TABLE.replace(f"'password' = '{SECRET}', ", ""), SINK], "'password'"),
    ],
)
def test_a_secret_that_is_missing_is_named(tables: list[str], missing: str, tmp_path: Path) -> None:
    _, path = compiled(tmp_path)
    with pytest.raises(TableException, match=rf"catalog has no option {missing} of table default_catalog\..*\.[st]:"):
        session(*tables).load_plan(PlanReference.from_file(str(path)))


def test_plans_without_secrets_need_no_catalog(tmp_path: Path) -> None:
    plain = [table.replace(OPTIONS, "'connector' = 'guarded'") for table in (TABLE, SINK)]
    text = session(*plain).compile_plan_sql(INSERT).as_json_string()
    assert session().load_plan(PlanReference.from_json_string(text)).as_json_string() == text


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_of_a_catalog_with_secrets_are_private(tmp_path: Path) -> None:
    path = tmp_path / "catalog"
    environment = session(f"CREATE CATALOG kept WITH ('type' = 'file', 'path' = '{path}')", "USE CATALOG kept", TABLE)
    environment.execute_sql("CREATE TABLE plain (id INT) WITH ('connector' = 'guarded')")
    modes = {file.stem: stat.S_IMODE(file.stat().st_mode) for file in path.rglob("*.json")}
    assert modes["t"] == 0o600 and modes["plain"] == 0o644
    again = session(f"CREATE CATALOG kept WITH ('type' = 'file', 'path' = '{path}')", "USE CATALOG kept")
    again.sql_query("SELECT id FROM t")
    assert GuardedFactory.given[-1] == SECRET
