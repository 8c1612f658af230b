"""JSON: messages and files of lines."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.time import Instant
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.connectors.file_system import BucketAssigner, FileEnumeratorProvider, FileSink, FileSource, file_format
from millrace.datastream.formats.json import (
    JsonLinesEncoder,
    JsonLinesFormat,
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from millrace.testing.connectors.runtime import SinkRun, SourceRun, read_all

ALL = {
    "s": (Types.STRING(), 'ü"\n'),
    "b": (Types.BOOLEAN(), True),
    "i": (Types.INT(), -5),
    "l": (Types.LONG(), 2**63 - 1),
    "f": (Types.DOUBLE(), 0.1),
    "d": (Types.BIG_DEC(), Decimal("12345678901234567890.123456789")),
    "n": (Types.BIG_INT(), 10**40),
    "day": (Types.SQL_DATE(), dt.date(2024, 2, 29)),
    "time": (Types.SQL_TIME(), dt.time(1, 2, 3)),
    "at": (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3, 4000)),
    "moment": (Types.INSTANT(), Instant(1, 500_000_000)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    "array": (Types.OBJECT_ARRAY(Types.INT()), [1, None]),
    "map": (Types.MAP(Types.STRING(), Types.LONG()), {"k": 1, "z": None}),
    "row": (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()]), Row(x=1, y=None)),
    "any": (Types.PICKLED_BYTE_ARRAY(), {"free": [1.5]}),
    "none": (Types.STRING(), None),
}
TYPE = Types.ROW_NAMED(list(ALL), [type_ for type_, _ in ALL.values()])
ROW = Row(**{name: value for name, (_, value) in ALL.items()})


def schemas(type_info: Any = TYPE) -> tuple[JsonRowSerializationSchema, JsonRowDeserializationSchema]:
    write = JsonRowSerializationSchema.builder().with_type_info(type_info).build()
    read = JsonRowDeserializationSchema.builder().type_info(type_info).build()
    copied: tuple[JsonRowSerializationSchema, JsonRowDeserializationSchema] = pickle.loads(pickle.dumps((write, read)))
    return copied


def test_every_type_both_ways() -> None:
    write, read = schemas()
    message = write.serialize(ROW)
    assert read.deserialize(message) == ROW
    assert read.get_produced_type() == TYPE
    text = message.decode()
    assert text.startswith(
        '{"s":"ü\\"\\n","b":true,"i":-5,"l":9223372036854775807,"f":0.1,"d":12345678901234567890.123456789'
    )
    assert '"at":"2024-02-29T01:02:03.004Z","moment":"1970-01-01T00:00:01.500Z","bytes":"AP8="' in text
    assert json.loads(text)["row"] == {"x": 1, "y": None}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"i": "7"}, {"i": 7}),
        ({"i": 7.0}, {"i": 7}),
        ({"f": 1}, {"f": 1.0}),
        ({"s": {"a": [1, 2.5]}}, {"s": '{"a":[1,2.5]}'}),
        ({"s": True}, {"s": "true"}),
        ({"b": "TRUE"}, {"b": True}),
        ({"at": "2024-01-01T00:00:00+01:30"}, {"at": dt.datetime(2023, 12, 31, 22, 30)}),
        ({"at": "2024-01-01 00:00:00.123456789"}, {"at": dt.datetime(2024, 1, 1, 0, 0, 0, 123456)}),
        ({"unknown": 1}, {}),
        ({}, {}),
    ],
)
def test_values_are_taken_as_the_type_says(message: dict[str, Any], expected: dict[str, Any]) -> None:
    _, read = schemas()
    row = read.deserialize(json.dumps(message).encode())
    assert {name: row[name] for name in ALL if row[name] is not None} == expected


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"{", "Expecting property name"),
        (b"[1]", "a JSON object is needed"),
        (b'{"i": "x"}', "field 'i': not an integer: 'x'"),
        (b'{"i": true}', "field 'i': not an integer"),
        (b'{"i": 3000000000}', "field 'i': 3000000000 does not fit into 32 bits"),
        (b'{"row": {"x": []}}', "field 'row': field 'x': a number is needed"),
        (b'{"at": "yesterday"}', "field 'at': "),
        (b'{"array": {}}', "field 'array': a JSON array is needed"),
        (b'{"s": "\xff"}', "codec can't decode"),
    ],
)
def test_malformed_messages(message: bytes, reason: str) -> None:
    _, read = schemas()
    with pytest.raises(ValueError, match=f"Failed to deserialize JSON .*{reason}"):
        read.deserialize(message)
    builder = JsonRowDeserializationSchema.builder().type_info(TYPE).ignore_parse_errors()
    row = builder.build().deserialize(message)
    if "field" in reason:  # such a field is None, as in Flink
        assert row is not None and {row[name] for name in ALL} <= {None, Row(x=None, y=None)}
    else:
        assert row is None


def test_of_a_number_with_a_fraction_an_integer_is_what_stands_before_the_point() -> None:
    _, read = schemas()
    assert read.deserialize(b'{"i": 1.5}').i == 1


def test_a_number_of_many_digits_takes_no_memory() -> None:
    row = Types.ROW_NAMED(["a"], [Types.BIG_DEC()])
    write, read = schemas(row)
    assert write.serialize(read.deserialize(b'{"a": "1e400"}')) == b'{"a":1E+400}'
    assert write.serialize(read.deserialize(b'{"a": 1e99999999}')) == b'{"a":1E+99999999}'
    with pytest.raises(ValueError, match="too many digits"):
        read.deserialize(b'{"a": "1e9999999999"}')


def test_missing_fields_and_builders() -> None:
    builder = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["a"], [Types.INT()]))
    strict = builder.fail_on_missing_field().build()
    assert strict.deserialize(b'{"a": null}') == Row(a=None)
    with pytest.raises(ValueError, match="Could not find field with name 'a'"):
        strict.deserialize(b"{}")
    with pytest.raises(ValueError, match="both enabled"):
        builder.ignore_parse_errors().build()
    for empty in (JsonRowDeserializationSchema.builder(), JsonRowSerializationSchema.builder()):
        with pytest.raises(TypeError, match="Typeinfo should be set"):
            empty.build()


def test_json_schemas() -> None:
    text = json.dumps(
        {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": ["string", "null"]},
                "c": {"type": "array", "items": {"$ref": "#/definitions/n"}},
                "d": {"type": "string", "format": "date-time"},
                "e": {"type": "string", "contentEncoding": "base64"},
                "f": {"type": "object", "properties": {"g": {"type": "boolean"}}},
            },
            "definitions": {"n": {"type": "number"}},
        }
    )
    read = JsonRowDeserializationSchema.builder().json_schema(text).build()
    row = read.deserialize(b'{"a":1,"b":null,"c":[1.5],"d":"2024-01-01T00:00:00Z","e":"AA==","f":{"g":true}}')
    assert row == Row(a=1, b=None, c=[Decimal("1.5")], d=dt.datetime(2024, 1, 1), e=b"\x00", f=Row(g=True))
    for wrong in ("{", "[]", '{"type":"x"}', '{"type":["string","integer"]}', '{"type":"array"}', '{"$ref":"#/no"}'):
        with pytest.raises(ValueError, match="JSON schema"):
            JsonRowDeserializationSchema.builder().json_schema(wrong)
    with pytest.raises(TypeError, match="must not be None"):
        JsonRowDeserializationSchema.builder().json_schema(None)  # type: ignore[arg-type]


def lines_source(path: Path, format: JsonLinesFormat, split_size: int | None = None) -> FileSource[Any]:
    builder = FileSource.for_record_stream_format(format, str(path))
    return builder.set_file_enumerator(FileEnumeratorProvider(True, split_size)).build()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.lists(json_values, max_size=20), st.integers(1, 40), st.integers(1, 3), st.lists(st.integers(1, 5), max_size=8)
)
def test_lines_come_back_however_they_are_cut(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], split_size: int, parallelism: int, cuts: list[int]
) -> None:
    base = tmp_path_factory.mktemp("json")
    sink = FileSink.for_row_format(str(base), JsonLinesEncoder())
    run = SinkRun(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    run.epoch(values[: len(values) // 2])
    run.epoch(values[len(values) // 2 :], end=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_format.LineBlocks.__init__, "__defaults__", (16,))
        source_run = SourceRun(lines_source(base, JsonLinesFormat(), split_size), parallelism)
        by_subtask = source_run.to_end(iter(cuts))
    if parallelism == 1:
        assert by_subtask == [values]
    found = [value for part in by_subtask for value in part]
    assert sorted(map(repr, found)) == sorted(map(repr, values))


def test_typed_lines_and_errors(tmp_path: Path) -> None:
    type_info = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.DOUBLE()])
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"a": 1, "b": 2}\n\n  \r\n{"b": 0.5}\n')
    format = JsonLinesFormat(type_info)
    assert format.get_produced_type() == type_info
    assert JsonLinesFormat().get_produced_type() == Types.PICKLED_BYTE_ARRAY()
    assert read_all(lines_source(path, format)) == [Row(a=1, b=2.0), Row(a=None, b=0.5)]
    path.write_bytes(b'{"a": 1}\n{"a": x}\n{"a": "y"}\n\xff\n{"a": 2}\n')
    with pytest.raises(ValueError, match=r"x\.jsonl, line 2 \(byte 9\): Expecting value.*: b'\{\"a\": x\}'"):
        read_all(lines_source(path, format))
    tolerant = JsonLinesFormat(type_info, ignore_parse_errors=True)
    assert [row.a for row in read_all(lines_source(path, tolerant))] == [1, 2]


def test_the_encoder() -> None:
    encoder = JsonLinesEncoder()
    assert encoder.encode(Row(a=1, b=dt.date(2024, 1, 1))) == b'{"a":1,"b":"2024-01-01"}\n'
    assert encoder.encode([Row(1, b"\x00"), Decimal("1.5"), Decimal(2), Instant(0, 0)]) == (
        b'[[1,"AA=="],1.5,2,"1970-01-01T00:00:00Z"]\n'
    )
    typed = pickle.loads(pickle.dumps(encoder.for_type(Types.ROW_NAMED(["x"], [Types.LONG()]))))
    assert typed.encode((5,)) == b'{"x":5}\n'
    assert typed.for_type(Types.INT()) is typed
    with pytest.raises(TypeError, match="JSON has no form for object"):
        encoder.encode(object())
