"""Through every format, database and folder the values of one type are the same: what prints alike is one group,
whichever door it came through and however it was written there."""

from __future__ import annotations

import base64
import datetime as dt
import itertools
import json
import math
import sqlite3
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.connectors.tables.message_tables import MessageTables
from tests.table.programs.running import changes_in

from millrace.connectors.jdbc.duckdb import FileConnection
from millrace.connectors.tables.values_table import clear_values, register_values

UTC = dt.timezone.utc
NANS = {"f": (0x7FC00000, 0xFFC00001, 0x7FC12345), "d": (0x7FF8000000000000, 0xFFF8000000000001, 0x7FF8000012345678)}
_numbers = itertools.count()


@dataclass(frozen=True)
class Sort:
    """Values of a type.

    :ivar raw: what is written: values finer than the type.
    :ivar wanted: by the definition of the type.
    :ivar texts: ways to write one in text.
    """

    name: str
    raw: st.SearchStrategy[Any]
    wanted: Callable[[Any], Any]
    texts: Callable[[Any], list[str]]
    bare: bool = False
    """whether it may stand in JSON without quotes"""
    finer: str = ""
    """the type as databases have it"""


def _same(value: Any) -> Any:
    return value


def _float(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]  # type: ignore[no-any-return]


def _floor(digits: int) -> Callable[[Any], Any]:
    return lambda value: value.replace(microsecond=int(f"{value.microsecond:06d}"[:digits].ljust(6, "0")))


def _quantized(scale: int) -> Callable[[Decimal], Decimal]:
    return lambda value: value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _decimal_texts(value: Decimal) -> list[str]:
    plain = format(value, "f")
    longer = f"{plain}00" if "." in plain else f"{plain}.00"
    return [plain, longer, f"{value.scaleb(2):f}e-2" if "." not in f"{value.scaleb(2):f}" else plain]


def _moment_texts(value: dt.datetime) -> list[str]:
    return [value.isoformat(" "), value.isoformat(" ", "microseconds"), value.isoformat(" ", "microseconds") + "000"]


def _clock_texts(value: dt.time) -> list[str]:
    return [value.isoformat("microseconds"), value.isoformat("microseconds") + "999"]


FLOATS = st.sampled_from([0.1, 0.10000000149011612, 1.5, 16777217.0, 16777216.0, -0.0, 0.0, 1e-50, -2.25])
MOMENTS = st.sampled_from([
    dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(1969, 12, 31, 23, 59, 59),
    dt.datetime(2024, 2, 29, 12, 0, 0, 123_456), dt.datetime(2024, 2, 29, 12, 0, 0, 123_999),
    dt.datetime(2024, 2, 29, 12, 0), dt.datetime(2024, 2, 29, 12, 0, 0, 100_000),
])  # fmt: skip
CLOCKS = st.sampled_from([dt.time(0), dt.time(0, 0, 0, 999), dt.time(12, 30, 0, 123_456), dt.time(12, 30, 0, 123_000)])
SORTS = [
    Sort("BOOLEAN", st.booleans(), _same, lambda value: [str(value).lower()], True, "BOOLEAN"),
    Sort("TINYINT", st.sampled_from([-128, 127, 0, 1]), _same, lambda value: [str(value)], True, "SMALLINT"),
    Sort("SMALLINT", st.sampled_from([-(2**15), 2**15 - 1, 0]), _same, lambda value: [str(value)], True, "SMALLINT"),
    Sort("INT", st.sampled_from([-(2**31), 2**31 - 1, 0]), _same, lambda value: [str(value)], True, "INT"),
    Sort("BIGINT", st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1]), _same, lambda v: [str(v)], True, "BIGINT"),
    Sort("FLOAT", FLOATS, _float, lambda value: [repr(value), f"{value:.30f}"], True, "DOUBLE"),
    Sort("DOUBLE", FLOATS, _same, lambda value: [repr(value), f"{value:.60f}"], True, "DOUBLE"),
    *(
        Sort(
            f"DECIMAL({precision}, {scale})",
            st.sampled_from([Decimal(each) for each in ("1", "1.0", "1.00", "-0.00", "0", "1.005", "1.0049", "-2.5")]),
            _quantized(scale), _decimal_texts, True, "DECIMAL(38, 10)",
        )
        for precision, scale in ((5, 2), (10, 0), (38, 18))
    ),
    Sort("VARCHAR(4)", st.sampled_from(["a", "a ", "", "abcd"]), _same, lambda value: [value], finer="VARCHAR"),
    Sort("STRING", st.sampled_from(["a", "a ", "", "ä", "a\u0308"]), _same, lambda value: [value], finer="VARCHAR"),
    Sort("CHAR(3)", st.sampled_from(["abc", "ab ", "   "]), _same, lambda value: [value], finer="VARCHAR"),
    Sort(
        "BYTES", st.sampled_from([b"", b"\0", b"\0\0", b"a\xff"]), _same,
        lambda value: [_base64(value)], finer="BLOB"),
    Sort("BINARY(2)", st.sampled_from([b"\0\0", b"a\0"]), _same, lambda v: [_base64(v)], finer="BLOB"),
    Sort(
        "DATE", st.sampled_from([dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)]), _same,
        lambda value: [value.isoformat()], finer="DATE"),
    *(Sort(f"TIME({digits})", CLOCKS, _floor(digits), _clock_texts, finer="TIME") for digits in (0, 3)),
    *(Sort(f"TIMESTAMP({n})", MOMENTS, _floor(n), _moment_texts, finer="TIMESTAMP") for n in (0, 1, 3, 6)),
    *(
        Sort(
            f"TIMESTAMP_LTZ({digits})", MOMENTS.map(lambda value: value.replace(tzinfo=UTC)), _floor(digits),
            lambda value: [each + "Z" for each in _moment_texts(value.replace(tzinfo=None))], finer="TIMESTAMPTZ")
        for digits in (0, 3)
    ),
]  # fmt: skip


