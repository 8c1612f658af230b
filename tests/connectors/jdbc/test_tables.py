"""Tables of every database: written, read, looked up."""

from __future__ import annotations

import random

import pytest
from tests.connectors.jdbc.databases import JdbcTables, Place

from millrace.util.exceptions import TableException

COLUMNS = "id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
DDL = "id BIGINT PRIMARY KEY, name VARCHAR(200)"
STRANGE = ["it's", 'say "x"', "back\\slash", "a,b", "", " ", "%s %%", "?", "\n\t", "ä€😀", "NULL", "`", "{1}", "\\'"]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def test_texts_come_back_as_they_were(tables: JdbcTables, place: Place) -> None:
    for key in ("", ", PRIMARY KEY (id) NOT ENFORCED"):
        table = place.create("id INT PRIMARY KEY, name VARCHAR(200)")
        name = tables.over(place, table, f"id INT, name STRING{key}")
        values = ", ".join(f"({number}, {quoted(text)})" for number, text in enumerate(STRANGE))
        tables.insert(f"INSERT INTO {name} VALUES {values}, (100, CAST(NULL AS STRING))")
        wanted = [*enumerate(STRANGE), (100, None)]
        assert sorted(map(tuple, place.run(f"SELECT id, name FROM {table}"))) == wanted
        assert tables.rows(f"SELECT * FROM {name}") == wanted


def test_changes_leave_what_a_dictionary_would_have(tables: JdbcTables, place: Place) -> None:
    table = place.create("k BIGINT PRIMARY KEY, n BIGINT, total BIGINT")
    name = tables.over(place, table, "k BIGINT, n BIGINT, total BIGINT, PRIMARY KEY (k) NOT ENFORCED")
    dice = random.Random(7)
    rows = [(dice.randrange(40), dice.randrange(-9, 10)) for _ in range(400)]
    values = ", ".join(f"({key}, {value})" for key, value in rows)
    # A count that goes through updates, and rows that are taken back.
    tables.insert(
        f"INSERT INTO {name} SELECT k, COUNT(*), SUM(v) FROM (VALUES {values}) AS t(k, v) GROUP BY k HAVING SUM(v) >= 0"
    )
    wanted: dict[int, list[int]] = {}
    for key, value in rows:
        wanted.setdefault(key, []).append(value)
    expected = sorted((key, len(each), sum(each)) for key, each in wanted.items() if sum(each) >= 0)
    assert sorted(map(tuple, place.run(f"SELECT k, n, total FROM {table}"))) == expected


def test_keys_of_two_columns(tables: JdbcTables, place: Place) -> None:
    table = place.create("a INT, b VARCHAR(10), v INT, PRIMARY KEY (a, b)")
    name = tables.over(place, table, "a INT, b STRING, v INT, PRIMARY KEY (a, b) NOT ENFORCED")
    place.run(f"INSERT INTO {table} VALUES (1, 'x', 1), (1, 'y', 2)")
    tables.insert(f"INSERT INTO {name} VALUES (1, 'y', 20), (2, 'x', 3)")
    assert sorted(map(tuple, place.run(f"SELECT * FROM {table}"))) == [(1, "x", 1), (1, "y", 20), (2, "x", 3)]


def test_only_keys(tables: JdbcTables, place: Place) -> None:
    table = place.create("id INT PRIMARY KEY")
    name = tables.over(place, table, "id INT, PRIMARY KEY (id) NOT ENFORCED")
    tables.insert(f"INSERT INTO {name} VALUES (1), (2), (1)")
    tables.insert(f"INSERT INTO {name} VALUES (2), (3)")
    assert tables.rows(f"SELECT * FROM {name}") == [(1,), (2,), (3,)]


def test_a_null_key_is_refused(tables: JdbcTables, place: Place) -> None:
    name = tables.over(place, place.create(DDL), COLUMNS)
    with pytest.raises(Exception, match="NULL"):
        tables.insert(f"INSERT INTO {name} SELECT CAST(NULL AS BIGINT), 'x'")


