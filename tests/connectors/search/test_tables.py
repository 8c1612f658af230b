"""Tables of search indexes: written, read, looked up."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.connectors.search.indexes import Indexes, SearchTables

TYPES = (
    "b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(10, 2), s STRING, y BYTES, day DATE, t TIME(3), "
    "ts TIMESTAMP(3), z TIMESTAMP_LTZ(3), a ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y STRING>"
).replace("day DATE", "`day` DATE")
STRANGE = ["it's", 'say "x"', "back\\slash", "", " ", "\n\t", "ä€😀", "NULL", "{1}", "*", "_id", "a/b?c#d"]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def test_all_types_come_back(tables: SearchTables, indexes: Indexes) -> None:
    name = tables.over(indexes, indexes.new(), TYPES)
    values = (
        "TRUE, 1, CAST(9007199254740993 AS BIGINT), CAST(1.5 AS FLOAT), 2.25E0, 12345678.90, 'text', x'00ff', "
        "DATE '2024-02-29', TIME '12:34:56', TIMESTAMP '2024-02-29 12:34:56.789', "
        "TO_TIMESTAMP_LTZ(1700000000123, 3), ARRAY[1, 2], MAP['k', 7], ROW(1, 'in')"
    )
    tables.insert(f"INSERT INTO {name} SELECT {values}")
    indexes.refresh()
    read, given = tables.rows(f"SELECT * FROM {name}"), tables.rows(f"SELECT {values}")
    assert [tuple(map(str, row)) for row in read] == [tuple(map(str, row)) for row in given]


def test_nulls_and_strange_texts(tables: SearchTables, indexes: Indexes) -> None:
    name = tables.over(indexes, indexes.new(), "id INT, name STRING")
    values = ", ".join(f"({number}, {quoted(text)})" for number, text in enumerate(STRANGE))
    tables.insert(f"INSERT INTO {name} VALUES {values}, (100, CAST(NULL AS STRING))")
    indexes.refresh()
    assert tables.rows(f"SELECT * FROM {name}") == [*enumerate(STRANGE), (100, None)]


def test_strange_texts_as_keys(tables: SearchTables, indexes: Indexes) -> None:
    texts = [text for text in STRANGE if text]
    index = indexes.new()
    name = tables.over(indexes, index, "k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED")
    tables.insert(f"INSERT INTO {name} VALUES " + ", ".join(f"({quoted(text)}, {v})" for v, text in enumerate(texts)))
    assert {id: each["v"] for id, each in indexes.documents(index).items()} == {t: v for v, t in enumerate(texts)}
    left = f"(SELECT k, PROCTIME() AS p FROM (VALUES {', '.join(f'({quoted(text)})' for text in texts)}) AS x(k)) AS l"
    joined = f"SELECT l.k, r.v FROM {left} JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.k = l.k"
    assert sorted(row for _, row in tables.query(joined)) == sorted((text, v) for v, text in enumerate(texts))


@pytest.mark.parametrize("options", [{}, {"sink.upsert": "replace"}, {"sink.version": "external"}], ids=str)
def test_changes_leave_what_a_dictionary_would_have(
    tables: SearchTables, indexes: Indexes, options: dict[str, str]
) -> None:
    index = indexes.new()
    few = {"sink.bulk-flush.max-actions": "7", **options}
    name = tables.over(indexes, index, "k BIGINT, n BIGINT, total BIGINT, PRIMARY KEY (k) NOT ENFORCED", **few)
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
    expected = {str(k): {"k": k, "n": len(v), "total": sum(v)} for k, v in wanted.items() if sum(v) >= 0}
    assert indexes.documents(index) == expected


@pytest.mark.parametrize("options", [{}, {"sink.version": "external"}], ids=str)
def test_rows_that_are_gone_before_they_were_written(
    tables: SearchTables, indexes: Indexes, options: dict[str, str]
) -> None:
    index = indexes.new()
    name = tables.over(indexes, index, "k BIGINT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED", **options)
    tables.insert(
        f"INSERT INTO {name} SELECT k, COUNT(*) FROM (VALUES (1), (2), (1), (2)) AS t(k) GROUP BY k HAVING COUNT(*) < 2"
    )
    assert indexes.documents(index) == {}


def test_fields_of_others_stay_or_go(tables: SearchTables, indexes: Indexes) -> None:
    for how, wanted in (("merge", {"id": 1, "a": 2, "other": "x"}), ("replace", {"id": 1, "a": 2})):
        index = indexes.new()
        indexes.put(index, {"1": {"id": 1, "a": 1, "other": "x"}})
        columns = "id INT, a INT, PRIMARY KEY (id) NOT ENFORCED"
        tables.insert(f"INSERT INTO {tables.over(indexes, index, columns, **{'sink.upsert': how})} VALUES (1, 2)")
        assert indexes.documents(index) == {"1": wanted}


def test_versions_of_a_column(tables: SearchTables, indexes: Indexes) -> None:
    index = indexes.new()
    columns = "id INT, v STRING, at TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED".replace(" at ", " `at` ")
    name = tables.over(indexes, index, columns, **{"sink.version.column": "at"})
    for text, at in (("new", "12:00:00"), ("old", "11:00:00"), ("newest", "12:00:00.001")):
        tables.insert(f"INSERT INTO {name} VALUES (1, '{text}', TIMESTAMP '2024-01-01 {at}')")
        tables.insert(f"INSERT INTO {name} VALUES (2, 'only', TIMESTAMP '2024-01-01 00:00:00')")
    found = {each["_id"]: (each["_source"]["v"], each["_version"]) for each in indexes.hits(index)}
    assert found == {"1": ("newest", 1704110400001), "2": ("only", 1704067200000)}


def test_programs_that_start_again_are_not_too_old(tables: SearchTables, indexes: Indexes) -> None:
    index = indexes.new()
    for value in (1, 2, 3):
        name = tables.over(
            indexes, index, "id INT, v INT, PRIMARY KEY (id) NOT ENFORCED", **{"sink.version": "external"}
        )
        tables.insert(f"INSERT INTO {name} VALUES (1, {value})")
    assert indexes.documents(index) == {"1": {"id": 1, "v": 3}}


def test_indexes_of_days(tables: SearchTables, indexes: Indexes) -> None:
    base = indexes.new()
    columns = "id INT, ts TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED"
    name = tables.over(indexes, f"{base}-{{ts|yyyy.MM.dd}}", columns)
    tables.insert(
        f"INSERT INTO {name} VALUES (1, TIMESTAMP '2024-01-01 10:00:00'), (2, TIMESTAMP '2024-01-02 23:59:59.999')"
    )
    assert set(indexes.documents(f"{base}-2024.01.01")) == {"1"}
    assert set(indexes.documents(f"{base}-2024.01.02")) == {"2"}
    more = "id INT, ts TIMESTAMP(3), i STRING METADATA FROM '_index' VIRTUAL, d STRING METADATA FROM '_id' VIRTUAL"
    both = tables.over(indexes, f"{base}-{{ts|yyyy.MM.dd}}", more)
    assert tables.rows(f"SELECT id, i, d FROM {both}") == [
        (1, f"{base}-2024.01.01", "1"),
        (2, f"{base}-2024.01.02", "2"),
    ]
    assert tables.rows(f"SELECT i FROM {both} WHERE id = 2") == [(f"{base}-2024.01.02",)]


@pytest.mark.parametrize(("slices", "parallelism"), [pytest.param(1, 2, marks=pytest.mark.slow), (5, 2)])
def test_every_document_is_read_once(tables: SearchTables, indexes: Indexes, slices: int, parallelism: int) -> None:
    index = indexes.create({"id": {"type": "long"}}, number_of_shards=3)
    writing = tables.over(indexes, index, "id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED")
    tables.insert(f"INSERT INTO {writing} VALUES " + ", ".join(f"({n}, 'v{n}')" for n in range(500)))
    indexes.refresh()
    options = {"scan.slices": str(slices), "scan.fetch-size": "37"}
    name = tables.over(indexes, index, "id BIGINT, v STRING", **options)
    assert tables.rows(f"SELECT id FROM {name}", parallelism=parallelism) == [(number,) for number in range(500)]
    assert tables.query(f"SELECT COUNT(*) FROM {name}")[-1][1] == (500,)


def test_filters_mean_the_same(tables: SearchTables, indexes: Indexes) -> None:
    index = indexes.create(
        {
            "id": {"type": "long"},
            "k": {"type": "keyword", "ignore_above": 10},
            "t": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 5}}},
            "x": {"type": "text"},
            "d": {"type": "double"},
        }
    )
    rows: list[tuple[Any, ...]] = [
        (1, "a", "word one", "word", 1.5),
        (2, "A", "w", "word", 2.0),
        (3, "far too long for it", "longer", "other", 2.5),
        (4, None, None, None, None),
    ]
    indexes.put(index, {str(row[0]): dict(zip(("id", "k", "t", "x", "d"), row)) for row in rows})
    name = tables.over(indexes, index, "id BIGINT, k STRING, t STRING, x STRING, d DOUBLE")
    for condition, wanted in {
        "k = 'a'": [1],
        "k = 'far too long for it'": [3],
        "t = 'word one'": [1],
        "t = 'longer'": [3],
        "t = 'w'": [2],
        "x = 'word'": [1, 2],
        "k IN ('A', 'b')": [2],
        "k > 'A'": [1, 3],
        "k IS NULL": [4],
        "id >= 2 AND id < 4": [2, 3],
        "id BETWEEN 2 AND 3": [2, 3],
        "3 <= id": [3, 4],
        "d > 1.5": [2, 3],
        "id = 1 OR k = 'A'": [1, 2],
        "id = 1 OR UPPER(k) = 'A'": [1, 2],
        "NOT (id = 1)": [2, 3, 4],
    }.items():
        assert [row[0] for row in tables.rows(f"SELECT id FROM {name} WHERE {condition}")] == wanted, condition


def test_look_ups_by_field(tables: SearchTables, indexes: Indexes) -> None:
    index = indexes.new()
    indexes.put(
        index,
        {
            "a": {"id": 1, "name": "x y", "v": 10},
            "b": {"id": 2, "name": "x", "v": 20},
            "c": {"id": 2, "name": None, "v": 21},
            "d": {"id": 3, "v": 30},
        },
    )
    name = tables.over(indexes, index, "id BIGINT, name STRING, v INT", **{"lookup.cache": "PARTIAL"})
    left = "(SELECT k, PROCTIME() AS p FROM (VALUES (1), (2), (3), (9), (1)) AS x(k)) AS l"
    joined = f"SELECT l.k, r.name, r.v FROM {left} LEFT JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.id = l.k"
    found = sorted((row for _, row in tables.query(joined)), key=repr)
    wanted = [(1, "x y", 10), (1, "x y", 10), (2, "x", 20), (2, None, 21), (3, None, 30), (9, None, None)]
    assert found == sorted(wanted, key=repr)
    left = "(SELECT k, PROCTIME() AS p FROM (VALUES ('x'), ('y'), ('x y')) AS x(k)) AS l"
    joined = f"SELECT l.k, r.v FROM {left} JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.name = l.k"
    assert sorted(row for _, row in tables.query(joined)) == [("x", 20), ("x y", 10)]


def test_look_ups_that_read_all(tables: SearchTables, indexes: Indexes) -> None:
    index = indexes.new()
    indexes.put(index, {"a": {"d": 1.5, "v": 10}, "b": {"d": 2.5, "v": 20}})
    # Which an index cannot be asked for.
    name = tables.over(indexes, index, "d DOUBLE, v INT", **{"lookup.cache": "FULL"})
    left = "(SELECT k, PROCTIME() AS p FROM (VALUES (1.5E0), (9E0)) AS x(k)) AS l"
    joined = f"SELECT l.k, r.v FROM {left} LEFT JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.d = l.k"
    assert sorted(row for _, row in tables.query(joined)) == [(1.5, 10), (9.0, None)]


def test_look_ups_by_a_key_of_two_columns(tables: SearchTables, indexes: Indexes) -> None:
    index = indexes.new()
    columns = "a INT, b DATE, v INT, PRIMARY KEY (b, a) NOT ENFORCED"
    name = tables.over(indexes, index, columns, **{"document-id.key-delimiter": "$"})
    tables.insert(f"INSERT INTO {name} VALUES (1, DATE '2024-01-01', 10), (2, DATE '2024-01-01', 20)")
    assert set(indexes.documents(index)) == {"2024-01-01$1", "2024-01-01$2"}
    left = "(SELECT k, DATE '2024-01-01' AS day1, PROCTIME() AS p FROM (VALUES (1), (2), (3)) AS x(k)) AS l"
    joined = (
        f"SELECT l.k, r.v FROM {left} LEFT JOIN {name} FOR SYSTEM_TIME AS OF l.p AS r ON r.a = l.k AND r.b = l.day1"
    )
    assert sorted(row for _, row in tables.query(joined)) == [(1, 10), (2, 20), (3, None)]