@dataclass
class Room:
    """Where doors write, and how they choose among the ways to write a value."""

    tables: MessageTables
    folder: Path
    sort: Sort
    values: Sequence[Any]
    chosen: int

    def __post_init__(self) -> None:
        self._at = self.chosen

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """What a query gives, exactly as it is."""
        plan = self.tables.environment.sql_query(sql)._plan
        run = self.tables._run([plan], 1)
        return [tuple(row) for kind, row in changes_in(run.collected, plan.schema, tuple) if kind in (0, 2)]

    def text(self, value: Any) -> str:
        ways = self.sort.texts(value)
        self._at += 1
        return ways[self._at % len(ways)]

    def json(self, value: Any) -> str:
        """A value in JSON."""
        if value is None:
            return "null"
        return self.text(value) if self.sort.bare and self._at % 3 else json.dumps(self.text(value))

    def table(self, options: dict[str, str], more: str = "") -> str:
        name = f"t{next(_numbers)}"
        given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        self.tables.environment.execute_sql(f"CREATE TABLE {name} (a {self.sort.name}{more}) WITH ({given})")
        return f"SELECT a FROM {name}"

    def files(self, format: str, **options: str) -> str:
        more = {f"{format}.{key.replace('_', '-')}": value for key, value in options.items()}
        return self.table({"connector": "filesystem", "path": str(self.folder / format), "format": format, **more})

    def lines(self, format: str, lines: Iterator[str], **options: str) -> str:
        (self.folder / format).mkdir()
        (self.folder / format / "x").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return self.files(format, **options)


Door = Callable[[Room], "str | None"]
DOORS: dict[str, Door] = {}


def door(make: Door) -> Door:
    DOORS[make.__name__] = make
    return make


@door
def literals(room: Room) -> str | None:
    name = f"t{next(_numbers)}"
    register_values(name, [(each,) for each in room.values])
    return room.table({"connector": "values", "data-id": name})


@door
def json_lines(room: Room) -> str | None:
    return room.lines("json", (f'{{"a":{room.json(each)}}}' for each in room.values))


@door
def csv(room: Room) -> str | None:
    def lines() -> Iterator[str]:
        for each in room.values:
            yield "NULL" if each is None else f'"{room.text(each)}"'

    return room.lines("csv", lines(), null_literal="NULL")