def test_parts_of_a_table(tables: JdbcTables, place: Place) -> None:
    table = place.create(DDL)
    place.run(f"INSERT INTO {table} VALUES " + ", ".join(f"({number}, 'n{number}')" for number in range(1, 101)))
    parts = {"scan.partition.column": "id", "scan.partition.num": "7", "scan.fetch-size": "3"}
    bounds = {"scan.partition.lower-bound": "1", "scan.partition.upper-bound": "100"}
    name = tables.over(place, table, COLUMNS, **parts, **bounds)
    assert tables.rows(f"SELECT id FROM {name}") == [(number,) for number in range(1, 101)]
    assert tables.query(f"SELECT COUNT(*) FROM {name} WHERE id > 90")[-1][1] == (10,)


def test_filters_mean_the_same(tables: JdbcTables, place: Place) -> None:
    table = place.create("id INT PRIMARY KEY, name VARCHAR(20), d DECIMAL(10, 2), day DATE")
    rows = [(1, "a", "1.50", "2024-01-01"), (2, "A", "2.00", "2024-01-02"), (3, "a ", "-3.25", "1969-12-31")]
    for row in rows:
        place.run(f"INSERT INTO {table} VALUES {row}")
    place.run(f"INSERT INTO {table} VALUES (4, NULL, NULL, NULL)")
    columns = "id INT, name STRING, d DECIMAL(10, 2), `day` DATE"
    name = tables.over(place, table, columns)
    for condition, wanted in {
        "name = 'a'": [1],
        "name <> 'a'": [2, 3],
        "name IN ('A', 'b')": [2],
        "name > 'A'": [1, 3],
        "name IS NULL": [4],
        "name IS NOT NULL AND id < 3": [1, 2],
        "d >= 1.5 OR id = 3": [1, 2, 3],
        "d BETWEEN -4 AND 1.5": [1, 3],
        "`day` < DATE '2024-01-02'": [1, 3],
        "NOT (id = 1)": [2, 3, 4],
        "id = 1 OR UPPER(name) = 'A'": [1, 2],
        "id = 3000000000": [],
    }.items():
        assert [row[0] for row in tables.rows(f"SELECT id FROM {name} WHERE {condition}")] == wanted, condition


def test_look_ups(tables: JdbcTables, place: Place) -> None:
    table = place.create("id BIGINT, name VARCHAR(20), v INT")
    place.run(f"INSERT INTO {table} VALUES (1, 'a', 10), (2, 'b', 20), (2, 'c', 21), (3, NULL, 30)")
    name = tables.over(place, table, "id BIGINT, name STRING, v INT")
    left = "(SELECT k, PROCTIME() AS p FROM (VALUES (1), (2), (3), (9), (1)) AS x(k)) AS l"
    joined = f"SELECT l.k, r.name, r.v FROM {left} LEFT JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.id = l.k"
    found = sorted((row for _, row in tables.query(joined)), key=repr)
    wanted = [(1, "a", 10), (1, "a", 10), (2, "b", 20), (2, "c", 21), (3, None, 30), (9, None, None)]
    assert found == wanted


def test_look_ups_by_text(tables: JdbcTables, place: Place) -> None:
    table = place.create("name VARCHAR(20), v INT")
    place.run(f"INSERT INTO {table} VALUES ('a', 1), ('b', 2), ('it''s', 3)")
    name = tables.over(place, table, "name STRING, v INT", **{"lookup.cache": "PARTIAL"})
    left = "(SELECT k, PROCTIME() AS p FROM (VALUES ('a'), ('b'), ('z'), ('it''s'), ('back\\')) AS x(k)) AS l"
    joined = f"SELECT l.k, r.v FROM {left} JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.name = l.k"
    assert sorted(row for _, row in tables.query(joined)) == [("a", 1), ("b", 2), ("it's", 3)]


