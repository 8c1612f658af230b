"""Every type of every database: what the catalog makes of it, and that values come back as they were."""

from __future__ import annotations

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


def test_the_guide_has_these_tables() -> None:
    text = GUIDE.read_text("utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == tables(), (
        "run python -m tests.connectors.jdbc.type_tables"
    )


@pytest.mark.parametrize("database", list(TYPE_OF))
def test_unknown_types_are_texts(database: str) -> None:
    assert str(TYPE_OF[database]("made_up")) == "STRING"
