"""Keys, values and headers of records are doors, too: with a broker, values of one type are the same through each of
them, whatever format they are in and whoever wrote them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.connectors.kafka.topics import Topics
from tests.connectors.tables.kafka.topic_tables import BOUNDED, Tables
from tests.table.programs.running import changes_in
from tests.table.test_doors_of_formats import SORTS, Room, Sort, printed, several

pytestmark = pytest.mark.services

KEYED = "'key.format' = '{}', 'key.fields' = 'a', 'value.format' = 'json', 'value.fields-include' = 'EXCEPT_KEY'"
NULLS = ", 'key.csv.null-literal' = 'NULL'"
NO_CASTS = ("BYTES", "BINARY(2)")
"""types of which a header's bytes are the value"""


def rows_of(tables: Tables, sql: str) -> list[tuple[Any, ...]]:
    """What a query gives, exactly as it is; without what is taken back."""
    plan = tables.environment.sql_query(sql)._plan
    run = tables._run([plan], 1)
    return [tuple(row) for kind, row in changes_in(run.collected, plan.schema, tuple) if kind in (0, 2)]


class Doors:
    """A topic for each door."""

    def __init__(self, tables: Tables, room: Room) -> None:
        self._tables, self._room = tables, room
        self.queries: dict[str, str] = {}

    def add(self, name: str, columns: str, options: str, records: list[Any], query: str, **more: Any) -> None:
        topic = self._tables.topics.create(1)
        for number, (key, value) in enumerate(records):
            given = {each: values[number] for each, values in more.items() if values[number] is not None}
            self._tables.topics.write(topic, [(key, value, 0)], **given)
        self.over(name, topic, columns, options, query)

    def over(self, name: str, topic: str, columns: str, options: str, query: str) -> None:
        table = f"door_{len(self.queries)}"
        self._tables.create(table, columns, topic, f"{options}, {BOUNDED}")
        self.queries[name] = query.format(table)

    def all(self) -> None:
        room, kind = self._room, self._room.sort.name
        values = room.values
        columns, read = f"a {kind}, n INT", "SELECT a FROM {}"
        rows = [json.dumps({"n": number}).encode() for number in range(len(values))]
        texts = [f'{{"a":{room.json(each)}}}'.encode() for each in values]
        self.add("keys in JSON", columns, KEYED.format("json"), list(zip(texts, rows)), read)
        lines = [b"NULL" if each is None else f'"{room.text(each)}"'.encode() for each in values]
        self.add("keys in CSV", columns, KEYED.format("csv") + NULLS, list(zip(lines, rows)), read)
        self.add("values in JSON", f"a {kind}", "'format' = 'json'", [(b"k", each) for each in texts], read)
        content = "h['a']" if kind in NO_CASTS else "CAST(h['a'] AS STRING)"
        headers = [None if each is None else [("a", self._header(each))] for each in values]
        columns, query = "n INT, h MAP<STRING, BYTES> METADATA FROM 'headers'", f"SELECT CAST({content} AS {kind}) AS a"
        records = [(b"k", each) for each in rows]
        self.add("headers", columns, "'format' = 'json'", records, query + " FROM {}", headers=headers)
        self._written(kind)

    def _header(self, value: Any) -> bytes:
        """As CAST reads it, which has no zones: that of the session is UTC."""
        return value if isinstance(value, bytes) else self._room.sort.texts(value)[0].removesuffix("Z").encode()

    def _written(self, kind: str) -> None:
        """What a table writes as key in JSON and CSV, it reads again."""
        before = self.queries["keys in JSON"]
        for format in ("json", "csv"):
            topic = self._tables.topics.create(1)
            options = KEYED.format(format) + (NULLS if format == "csv" else "")
            self._tables.create(f"to_{topic.replace('-', '_')}", f"a {kind}, n INT", topic, options)
            self._tables.insert(f"INSERT INTO to_{topic.replace('-', '_')} SELECT a, 1 FROM ({before})", 1)
            self.over(f"written {format}", topic, f"a {kind}, n INT", options, "SELECT a FROM {}")


@pytest.mark.draw(3)
@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.name)
@settings(
    max_examples=1, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), chosen=st.integers(0, 5))
def test_values_of_all_doors_are_one(
    topics: Topics, tmp_path_factory: pytest.TempPathFactory, sort: Sort, data: st.DataObject, chosen: int
) -> None:
    tables = Tables(topics)
    tables.environment.get_config().set_local_timezone("UTC")
    values = data.draw(st.lists(st.none() | sort.raw, min_size=6, max_size=9).filter(several))
    doors = Doors(tables, Room(tables, tmp_path_factory.mktemp("doors"), sort, values, chosen))  # type: ignore[arg-type]
    doors.all()
    wanted = Counter(printed(None if each is None else sort.wanted(each)) for each in values)
    for name, query in doors.queries.items():
        found = Counter(printed(row[0]) for row in rows_of(tables, query))
        assert found == wanted, name
    union = " UNION ALL ".join(doors.queries.values())
    grouped = rows_of(tables, f"SELECT a, COUNT(*) FROM ({union}) GROUP BY a")
    groups = {printed(value): count for value, count in grouped}
    assert groups == {value: count * len(doors.queries) for value, count in wanted.items()}
