"""What ALTER refuses, and statements about tables that mean nothing."""

from __future__ import annotations

import pytest

from millrace.table import TableEnvironment
from millrace.table.catalogs.file_catalog import from_json, to_json

TABLE = (
    "CREATE TABLE t (id INT, day STRING, ts TIMESTAMP(3), twice AS id * 2, other INT, WATERMARK FOR ts AS ts, "
    "PRIMARY KEY (other) NOT ENFORCED) DISTRIBUTED BY HASH (other) INTO 4 BUCKETS PARTITIONED BY (day) "
    "WITH ('connector' = 'blackhole')"
)


def rows(t_env: TableEnvironment, statement: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in t_env.execute_sql(statement).collect()]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("RENAME id TO x", "column 'id' is used by the computed column 'twice'"),
        ("DROP id", "column 'id' is used by the computed column 'twice'"),
        ("RENAME day TO x", "column 'day' is used by PARTITIONED BY"),
        ("DROP day", "column 'day' is used by PARTITIONED BY"),
        ("RENAME ts TO x", "column 'ts' is used by the watermark: DROP WATERMARK first"),
        ("DROP ts", "column 'ts' is used by the watermark"),
        ("RENAME other TO x", "column 'other' is used by DISTRIBUTED BY"),
        ("ADD x AS nosuch + 1", "unknown column 'nosuch'"),
        ("MODIFY id STRING", r"\* does not take"),
        ("DROP (id, nosuch)", "there is no column 'nosuch'"),
        ("RENAME otherr TO x", "there is no column 'otherr', did you mean 'other'"),
        ("MODIFY WATERMARK FOR day AS day", "the column is STRING, and event time is a TIMESTAMP"),
        ("MODIFY WATERMARK FOR ts AS id", "the expression is INT, and event time is a TIMESTAMP"),
        ("ADD DISTRIBUTION INTO 2 BUCKETS", r"the table is DISTRIBUTED BY HASH\(`other`\) INTO 4 BUCKETS: MODIFY it"),
        ("MODIFY DISTRIBUTION BY (nosuch) INTO 2 BUCKETS", "there is no column 'nosuch'"),
    ],
)
def test_what_would_leave_a_table_without_meaning(t_env: TableEnvironment, change: str, message: str) -> None:
    t_env.execute_sql(TABLE)
    before = rows(t_env, "SHOW CREATE TABLE t")
    with pytest.raises(Exception, match=message):
        t_env.execute_sql(f"ALTER TABLE t {change}")
    assert rows(t_env, "SHOW CREATE TABLE t") == before


def test_columns_that_are_used_go_when_their_users_go(t_env: TableEnvironment) -> None:
    t_env.execute_sql(TABLE)
    for change in ("DROP (id, twice)", "DROP WATERMARK", "DROP ts", "DROP DISTRIBUTION", "DROP PRIMARY KEY"):
        t_env.execute_sql(f"ALTER TABLE t {change}")
    assert [row[0] for row in rows(t_env, "DESCRIBE t")] == ["day", "other"]


def test_a_key_goes_with_its_column_s_name(t_env: TableEnvironment) -> None:
    t_env.execute_sql(TABLE)
    t_env.execute_sql("ALTER TABLE t DROP DISTRIBUTION")
    with pytest.raises(Exception, match="used by the primary key"):
        t_env.execute_sql("ALTER TABLE t DROP other")
    t_env.execute_sql("ALTER TABLE t RENAME other TO id2")
    assert ("id2", "INT", False, "PRI(id2)", None, None) in rows(t_env, "DESCRIBE t")


def test_buckets_are_shown_copied_kept_and_refused_by_connectors(t_env: TableEnvironment) -> None:
    t_env.execute_sql(TABLE)
    t_env.execute_sql("ALTER TABLE t MODIFY DISTRIBUTION BY RANGE (id) INTO 8 BUCKETS")
    t_env.execute_sql("CREATE TABLE copy LIKE t")
    t_env.execute_sql("CREATE TABLE plain LIKE t (EXCLUDING DISTRIBUTION)")
    shown = "DISTRIBUTED BY RANGE(`id`) INTO 8 BUCKETS"
    assert [shown in str(rows(t_env, f"SHOW CREATE TABLE {name}")) for name in ("t", "copy", "plain")] == [
        True,
        True,
        False,
    ]
    kept = t_env._session.catalogs.table(["t"]).table
    assert from_json("tables", to_json(kept)).distribution == kept.distribution
    with pytest.raises(Exception, match="connector 'blackhole' has no buckets"):
        t_env.explain_sql("INSERT INTO t SELECT 1, 'x', TIMESTAMP '2020-01-01 00:00:00.000', 1")


