"""Every type of every database: what the catalog makes of it, and that values come back as they were."""

from __future__ import annotations

from struct import pack, unpack

import pytest
from tests.connectors.jdbc.databases import JdbcTables, Place
from tests.connectors.jdbc.type_tables import BEGIN, END, GUIDE, TYPE_OF, VALUES, tables

DATABASES = {
    "jdbc:postgresql:": "PostgreSQL",
    "jdbc:mariadb:": "MySQL and MariaDB",
    "jdbc:sqlite:": "SQLite",
    "jdbc:duckdb:": "DuckDB",
}


def test_values_come_back(place: Place) -> None:
    programs = JdbcTables()
    database = next(name for prefix, name in DATABASES.items() if place.url.startswith(prefix))
    types = {f"c{number}": native for number, native in enumerate(VALUES[database])}
    values = list(VALUES[database].values())
    for key in ("", ", PRIMARY KEY (id) NOT ENFORCED"):  # rows are appended in another way than replaced
        table = place.create("id INT PRIMARY KEY, " + ", ".join(f"{name} {native}" for name, native in types.items()))
        declared = ", ".join(f"{name} {TYPE_OF[database](native)}" for name, native in types.items())
        name = programs.over(place, table, f"id INT, {declared}{key}")
        nulls = ", ".join(f"CAST(NULL AS {TYPE_OF[database](native)})" for native in types.values())
        made = ", ".join(f"CAST({value} AS {TYPE_OF[database](n)})" for value, n in zip(values, types.values()))
        programs.insert(f"INSERT INTO {name} VALUES (1, {made})")
        programs.insert(f"INSERT INTO {name} VALUES (2, {nulls})")
        stored = place.run(f"SELECT * FROM {table} ORDER BY id")
        assert None not in stored[0]
        assert set(stored[1][1:]) == {None}
        ((_, wanted),) = programs.query(f"SELECT {made}")
        found = programs.rows(f"SELECT * FROM {name} WHERE id = 1")[0][1:]
        for native, one, other in zip(types.values(), found, wanted, strict=True):
            assert one == other, native
        (empty,) = programs.rows(f"SELECT * FROM {name} WHERE id = 2")
        assert set(empty[1:]) == {None}


NO_KEYS = {("PostgreSQL", "json"), ("MySQL and MariaDB", "bit(9)")}
"""PostgreSQL compares no json, and MySQL a BIT with numbers only"""


def test_a_value_is_found_by_itself(place: Place) -> None:
    """What a scan reads is the key that a look-up finds the row by."""
    programs = JdbcTables()
    database = next(name for prefix, name in DATABASES.items() if place.url.startswith(prefix))
    tried = 0
    for native, value in VALUES[database].items():
        kind = TYPE_OF[database](native)
        if (database, native) in NO_KEYS or str(kind).startswith("ARRAY"):
            continue
        name = programs.over(place, place.create(f"id INT PRIMARY KEY, c {native}"), f"id INT, c {kind}")
        programs.insert(f"INSERT INTO {name} VALUES (1, CAST({value} AS {kind}))")
        query = (
            f"SELECT t.id, v.c = t.c FROM (SELECT c, PROCTIME() AS p FROM {name}) AS v LEFT JOIN {name} "
            "FOR SYSTEM_TIME AS OF v.p AS t ON v.c = t.c"
        )
        assert programs.rows(query, parallelism=1) == [(1, True)], native
        tried += 1
    assert tried > 5


FLOATS = (0.1, 16777216.0, 1.2345678, -0.0, 3.4028234663852886e38, 1e-40, -2.5)


def test_a_float_has_all_its_digits(place: Place) -> None:
    """MySQL shows six of them, and takes the largest one with nine for too large."""
    programs = JdbcTables()
    native = "FLOAT" if place.url.startswith(("jdbc:mariadb", "jdbc:duckdb")) else "REAL"
    here, there = (place.create(f"id INT PRIMARY KEY, a {native}, b DOUBLE PRECISION") for _ in range(2))
    exact = [unpack("f", pack("f", value))[0] for value in FLOATS]
    for number, value in enumerate(exact):
        place.run(f"INSERT INTO {here} VALUES ({number}, {value!r}, {value!r})")
    columns = "id INT, a FLOAT, b DOUBLE, PRIMARY KEY (id) NOT ENFORCED"
    source, sink = (programs.over(place, table, columns) for table in (here, there))
    assert len(programs.rows(f"SELECT id FROM {source} WHERE CAST(a AS DOUBLE) = b")) == len(exact)
    programs.insert(f"INSERT INTO {sink} SELECT * FROM {source}")
    same = f"SELECT COUNT(*) FROM {here} AS h JOIN {there} AS t ON h.id = t.id AND h.a = t.a AND h.b = t.b"
    assert list(place.run(same)[0]) == [len(exact)]
    found = programs.rows(
        f"SELECT t.id FROM (SELECT a, PROCTIME() AS p FROM {source}) AS v JOIN {source} "
        "FOR SYSTEM_TIME AS OF v.p AS t ON v.a = t.a",
        parallelism=1,
    )
    assert found == [(number,) for number in range(len(exact))]


def test_the_guide_has_these_tables() -> None:
    text = GUIDE.read_text("utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == tables(), (
        "run python -m tests.connectors.jdbc.type_tables"
    )


@pytest.mark.parametrize("database", list(TYPE_OF))
def test_unknown_types_are_texts(database: str) -> None:
    assert str(TYPE_OF[database]("made_up")) == "STRING"