@door
def csv_of_its_own(room: Room) -> str | None:
    """Other signs around the values."""

    def lines() -> Iterator[str]:
        for each in room.values:
            yield "~" if each is None else f"!{room.text(each)}!"

    (room.folder / "own").mkdir()
    (room.folder / "own" / "x").write_text("".join(f"{line}\n" for line in lines()), "utf-8")
    options = {"quote-character": "!", "field-delimiter": ";", "null-literal": "~", "ignore-parse-errors": "false"}
    return room.table({
        "connector": "filesystem", "path": str(room.folder / "own"), "format": "csv",
        **{f"csv.{key}": value for key, value in options.items()},
    })  # fmt: skip


@door
def debezium(room: Room) -> str | None:
    line = '{{"before":null,"after":{{"a":{}}},"op":"c"}}'
    return room.lines("debezium-json", (line.format(room.json(each)) for each in room.values))


@door
def canal(room: Room) -> str | None:
    line = '{{"data":[{{"a":{}}}],"type":"INSERT"}}'
    return room.lines("canal-json", (line.format(room.json(each)) for each in room.values))


@door
def maxwell(room: Room) -> str | None:
    line = '{{"data":{{"a":{}}},"type":"insert"}}'
    return room.lines("maxwell-json", (line.format(room.json(each)) for each in room.values))


@door
def ogg(room: Room) -> str | None:
    line = '{{"before":null,"after":{{"a":{}}},"op_type":"I"}}'
    return room.lines("ogg-json", (line.format(room.json(each)) for each in room.values))


@door
def changelog(room: Room) -> str | None:
    return room.lines("changelog-json", (f'{{"op":"+I","data":{{"a":{room.json(each)}}}}}' for each in room.values))


ARROW = {
    "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "VARCHAR": pa.string(), "STRING": pa.string(), "CHAR": pa.string(),
    "BYTES": pa.binary(), "BINARY": pa.binary(), "DATE": pa.date32(), "TIME": pa.time64("us"),
    "TIMESTAMP": pa.timestamp("us"), "TIMESTAMP_LTZ": pa.timestamp("us", "UTC"),
}  # fmt: skip


def arrow_column(sort: Sort, values: Sequence[Any]) -> pa.Array:
    """The values as files have them: times in microseconds whatever the table says."""
    head, _, digits = sort.name.partition("(")
    if head != "DECIMAL":
        return pa.array(values, ARROW[head])
    precision, scale = map(int, digits[:-1].split(", "))
    return pa.array([None if each is None else sort.wanted(each) for each in values], pa.decimal128(precision, scale))


@door
def parquet(room: Room) -> str | None:
    (room.folder / "parquet").mkdir()
    pq.write_table(pa.table({"a": arrow_column(room.sort, room.values)}), room.folder / "parquet" / "x")
    return room.files("parquet")


@door
def orc(room: Room) -> str | None:
    if room.sort.name.startswith("TIME("):
        return None
    (room.folder / "orc").mkdir()
    pyarrow.orc.write_table(pa.table({"a": arrow_column(room.sort, room.values)}), room.folder / "orc" / "x")
    return room.files("orc")


def avro_type(sort: Sort) -> Any:
    head = sort.name.partition("(")[0]
    logical = {
        "DATE": ("int", "date"), "TIME": ("long", "time-micros"),
        "TIMESTAMP": ("long", "local-timestamp-micros"), "TIMESTAMP_LTZ": ("long", "timestamp-micros"),
    }  # fmt: skip
    if head in logical:
        base, kind = logical[head]
        return {"type": base, "logicalType": kind}
    if head == "DECIMAL":
        return {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10}
    plain = {"BOOLEAN": "boolean", "BIGINT": "long", "FLOAT": "float", "DOUBLE": "double", "BYTES": "bytes"}
    return {"BINARY": "bytes", "VARCHAR": "string", "STRING": "string", "CHAR": "string"}.get(head) or plain.get(
        head, "int"
    )


@door
def avro(room: Room) -> str | None:
    import fastavro

    (room.folder / "avro").mkdir()
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", avro_type(room.sort)]}]}
    with (room.folder / "avro" / "x").open("wb") as file:
        fastavro.writer(file, schema, [{"a": each} for each in room.values])
    return room.table({
        "connector": "filesystem", "path": str(room.folder / "avro"), "format": "avro",
        "avro.timestamp_mapping.legacy": "false",
    })  # fmt: skip


