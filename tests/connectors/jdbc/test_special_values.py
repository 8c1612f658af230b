"""Values that databases have and Python has not: infinite times, days of no calendar, numbers that are none."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from tests.connectors.jdbc.databases import JdbcTables, Place, of_sqlite

from millrace.relational.rows import python_rows

UTC = dt.timezone.utc
NAMES = "id INT, a DATE, b TIMESTAMP(6), c TIMESTAMP_LTZ(6)"


@pytest.fixture(params=[pytest.param("postgresql_place", marks=pytest.mark.services), "duckdb_place"])
def infinite(request: pytest.FixtureRequest) -> Place:
    place: Place = request.getfixturevalue(request.param)
    return place


def test_infinite_times_are_before_and_after_all_others(tables: JdbcTables, infinite: Place) -> None:
    table = infinite.create("id INT PRIMARY KEY, a DATE, b TIMESTAMP, c TIMESTAMPTZ")
    for number, text in enumerate(("infinity", "2024-01-02", "-infinity")):
        infinite.run(f"INSERT INTO {table} VALUES ({number}, '{text}', '{text}', '{text}')")
    infinite.run(f"INSERT INTO {table} (id) VALUES (3)")
    name = tables.over(infinite, table, f"{NAMES}, PRIMARY KEY (id) NOT ENFORCED")
    day, moment = dt.date(2024, 1, 2), dt.datetime(2024, 1, 2)
    assert sorted(tables.rows(f"SELECT * FROM {name}"), key=lambda row: row[0]) == [
        (0, dt.date.max, dt.datetime.max, dt.datetime.max.replace(tzinfo=UTC)),
        (1, day, moment, moment.replace(tzinfo=UTC)),
        (2, dt.date.min, dt.datetime.min, dt.datetime.min.replace(tzinfo=UTC)),
        (3, None, None, None),
    ]
    for column in ("a", "b", "c"):
        top = f"SELECT id, ROW_NUMBER() OVER (ORDER BY {column} DESC) AS n FROM {name} WHERE {column} IS NOT NULL"
        assert tables.rows(f"SELECT id FROM ({top}) WHERE n = 1") == [(0,)]
        later = tables.rows(f"SELECT id FROM {name} WHERE {column} > (SELECT MAX(TIMESTAMP '2000-01-01 00:00:00'))")
        assert sorted(later) == [(0,), (1,)]


FAR = [("a DATE", "a DATE"), ("a TIMESTAMP", "a TIMESTAMP(6)"), ("a TIMESTAMPTZ", "a TIMESTAMP_LTZ(6)")]


@pytest.mark.parametrize(("native", "declared"), FAR)
@pytest.mark.parametrize("year", ["-0043", "12345"])
def test_years_that_python_has_not(tables: JdbcTables, infinite: Place, native: str, declared: str, year: str) -> None:
    """Plans read them and compute with them; where Python's values are needed, the column and the value are named."""
    table = infinite.create(f"id INT PRIMARY KEY, {native}")
    is_duckdb = infinite.url.startswith("jdbc:duckdb")
    day = "12345-01-02" if year == "12345" else "0044-01-02 (BC)" if is_duckdb else "0044-01-02"
    clock = "" if "DATE" in native else " 03:04:05.123456" + ("+00" if "TZ" in native else "")
    end = " BC" if year != "12345" and not is_duckdb else ""
    infinite.run(f"INSERT INTO {table} VALUES (1, '{day}{clock}{end}')")
    name = tables.over(infinite, table, f"id INT, {declared}")
    shown = f"{year}-01-02" + ("" if "DATE" in native else " 03:04:05.123456")
    assert tables.rows(f"SELECT CAST(a AS STRING) FROM {name}") == [(shown,)]
    assert tables.rows(f"SELECT id FROM {name} WHERE a IS NOT NULL") == [(1,)]
    plan = tables.environment.sql_query(f"SELECT id, a FROM {name}")._plan
    (rows,) = tables._run([plan], 1).collected
    with pytest.raises(OverflowError, match=rf"column 'a': .*{year.replace('-0', '-')}.*CAST it to STRING"):
        python_rows(rows, plan.schema)
    asked = "(SELECT id, PROCTIME() AS p FROM (VALUES (1)) AS v(id)) AS v"
    query = f"SELECT t.a FROM {asked} JOIN {name} FOR SYSTEM_TIME AS OF v.p AS t ON v.id = t.id"
    with pytest.raises(Exception, match=r"column 'a': it has '\d+-01-02.*Python has the years 1 to 9999"):
        tables.rows(query)


def test_years_that_python_has_not_in_sqlite(tables: JdbcTables, tmp_path: Path) -> None:
    place = of_sqlite(str(tmp_path / "x.db"))
    table = place.create("id INT PRIMARY KEY, a DATE")
    place.run(f"INSERT INTO {table} VALUES (1, '12345-01-02')")
    name = tables.over(place, table, "id INT, a DATE")
    with pytest.raises(Exception, match=r"column 'a' has '12345-01-02'.*Python has the years 1 to 9999"):
        tables.rows(f"SELECT a FROM {name}")


def test_looked_up_infinite_times(tables: JdbcTables, infinite: Place) -> None:
    table = infinite.create("id INT PRIMARY KEY, a DATE, b TIMESTAMP, c TIMESTAMPTZ")
    infinite.run(f"INSERT INTO {table} VALUES (1, 'infinity', '-infinity', 'infinity')")
    name = tables.over(infinite, table, f"{NAMES}, PRIMARY KEY (id) NOT ENFORCED")
    asked = "(SELECT id, PROCTIME() AS p FROM (VALUES (1)) AS v(id)) AS v"
    query = f"SELECT t.a, t.b, t.c FROM {asked} JOIN {name} FOR SYSTEM_TIME AS OF v.p AS t ON v.id = t.id"
    assert tables.rows(query) == [(dt.date.max, dt.datetime.min, dt.datetime.max.replace(tzinfo=UTC))]


