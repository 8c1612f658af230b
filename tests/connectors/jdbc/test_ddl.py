"""Tables that are made, changed and emptied, in each kind of database; what is there is asked of the database."""

from __future__ import annotations

import uuid
from contextlib import closing
from typing import Any

import pytest
from tests.connectors.jdbc.databases import Place

from millrace.connectors.jdbc.ddl import Ddl, NewColumn, ddl_of
from millrace.connectors.jdbc.jdbc_database import metadata_of, parse_url
from millrace.table.sql.grammar.parser import parse_type

TYPES = {
    "id": "INT", "b": "BOOLEAN", "t": "TINYINT", "s": "SMALLINT", "l": "BIGINT", "f": "FLOAT", "d": "DOUBLE",
    "n": "DECIMAL(12, 3)", "c": "CHAR(3)", "v": "VARCHAR(20)", "x": "STRING", "y": "BYTES", "dt": "DATE",
    "tm": "TIME(0)", "ts": "TIMESTAMP(6)", "tz": "TIMESTAMP_LTZ(3)",
}  # fmt: skip


class Tables:
    def __init__(self, place: Place) -> None:
        self.dialect, self.target = parse_url(place.url, place.user, place.password)
        self.ddl: Ddl = ddl_of(self.dialect)
        self.name = f"t_{uuid.uuid4().hex[:10]}"

    def do(self, statements: list[str]) -> None:
        with closing(self.dialect.connect(self.target)) as connection:
            self.ddl.run(connection, statements)
            connection.commit()

    def columns(self) -> dict[str, Any]:
        with closing(self.dialect.connect(self.target)) as connection:
            names = self.ddl.columns(connection, self.name)
            found = metadata_of(self.dialect).columns(connection, self.name)
            assert names == [each.name for each in found]
            return {each.name: each for each in found}

    def key(self) -> tuple[str, ...]:
        with closing(self.dialect.connect(self.target)) as connection:
            found = metadata_of(self.dialect).key(connection, self.name)
            return () if found is None else found.columns


@pytest.fixture
def made(place: Place) -> Tables:
    tables = Tables(place)
    columns = [NewColumn(name, parse_type(kind)) for name, kind in TYPES.items()]
    tables.do(tables.ddl.create(tables.name, columns, ["id", "v"], {}))
    tables.do(tables.ddl.create(tables.name, columns, ["id", "v"], {}))  # which changes nothing
    return tables


def test_a_table(made: Tables) -> None:
    found = made.columns()
    assert list(found) == list(TYPES) and made.key() == ("id", "v")
    assert {name for name, each in found.items() if not each.type.is_nullable} == {"id", "v"}
    if made.dialect.title != "SQLite":
        # What is read is the type that was asked for, or the next wider one.
        wider = {"t": "SMALLINT"} if made.dialect.title == "PostgreSQL" else {}
        wider |= {"tz": "TIMESTAMP_LTZ(3)"}
        if made.dialect.title == "DuckDB":
            wider = {"c": "STRING", "v": "STRING", "tm": "TIME(6)", "tz": "TIMESTAMP_LTZ(6)"}
        expected = {name: parse_type(wider.get(name, kind)) for name, kind in TYPES.items()}
        assert {name: each.type.nullable() for name, each in found.items()} == expected


def test_changes(made: Tables) -> None:
    ddl, name = made.ddl, made.name
    made.do(ddl.add(name, NewColumn("more", parse_type("INT NOT NULL"), default="7")))
    made.do(ddl.rename(name, "x", "text"))
    if made.dialect.title == "DuckDB":  # which keeps columns that stand before one of the key
        with pytest.raises(Exception, match="an index depends on a column after it"):
            made.do(ddl.drop(name, "b"))
        made.do(ddl.drop_table(name))
        return
    made.do(ddl.drop(name, "b"))
    made.do(ddl.alter(name, NewColumn("s", parse_type("BIGINT")), False))
    found = made.columns()
    assert set(found) == set(TYPES) - {"x", "b"} | {"text", "more"}
    assert found["s"].type.nullable() == parse_type("BIGINT") or made.dialect.title == "SQLite"
    made.do(ddl.truncate(name))
    made.do(ddl.drop_table(name))
    made.do(ddl.drop_table(name))
    assert made.columns() == {}


@pytest.mark.services
def test_types_that_only_postgresql_has(postgresql_place: Place) -> None:
    tables = Tables(postgresql_place)
    natives = ["uuid", "jsonb", "numeric", "inet", "uuid[]", "my_enum"]
    columns = [NewColumn(f"c{at}", parse_type("STRING"), native) for at, native in enumerate(natives)]
    tables.name = f"s_{uuid.uuid4().hex[:8]}.t"
    tables.do([*tables.ddl.schema(tables.name), *tables.ddl.create(tables.name, columns, [], {})])
    assert [each.native for each in tables.columns().values()] == [*natives[:-1], "text"]


def test_options_of_a_table(place: Place) -> None:
    tables = Tables(place)
    columns = [NewColumn("id", parse_type("STRING"))]
    if "mysql" not in place.url and "mariadb" not in place.url:
        with pytest.raises(ValueError, match="have no option 'engine'"):
            tables.ddl.create(tables.name, columns, ["id"], {"engine": "InnoDB"})
        return
    tables.do(tables.ddl.create(tables.name, columns, ["id"], {"engine": "InnoDB", "comment": "it's mine"}))
    assert tables.columns()["id"].native == "varchar(255)"
    with pytest.raises(ValueError, match="have no option 'data directory'"):
        tables.ddl.create(tables.name, columns, ["id"], {"data directory": "/"})


@pytest.mark.parametrize(
    ("default", "constant"),
    [("7", "7"), ("-1.5", "-1.5"), ("'a''b'::text", "'a''b'::text"), ("true", "true"),
     ("nextval('s'::regclass)", None), ("now()", None), ("1); DROP TABLE x", None), (None, None)],
)  # fmt: skip
def test_defaults_that_are_constants(default: str | None, constant: str | None) -> None:
    assert NewColumn("a", parse_type("INT"), "", default).constant == constant