def _stored(value: Any) -> Any:
    """A value as SQLite has it."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else value


def _jdbc(room: Room, kind: str, path: Path) -> str:
    return room.table({"connector": "jdbc", "url": f"jdbc:{kind}:{path}", "table-name": "x"})


@door
def sqlite(room: Room) -> str | None:
    path = room.folder / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE x (a {room.sort.finer})")
        connection.executemany("INSERT INTO x VALUES (?)", [(_stored(each),) for each in room.values])
        connection.commit()
    return _jdbc(room, "sqlite", path)


@door
def duckdb(room: Room) -> str | None:
    path = room.folder / "x.duckdb"
    connection: Any = FileConnection(str(path), 30.0)
    with closing(connection), closing(connection.cursor()) as cursor:
        cursor.execute(f"CREATE TABLE x (a {room.sort.finer})")
        for each in room.values:
            cursor.execute("INSERT INTO x VALUES (?)", [each])
        connection.commit()
    return _jdbc(room, "duckdb", path)


def printed(value: Any) -> Any:
    """One form for values that are one key."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0 if value else 0.0
    return value


def several(values: Sequence[Any]) -> bool:
    """Whether there are different values; the first that Hypothesis draws are all the same."""
    return len(set(map(repr, values))) > 2


@pytest.fixture(autouse=True)
def no_values() -> Iterator[None]:
    yield
    clear_values()


@pytest.mark.draw(4)
@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.name)
@settings(
    max_examples=3, deadline=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data(), chosen=st.integers(0, 5))
def test_values_of_all_doors_are_one(
    tmp_path_factory: pytest.TempPathFactory, sort: Sort, data: st.DataObject, chosen: int
) -> None:
    values = data.draw(st.lists(st.none() | sort.raw, min_size=1, max_size=6))
    room = Room(MessageTables(), tmp_path_factory.mktemp("doors"), sort, values, chosen)
    wanted = Counter(printed(None if each is None else sort.wanted(each)) for each in values)
    queries = {}
    for name, make in DOORS.items():
        query = make(room)
        if query is not None:
            found = [row[0] for row in room.query(query)]
            assert Counter(map(printed, found)) == wanted, f"{name}: {found}"
            queries[name] = query
    union = " UNION ALL ".join(queries.values())
    groups: dict[Any, int] = {}
    for value, count in room.query(f"SELECT a, COUNT(*) FROM ({union}) GROUP BY a"):
        groups[printed(value)] = count
    assert groups == {value: count * len(queries) for value, count in wanted.items()}


NESTED = "ROW<t TIMESTAMP(0), f FLOAT, d DECIMAL(5, 2), l ARRAY<TIMESTAMP(1)>, m MAP<STRING, TIMESTAMP_LTZ(3)>>"
DECIMALS = st.sampled_from([Decimal(each) for each in ("1.005", "1.01", "2", "-0.00")])
PARTS = st.fixed_dictionaries({
    "t": st.none() | MOMENTS, "f": st.none() | FLOATS, "d": st.none() | DECIMALS,
    "l": st.none() | st.lists(st.none() | MOMENTS, max_size=3),
    "m": st.none() | st.dictionaries(st.sampled_from("ab"), MOMENTS.map(lambda value: value.replace(tzinfo=UTC))),
})  # fmt: skip


def _nested(value: dict[str, Any] | None) -> Any:
    """By the definition of the types."""
    if value is None:
        return (None,) * 5

    def each(name: str, convert: Callable[[Any], Any]) -> Any:
        return None if value[name] is None else convert(value[name])

    def of_list(parts: Any) -> Any:
        return tuple(None if part is None else _floor(1)(part) for part in parts)

    def of_map(parts: Any) -> Any:
        return tuple(sorted((key, _floor(3)(part)) for key, part in parts.items()))

    return (
        each("t", _floor(0)), each("f", lambda number: printed(_float(number))), each("d", _quantized(2)),
        each("l", of_list), each("m", of_map),
    )  # fmt: skip