@pytest.mark.services
@pytest.mark.parametrize("looked_up", [False, True])
def test_infinite_times_in_arrays(tables: JdbcTables, postgresql_place: Place, looked_up: bool) -> None:
    table = postgresql_place.create("id INT PRIMARY KEY, a DATE[], b TIMESTAMP[], c TIMESTAMPTZ[]")
    rows = {1: "{infinity,2024-01-02,NULL,-infinity}", 2: "{}", 3: None, 4: "{2024-01-02}", 5: "{NULL}"}
    for number, text in rows.items():
        value = "NULL" if text is None else f"'{text}'"
        postgresql_place.run(f"INSERT INTO {table} VALUES ({number}, {value}, {value}, {value})")
    columns = "id INT, a ARRAY<DATE>, b ARRAY<TIMESTAMP(6)>, c ARRAY<TIMESTAMP_LTZ(6)>, PRIMARY KEY (id) NOT ENFORCED"
    name = tables.over(postgresql_place, table, columns)
    query = f"SELECT * FROM {name}"
    if looked_up:
        asked = "(SELECT id, PROCTIME() AS p FROM (VALUES (1), (2), (3), (4), (5)) AS v(id)) AS v"
        query = f"SELECT t.* FROM {asked} JOIN {name} FOR SYSTEM_TIME AS OF v.p AS t ON v.id = t.id"
    moment = dt.datetime(2024, 1, 2)
    ends: list[tuple[Any, ...]] = [
        (dt.date.max, dt.date(2024, 1, 2), None, dt.date.min),
        (dt.datetime.max, moment, None, dt.datetime.min),
    ]
    ends.append(tuple(each if each is None else each.replace(tzinfo=UTC) for each in ends[1]))
    found = {row[0]: [None if each is None else tuple(each) for each in row[1:]] for row in tables.rows(query)}
    assert found == {
        1: ends,
        2: [(), (), ()],
        3: [None, None, None],
        4: [(each[1],) for each in ends],
        5: [(None,), (None,), (None,)],
    }


@pytest.mark.services
def test_a_number_that_is_none(tables: JdbcTables, postgresql_place: Place) -> None:
    table = postgresql_place.create("id INT PRIMARY KEY, d NUMERIC")
    postgresql_place.run(f"INSERT INTO {table} VALUES (1, 'NaN')")
    name = tables.over(postgresql_place, table, "id INT, d DECIMAL(10, 2)")
    with pytest.raises(Exception, match=rf"table {table}: column d has a value that is no DECIMAL.*NaN.*as DOUBLE"):
        tables.rows(f"SELECT * FROM {name}")
    floats = tables.over(postgresql_place, table, "id INT, d DOUBLE")
    assert tables.rows(f"SELECT CAST(d AS STRING) FROM {floats}") == [("NaN",)]


ZEROS = {"CONVERT_TO_NULL": (None, None, None), "round": (dt.date.min, dt.datetime.min, dt.datetime.min)}


@pytest.fixture
def zeros(mariadb_place: Place) -> str:
    table = mariadb_place.create("id INT PRIMARY KEY, a DATE, b DATETIME(6), c DATETIME")
    lax = "SET STATEMENT sql_mode = 'ALLOW_INVALID_DATES' FOR"
    mariadb_place.run(f"{lax} INSERT INTO {table} VALUES (1, '0000-00-00', '0000-00-00', '2024-02-31')")
    mariadb_place.run(f"INSERT INTO {table} VALUES (2, '2024-01-02', '2024-01-02', '2024-01-02')")
    return table


@pytest.mark.services
@pytest.mark.parametrize("behavior", list(ZEROS))
def test_days_that_are_in_no_calendar(tables: JdbcTables, mariadb_place: Place, zeros: str, behavior: str) -> None:
    url = f"{mariadb_place.url}?zeroDateTimeBehavior={behavior}"
    place = Place(url, lambda: None, mariadb_place.user, mariadb_place.password)
    name = tables.over(place, zeros, "id INT, a DATE, b TIMESTAMP(6), c TIMESTAMP(6)")
    day: Any = (dt.date(2024, 1, 2), *[dt.datetime(2024, 1, 2)] * 2)
    assert sorted(tables.rows(f"SELECT * FROM {name}"), key=lambda row: row[0]) == [(1, *ZEROS[behavior]), (2, *day)]


@pytest.mark.services
def test_what_to_do_about_days_that_are_in_no_calendar(tables: JdbcTables, mariadb_place: Place, zeros: str) -> None:
    name = tables.over(mariadb_place, zeros, "id INT, a DATE, b TIMESTAMP(6), c TIMESTAMP(6)")
    with pytest.raises(Exception, match=r"has '0000-00-00', which is no DATE: .*'zeroDateTimeBehavior' = 'CONVERT_TO"):
        tables.rows(f"SELECT * FROM {name}")
    place = Place(f"{mariadb_place.url}?zeroDateTimeBehavior=x", lambda: None, "u", "p")
    wrong = tables.over(place, zeros, "id INT, a DATE")
    with pytest.raises(Exception, match=r"EXCEPTION, CONVERT_TO_NULL or ROUND, not 'x'"):
        tables.rows(f"SELECT * FROM {wrong}")