@pytest.mark.parametrize(
    ("columns", "name", "message"),
    [
        (
            "(id INT, PRIMARY KEY (ids) NOT ENFORCED)",
            "ids",
            "PRIMARY KEY: there is no column 'ids', did you mean 'id'?",
        ),
        ("(id INT) PARTITIONED BY (ids)", "ids", "PARTITIONED BY: there is no column 'ids', did you mean 'id'?"),
        ("(id INT) DISTRIBUTED BY (ids) INTO 2 BUCKETS", "ids", "DISTRIBUTED BY: there is no column 'ids'"),
        ("(id INT, WATERMARK FOR ts AS ts)", "ts", "WATERMARK: there is no column 'ts'"),
    ],
)
def test_names_that_a_table_has_not_are_shown_in_their_place(
    t_env: TableEnvironment, columns: str, name: str, message: str
) -> None:
    statement = f"CREATE TABLE wrong {columns} WITH ('connector' = 'blackhole')"
    with pytest.raises(Exception) as raised:
        t_env.execute_sql(statement)
    assert message in str(raised.value)
    assert f"at line 1, column {statement.index(name) + 1}:" in str(raised.value)
    assert t_env.list_tables() == []


def test_computed_columns_have_a_meaning(t_env: TableEnvironment) -> None:
    with pytest.raises(Exception, match="unknown column 'nosuch'"):
        t_env.execute_sql("CREATE TABLE wrong (id INT, x AS nosuch + 1) WITH ('connector' = 'blackhole')")
    with pytest.raises(Exception, match="the column is STRING, and event time is a TIMESTAMP"):
        t_env.execute_sql("CREATE TABLE wrong (s STRING, WATERMARK FOR s AS s) WITH ('connector' = 'blackhole')")


def test_types_that_nothing_computes_with(t_env: TableEnvironment) -> None:
    with pytest.raises(Exception, match=r"column 'at': TIMESTAMP\(3\) WITH TIME ZONE can be named, but not computed"):
        t_env.execute_sql("CREATE TABLE wrong (at TIMESTAMP(3) WITH TIME ZONE) WITH ('connector' = 'blackhole')")


def test_catalogs_and_models(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
    t_env.execute_sql("ALTER CATALOG c SET ('k' = 'v', 'x' = 'y')")
    t_env.execute_sql("ALTER CATALOG c RESET ('x')")
    t_env.execute_sql("ALTER CATALOG c COMMENT 'said'")
    described = dict(rows(t_env, "DESCRIBE CATALOG EXTENDED c"))  # type: ignore[arg-type]
    assert described == {"name": "c", "type": "generic_in_memory", "comment": "said", "option:k": "v"}
    with pytest.raises(Exception, match="'type' of a catalog stays"):
        t_env.execute_sql("ALTER CATALOG c SET ('type' = 'file')")
    t_env.execute_sql("CREATE MODEL m INPUT (x INT) OUTPUT (y STRING) WITH ('provider' = 'p')")
    t_env.execute_sql("ALTER MODEL m SET ('k' = 'v')")
    t_env.execute_sql("ALTER MODEL m RENAME TO n")
    assert rows(t_env, "DESCRIBE MODEL n") == [("x", "INT", True, True), ("y", "STRING", True, False)]
    [(text,)] = rows(t_env, "SHOW CREATE MODEL n")
    assert text == (
        "CREATE MODEL `default_catalog`.`default_database`.`n`\nINPUT (`x` INT)\nOUTPUT (`y` STRING)\n"
        "WITH (\n  'provider' = 'p',\n  'k' = 'v'\n)\n"
    )


@pytest.mark.parametrize(
    "statement",
    ["REMOVE JAR '/x.jar'",
     "STOP JOB 'x'",
     "CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' MINUTE AS SELECT 1 AS x"],
)  # fmt: skip
def test_what_is_not_there_is_refused_by_its_words(t_env: TableEnvironment, statement: str) -> None:
    with pytest.raises(NotImplementedError) as raised:
        t_env.execute_sql(statement)
    words = str(raised.value).partition(" is not in Millrace yet; nearest: ")
    assert statement.startswith(words[0]) and words[2]


def test_options_of_hints_can_be_switched_off(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE g (id INT) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TABLE out (id INT) WITH ('connector' = 'blackhole')")
    query = "SELECT * FROM g /*+ OPTIONS('number-of-rows' = '3') */"
    t_env.sql_query(query)
    t_env.execute_sql("SET 'table.dynamic-table-options.enabled' = 'false'")
    for statement in (query, "INSERT INTO out /*+ OPTIONS('x' = 'y') */ SELECT * FROM g"):
        with pytest.raises(Exception, match=r"OPTIONS is switched off: table\.dynamic-table-options\.enabled is false"):
            t_env.explain_sql(statement)