def _hashable(row: Sequence[Any]) -> Any:
    t, f, d, many, m = row
    return (
        t, printed(f), d, None if many is None else tuple(many), None if m is None else tuple(sorted(dict(m).items()))
    )  # fmt: skip


def _json_of(value: Any) -> str:
    """With all the digits that there are."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_json_of(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json_of, value)) + "]"
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(" ", "microseconds")
        return json.dumps(text if value.tzinfo is None else f"{text}Z")
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value)


ARROW_OF_NESTED = pa.struct([
    ("t", pa.timestamp("us")), ("f", pa.float32()), ("d", pa.decimal128(5, 2)), ("l", pa.list_(pa.timestamp("us"))),
    ("m", pa.map_(pa.string(), pa.timestamp("us", "UTC"))),
])  # fmt: skip


def _stored_nested(value: Any) -> Any:
    if value is None:
        return None
    made = {**value, "d": None if value["d"] is None else _quantized(2)(value["d"])}
    return {**made, "m": None if value["m"] is None else list(value["m"].items())}


def _avro_nested() -> Any:
    def nullable(kind: Any) -> list[Any]:
        return ["null", kind]

    moment = {"type": "long", "logicalType": "local-timestamp-micros"}
    instant = {"type": "long", "logicalType": "timestamp-micros"}
    number = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 6}
    kinds = {
        "t": moment, "f": "float", "d": number, "l": {"type": "array", "items": nullable(moment)},
        "m": {"type": "map", "values": instant},
    }  # fmt: skip
    fields = [{"name": name, "type": nullable(kind)} for name, kind in kinds.items()]
    inner = {"type": "record", "name": "inner", "fields": fields}
    return {"type": "record", "name": "r", "fields": [{"name": "a", "type": nullable(inner)}]}


def _nested_doors(room: Room) -> Iterator[tuple[str, str]]:
    import fastavro

    name = f"t{next(_numbers)}"
    register_values(name, [(each,) for each in room.values])
    yield "values", room.table({"connector": "values", "data-id": name})
    texts = list(map(_json_of, room.values))
    lines = {
        "json": '{{"a":{}}}', "debezium-json": '{{"after":{{"a":{}}},"op":"c"}}',
        "canal-json": '{{"data":[{{"a":{}}}],"type":"INSERT"}}',
        "maxwell-json": '{{"data":{{"a":{}}},"type":"insert"}}',
        "ogg-json": '{{"after":{{"a":{}}},"op_type":"I"}}',
    }  # fmt: skip
    for format, line in lines.items():
        yield format, room.lines(format, (line.format(each) for each in texts))
    table = pa.table({"a": pa.array(list(map(_stored_nested, room.values)), ARROW_OF_NESTED)})
    for format, write in (("parquet", pq.write_table), ("orc", pyarrow.orc.write_table)):
        (room.folder / format).mkdir()
        write(table, room.folder / format / "x")
        yield format, room.files(format)
    (room.folder / "avro").mkdir()
    with (room.folder / "avro" / "x").open("wb") as file:
        fastavro.writer(file, _avro_nested(), [{"a": each} for each in room.values])
    options = {"path": str(room.folder / "avro"), "format": "avro", "avro.timestamp_mapping.legacy": "false"}
    yield "avro", room.table({"connector": "filesystem", **options})


@settings(
    max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(values=st.lists(st.none() | PARTS, min_size=1, max_size=5))
def test_values_within_others_are_one(tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    sort = Sort(NESTED, st.nothing(), _same, lambda value: [str(value)])
    room = Room(MessageTables(), tmp_path_factory.mktemp("nested"), sort, values, 0)
    wanted = Counter(map(_nested, values))
    parts = "a.t, a.f, a.d, a.l, a.m"
    queries = []
    for name, query in _nested_doors(room):
        queries.append(query)
        assert Counter(map(_hashable, room.query(f"SELECT {parts} FROM ({query})"))) == wanted, name
    grouped = f"SELECT {parts}, COUNT(*) FROM ({' UNION ALL '.join(queries)}) GROUP BY {parts}"
    found = {_hashable(row[:-1]): row[-1] for row in room.query(grouped)}
    assert found == {value: count * len(queries) for value, count in wanted.items()}