def test_look_ups_in_the_whole_table(tables: JdbcTables, place: Place) -> None:
    table = place.create("id INT, name VARCHAR(20)")
    place.run(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (2, 'c'), (NULL, 'd')")
    name = tables.over(place, table, "id INT, name STRING", **{"lookup.cache": "FULL"})
    left = "(SELECT k, PROCTIME() AS p FROM (VALUES (1), (2), (3), (CAST(NULL AS INT))) AS x(k)) AS l"
    joined = f"SELECT l.k, r.name FROM {left} LEFT JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.id = l.k"
    found = sorted((row for _, row in tables.query(joined)), key=repr)
    assert found == [(1, "a"), (2, "b"), (2, "c"), (3, None), (None, None)]


@pytest.mark.services
def test_look_ups_by_what_the_database_compares(tables: JdbcTables, postgresql_place: Place) -> None:
    place = postgresql_place
    table = place.create('id UUID, c CHAR(5), "k" INT, "a FROM b" INT')
    place.run(f"INSERT INTO {table} VALUES ('123e4567-e89b-12d3-a456-426614174000', 'ab', 1, 2)")
    name = tables.over(place, table, "id STRING, c STRING, k BIGINT, `a FROM b` INT")
    left = "(SELECT k, PROCTIME() AS p FROM (VALUES {}) AS x(k)) AS l"
    for column, keys, wanted in (
        ("id", "('123E4567-e89b-12d3-a456-426614174000')", 1),
        ("c", "('ab'), ('ab  '), ('x')", 2),
        ("k", "(1), (3000000000)", 1),
    ):
        joined = f"{left.format(keys)} JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.{column} = l.k"
        found = [row for _, row in tables.query(f"SELECT r.`a FROM b` FROM {joined}")]
        assert found == [(2,)] * wanted, column


LOOK = "SELECT * FROM (SELECT k, PROCTIME() AS p FROM (VALUES (1)) AS x(k)) AS l JOIN m FOR SYSTEM_TIME AS OF l.p ON "
READ, WRITE, LOOK = "SELECT * FROM m", "INSERT INTO m VALUES (1, 'x')", f"{LOOK} m.id = l.k"


@pytest.mark.parametrize(
    ("statement", "options", "said"),
    [
        (READ, {"url": "jdbc:other://h/d"}, "'jdbc:other:' is a database that Millrace has no driver for"),
        (READ, {"scan.partition.column": "id"}, "'scan.partition.column' needs 'scan.partition.num', too"),
        (READ, {"lookup.cach": "x"}, "did you mean 'lookup.cache'"),
        (WRITE, {"sink.exactly-once": "perhaps"}, "'sink.exactly-once' is one of off, marks, two-phase, not 'perhaps'"),
        (WRITE, {"sink.max-retries": "-1"}, "'sink.max-retries' is not negative"),
        (WRITE, {"sink.exactly-once": "two-phase"}, "is for tables without PRIMARY KEY"),
        (LOOK, {"lookup.cache": "SOME"}, "'lookup.cache' is NONE, PARTIAL or FULL"),
    ],
)
def test_options_that_cannot_be(tables: JdbcTables, statement: str, options: dict[str, str], said: str) -> None:
    given = {"url": "jdbc:postgresql://nowhere/x", "connector": "jdbc", "table-name": "t", **options}
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    tables.environment.execute_sql(f"CREATE TABLE m ({COLUMNS}) WITH ({shown})")
    with pytest.raises((TableException, ValueError)) as caught:
        tables.insert(statement) if statement == WRITE else tables.query(statement)
    assert said in str(caught.value)


def test_types_that_a_database_does_not_have(tables: JdbcTables) -> None:
    given = "'connector' = 'jdbc', 'url' = 'jdbc:mysql://nowhere/x', 'table-name' = 't'"
    tables.environment.execute_sql(f"CREATE TABLE m (id INT, a ARRAY<INT>) WITH ({given})")
    with pytest.raises(TableException, match="column 'a': MySQL has no columns of type ARRAY<INT>"):
        tables.query("SELECT * FROM m")
