"""Statements as their descriptions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.corpus import corpus

from millrace.relational import types
from millrace.table.sql import statements as s
from millrace.table.sql.grammar.parser import parse_expression, parse_query, parse_statement
from millrace.table.sql.text import Name, Path, SqlParseError

INT, STRING, TS3 = types.IntType(), types.string(), types.TimestampType(3)


def path(*names: str) -> Path:
    return Path(map(Name, names))


def names(*texts: str) -> tuple[Name, ...]:
    return tuple(map(Name, texts))


def expression(text: str) -> s.Written:
    return s.Written(parse_expression(text), text)


def query(text: str) -> s.Written:
    return s.Written(parse_query(text), text)


def physical(name: str, data_type: types.DataType, comment: str | None = None) -> s.PhysicalColumn:
    return s.PhysicalColumn(Name(name), data_type, comment)


FULL_TABLE = """
CREATE TEMPORARY TABLE IF NOT EXISTS cat.`my db`.Orders (
    id INT NOT NULL,
    `user` ROW<name STRING, age INT> COMMENT 'who',
    ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
    part BIGINT METADATA COMMENT 'of the log',
    cost AS id * 2, -- computed
    WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
    CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'all orders'
DISTRIBUTED BY HASH (id) INTO 4 BUCKETS
PARTITIONED BY (part)
WITH ('connector' = 'print', 'k' = 'v''s')
LIKE base (EXCLUDING ALL OVERWRITING OPTIONS INCLUDING GENERATED)
"""

EXPECTED: dict[str, Any] = {
    FULL_TABLE: s.CreateTable(
        path("cat", "my db", "Orders"),
        s.Schema(
            (
                physical("id", INT.not_null()),
                physical("user", types.RowType([types.RowField("name", STRING), types.RowField("age", INT)]), "who"),
                s.MetadataColumn(Name("ts"), TS3, "timestamp", virtual=True),
                s.MetadataColumn(Name("part"), types.BigIntType(), comment="of the log"),
                s.ComputedColumn(Name("cost"), expression("id * 2")),
            ),
            s.Watermark(path("ts"), expression("ts - INTERVAL '5' SECOND")),
            s.PrimaryKey(names("id"), "pk"),
        ),
        comment="all orders",
        partitioned_by=names("part"),
        distribution=s.Distribution(names("id"), "HASH", 4),
        options={"connector": "print", "k": "v's"},
        like=s.Like(path("base"), {"ALL": "EXCLUDING", "OPTIONS": "OVERWRITING", "GENERATED": "INCLUDING"}),
        temporary=True,
        if_not_exists=True,
    ),
    "CREATE TABLE t (id INT CONSTRAINT c PRIMARY KEY NOT ENFORCED, WATERMARK FOR r.ts AS r.ts)": s.CreateTable(
        path("t"),
        s.Schema(
            (physical("id", INT),),
            s.Watermark(path("r", "ts"), expression("r.ts")),
            s.PrimaryKey(names("id"), "c"),
        ),
    ),
    "CREATE TABLE t (b, a) WITH ('x' = 'y') AS SELECT 1 AS a, 2 AS b": s.CreateTable(
        path("t"),
        s.Schema(order=names("b", "a")),
        options={"x": "y"},
        query=query("SELECT 1 AS a, 2 AS b"),
    ),
    "CREATE TABLE t DISTRIBUTED INTO 2 BUCKETS LIKE u": s.CreateTable(
        path("t"), distribution=s.Distribution(buckets=2), like=s.Like(path("u"))
    ),
    "REPLACE TABLE t AS TABLE u": s.CreateTable(path("t"), query=query("TABLE u"), replace=True, create=False),
    "CREATE OR ALTER MATERIALIZED TABLE db.m PARTITIONED BY (d) WITH ('a' = 'b') "
    "FRESHNESS = INTERVAL '1' HOUR REFRESH_MODE = CONTINUOUS AS SELECT 1 AS d": s.CreateMaterializedTable(
        path("db", "m"),
        query("SELECT 1 AS d"),
        partitioned_by=names("d"),
        options={"a": "b"},
        freshness=expression("INTERVAL '1' HOUR"),
        refresh_mode="CONTINUOUS",
        or_alter=True,
    ),
    "CREATE TEMPORARY VIEW v (a COMMENT 'x', b) AS SELECT 1, 2": s.CreateView(
        path("v"), query("SELECT 1, 2"), ((Name("a"), "x"), (Name("b"), None)), temporary=True
    ),
    "CREATE CATALOG IF NOT EXISTS c COMMENT 'x' WITH ('type' = 'jdbc')": s.CreateCatalog(
        Name("c"), {"type": "jdbc"}, "x", if_not_exists=True
    ),
    "CREATE DATABASE c.d WITH ('k' = 'v')": s.CreateDatabase(path("c", "d"), {"k": "v"}),
    "CREATE TEMPORARY SYSTEM FUNCTION f AS 'mod.f' LANGUAGE PYTHON USING FILE 'a.zip', JAR 'b.jar'": s.CreateFunction(
        path("f"), "mod.f", "PYTHON", (("FILE", "a.zip"), ("JAR", "b.jar")), temporary=True, system=True
    ),
    "CREATE MODEL m INPUT (x INT) OUTPUT (y STRING COMMENT 'z') WITH ('provider' = 'p')": s.CreateModel(
        path("m"), (physical("x", INT),), (physical("y", STRING, "z"),), options={"provider": "p"}
    ),
    "DROP DATABASE IF EXISTS c.d CASCADE": s.Drop("DATABASE", path("c", "d"), if_exists=True, cascade=True),
    "DROP DATABASE d RESTRICT": s.Drop("DATABASE", path("d")),
    "DROP TEMPORARY SYSTEM FUNCTION f": s.Drop("FUNCTION", path("f"), temporary=True, system=True),
    "DROP MATERIALIZED TABLE m": s.Drop("MATERIALIZED TABLE", path("m")),
    "ALTER TABLE t ADD (a INT FIRST, b AS a + 1 AFTER a, PRIMARY KEY (a) NOT ENFORCED)": s.Alter(
        "TABLE",
        path("t"),
        s.Add(
            (
                s.PlacedColumn(physical("a", INT), first=True),
                s.PlacedColumn(s.ComputedColumn(Name("b"), expression("a + 1")), after=Name("a")),
                s.PrimaryKey(names("a")),
            )
        ),
    ),
    "ALTER TABLE IF EXISTS t MODIFY a STRING NOT NULL": s.Alter(
        "TABLE", path("t"), s.Modify((s.PlacedColumn(physical("a", STRING.not_null())),)), if_exists=True
    ),
    "ALTER TABLE t ADD WATERMARK FOR ts AS ts": s.Alter(
        "TABLE", path("t"), s.Add((s.Watermark(path("ts"), expression("ts")),))
    ),
    "ALTER TABLE t MODIFY DISTRIBUTION BY RANGE(a)": s.Alter(
        "TABLE", path("t"), s.Modify((s.Distribution(names("a"), "RANGE"),))
    ),
    "ALTER TABLE t DROP (a, b.c)": s.Alter("TABLE", path("t"), s.DropColumns((path("a"), path("b", "c")))),
    "ALTER TABLE t DROP PRIMARY KEY": s.Alter("TABLE", path("t"), s.DropPart("PRIMARY KEY")),
    "ALTER TABLE t DROP CONSTRAINT c": s.Alter("TABLE", path("t"), s.DropPart("CONSTRAINT", Name("c"))),
    "ALTER TABLE t RENAME a.b TO c": s.Alter("TABLE", path("t"), s.RenameColumn(path("a", "b"), Name("c"))),
    "ALTER TABLE t RENAME TO d.u": s.Alter("TABLE", path("t"), s.Rename(path("d", "u"))),
    "ALTER TABLE t RESET ('a', 'b')": s.Alter("TABLE", path("t"), s.ResetOptions(names("a", "b"))),
    "ALTER TABLE t ADD PARTITION (a = 1, b = 'x') WITH ('k' = 'v') PARTITION (a = 2)": s.Alter(
        "TABLE",
        path("t"),
        s.AddPartitions(
            (
                (((Name("a"), parse_expression("1")), (Name("b"), parse_expression("'x'"))), {"k": "v"}),
                (((Name("a"), parse_expression("2")),), {}),
            )
        ),
    ),
    "ALTER TABLE t DROP IF EXISTS PARTITION (a = 1)": s.Alter(
        "TABLE", path("t"), s.DropPartitions((((Name("a"), parse_expression("1")),),), if_exists=True)
    ),
    "ALTER MATERIALIZED TABLE m RESUME": s.Alter("MATERIALIZED TABLE", path("m"), s.Resume()),
    "ALTER MATERIALIZED TABLE m REFRESH": s.Alter("MATERIALIZED TABLE", path("m"), s.Refresh()),
    "ALTER VIEW v AS SELECT 1 AS x": s.Alter("VIEW", path("v"), s.SetQuery(query("SELECT 1 AS x"))),
    "ALTER CATALOG c COMMENT 'new'": s.Alter("CATALOG", path("c"), s.SetComment("new")),
    "ALTER FUNCTION f AS 'm.f' LANGUAGE PYTHON": s.Alter("FUNCTION", path("f"), s.SetFunction("m.f", "PYTHON")),
    "INSERT OVERWRITE c.d.t PARTITION (p = '1', q) (a, b) VALUES (1, 2)": s.Insert(
        path("c", "d", "t"),
        query("VALUES (1, 2)"),
        names("a", "b"),
        ((Name("p"), parse_expression("'1'")), (Name("q"), None)),
        overwrite=True,
    ),
    "INSERT INTO t /*+ OPTIONS('k' = 'v') */ (SELECT 1)": s.Insert(path("t"), query("(SELECT 1)"), options={"k": "v"}),
    "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END;": s.StatementSet(
        (s.Insert(path("a"), query("SELECT 1")), s.Insert(path("b"), query("SELECT 2")))
    ),
    "DELETE FROM t WHERE a = 1": s.Delete(path("t"), expression("a = 1")),
    "UPDATE t SET a = 1, b = a + 1 WHERE c": s.Update(
        path("t"), ((Name("a"), expression("1")), (Name("b"), expression("a + 1"))), expression("c")
    ),
    "CALL c.d.p(1, 'x')": s.Call(path("c", "d", "p"), (parse_expression("1"), parse_expression("'x'"))),
    "EXPLAIN CHANGELOG_MODE, PLAN_ADVICE SELECT 1": s.Explain(
        s.Query(parse_query("SELECT 1")), ("CHANGELOG_MODE", "PLAN_ADVICE")
    ),
    "SHOW TABLES FROM c.d NOT LIKE 'x%'": s.Show("TABLES", path("c", "d"), s.Pattern("x%", negated=True)),
    "SHOW FUNCTIONS ILIKE 'x%'": s.Show("FUNCTIONS", pattern=s.Pattern("x%", ignore_case=True)),
    "SHOW COLUMNS IN t": s.Show("COLUMNS", path("t")),
    "SHOW PARTITIONS t PARTITION (a = 1)": s.Show(
        "PARTITIONS", path("t"), partition=((Name("a"), parse_expression("1")),)
    ),
    "DESCRIBE CATALOG EXTENDED c": s.Describe("CATALOG", path("c"), extended=True),
    "DESC extended": s.Describe("TABLE", path("extended")),
    "DESC catalog.t": s.Describe("TABLE", path("catalog", "t")),
    "USE CATALOG c": s.UseCatalog(Name("c")),
    "USE c.d": s.UseDatabase(path("c", "d")),
    "USE MODULES a, b": s.UseModules(names("a", "b")),
    "SET 'a.b' = 'c'": s.Set("a.b", "c"),
    "SET a.b-c = TRUE": s.Set("a.b-c", "TRUE"),
    "SET a.b=80-90": s.Set("a.b", "80-90"),
    "SET a.b = 'c d'": s.Set("a.b", "c d"),
    "SET 'a.b' = -5": s.Set("a.b", "-5"),
    "SET": s.Set(),
    "RESET 'a.b'": s.Reset("a.b"),
    "RESET table.exec.mini-batch.size": s.Reset("table.exec.mini-batch.size"),
    "BEGIN STATEMENT SET; END": s.StatementSet(()),
    "LOAD MODULE m WITH ('a' = 'b')": s.LoadModule(Name("m"), {"a": "b"}),
    "ADD JAR 'x.jar'": s.Jar("ADD", "x.jar"),
    "STOP JOB 'j' WITH DRAIN": s.StopJob("j", with_drain=True),
    "ANALYZE TABLE t PARTITION (a) COMPUTE STATISTICS FOR COLUMNS b, c": s.Analyze(
        path("t"), ((Name("a"), None),), names("b", "c")
    ),
    "COMPILE AND EXECUTE PLAN 'p' FOR INSERT INTO t SELECT 1": s.CompilePlan(
        "p", s.Insert(path("t"), query("SELECT 1")), execute=True
    ),
    "EXIT": s.ClientCommand("QUIT"),
}


@corpus("text", EXPECTED, 64)
def test_statements_are_read(text: str) -> None:
    assert parse_statement(text) == EXPECTED[text]


def test_texts_of_expressions_are_kept_as_written() -> None:
    found = parse_statement("CREATE TABLE t (a INT, b AS  a  +  1 /* one more */ COMMENT 'c')")
    assert isinstance(found, s.CreateTable)
    assert isinstance(found.schema.columns[1], s.ComputedColumn)
    assert found.schema.columns[1].expression.text == "a  +  1"


def test_texts_of_queries_are_kept_as_written() -> None:
    found = parse_statement("CREATE VIEW v AS\n  select  1 -- one\n  , 2 ;")
    assert isinstance(found, s.CreateView)
    assert found.query.text == "select  1 -- one\n  , 2"


@pytest.mark.parametrize(
    ("rules", "part", "expected"),
    [
        ({}, "OPTIONS", "OVERWRITING"),
        ({}, "CONSTRAINTS", "INCLUDING"),
        ({"ALL": "EXCLUDING"}, "OPTIONS", "EXCLUDING"),
        ({"ALL": "INCLUDING"}, "OPTIONS", "INCLUDING"),
        ({"ALL": "EXCLUDING", "WATERMARKS": "INCLUDING"}, "WATERMARKS", "INCLUDING"),
        ({"WATERMARKS": "OVERWRITING"}, "OPTIONS", "OVERWRITING"),
    ],
)
def test_like_has_the_rules_of_flink_where_it_says_nothing(rules: dict[str, str], part: str, expected: str) -> None:
    assert s.Like(path("t"), rules).rule(part) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE t (a INT, a STRING)", "the column 'a' is declared twice"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a))", "expected NOT ENFORCED after PRIMARY KEY"),
        ("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, PRIMARY KEY (a) NOT ENFORCED)", "one primary key at most"),
        ("CREATE TABLE t (WATERMARK FOR a AS a, WATERMARK FOR b AS b)", "one watermark at most"),
        ("CREATE TABLE t (a INT UNIQUE)", "UNIQUE is not supported"),
        ("CREATE TABLE t (a INT) WITH ('a' = 'b', 'a' = 'c')", "the option 'a' is given twice"),
        ("CREATE TABLE t (a, b)", "columns without types need AS SELECT"),
        ("CREATE TABLE t LIKE u AS SELECT 1", "LIKE and AS exclude each other"),
        ("CREATE TEMPORARY TABLE t AS SELECT 1", "a temporary table cannot be created AS a query"),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", "there is no CREATE OR REPLACE VIEW"),
        ("CREATE TEMPORARY DATABASE d", "there is no TEMPORARY DATABASE"),
        ("CREATE TEMPORARY SYSTEM VIEW v AS SELECT 1", "only functions are SYSTEM"),
        ("CREATE TABLE t LIKE u (OVERWRITING PARTITIONS)", "expected one of DISTRIBUTION, GENERATED"),
        ("CREATE TABLE t (order INT)", "ORDER is a keyword, as a name it is written `order`"),
        ("CREATE FUNCTION f AS mod.f", "expected 'module.name' of the function, found 'mod'"),
        ("ALTER TABLE t ADD IF NOT EXISTS a INT", "IF NOT EXISTS stands only before PARTITION"),
        ("ALTER TEMPORARY TABLE t RENAME TO u", "there is no ALTER TEMPORARY TABLE"),
        ("SHOW TABELS", "there is no SHOW TABELS, did you mean 'TABLES'?"),
        ("SET table.exec.state.ttl = 1 h", "expected the end of the statement, found 'h'"),
        ("SET table.exec.state.ttl =", "expected a value, found the end"),
        ("SET a.b = file:///tmp/x", "beginning of a comment in it stands in single quotes"),
        ("SET a.b = `c`", "stands in single quotes"),
        ("RESET table .planner", "expected the end of the statement, found '.'"),
        ("STOP JOB abc", "expected the id of a job in single quotes"),
        ("EXPLAIN DROP TABLE t", "expected a query, INSERT or STATEMENT SET, found 'DROP'"),
        ("EXPLAIN CREATE TABLE t (a INT)", "of what is created only CREATE TABLE .. AS SELECT has a plan"),
        ("COMPILE PLAN 'p' FOR SELECT 1", "only the plan of INSERT or STATEMENT SET can be compiled"),
        ("EXPLAIN STATEMENT SET BEGIN END", "a statement set needs an INSERT at least"),
        ("BEGIN STATEMENT SET; SELECT 1; END", "expected INSERT, or END of the statement set"),
        ("MERGE INTO t USING u ON a = b", "MERGE is not supported: write INSERT INTO"),
        ("SELCT 1", "no statement begins with 'SELCT', did you mean 'SELECT'?"),
        ("", "expected a statement, found nothing"),
        ("SELECT 1; SELECT 2", "expected one statement, found more"),
        ("CREATE MODEL m INPUT (a AS 1) WITH ('k' = 'v')", "a model has plain columns only"),
    ],
)
def test_statements_that_mean_nothing_say_why(text: str, message: str) -> None:
    with pytest.raises(SqlParseError) as error:
        parse_statement(text)
    assert message in error.value.message
