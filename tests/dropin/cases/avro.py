"""Avro in the DataStream API. The cases that write or read files need the jars of flink-avro and flink-parquet."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink, FileSource
from pyflink.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema, GenericRecordAvroTypeInfo
from pyflink.datastream.formats.parquet import AvroParquetReaders, AvroParquetWriters
from tests.dropin.checks import elements

_COLOUR = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN"]}
_PART = {"type": "record", "name": "Part", "fields": [{"name": "no", "type": "int"}]}
_FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"], "default": None},
    {"name": "colour", "type": _COLOUR},
    {"name": "other", "type": ["int", "string"]},
    {"name": "raw", "type": "bytes"},
    {"name": "yes", "type": "boolean"},
    {"name": "parts", "type": {"type": "array", "items": _PART}},
]
_WHOLE = json.dumps({"type": "record", "name": "Thing", "namespace": "a.b", "fields": _FIELDS})
_THINGS = [
    {"id": 1, "name": "one", "colour": "RED", "other": 7, "raw": b"a", "yes": True, "parts": [{"no": 1}, {"no": 2}]},
    {"id": 2, "name": None, "colour": "GREEN", "other": "text", "raw": b"", "yes": False, "parts": []},
]


def _environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env


def _write(writers: Any, schema: AvroSchema) -> str:
    folder = os.path.abspath("out")
    env = _environment()
    stream = env.from_collection(_THINGS)
    sink = FileSink.for_bulk_format(folder, writers.for_generic_record(schema)).build()
    stream.map(lambda each: each, output_type=GenericRecordAvroTypeInfo(schema)).sink_to(sink)
    env.execute()
    return str(next(path for path in Path(folder).rglob("part-*")))


def _read(stream: Any) -> list[Any]:
    found = elements(stream.map(lambda each: each, Types.PICKLED_BYTE_ARRAY()))
    return sorted(found, key=lambda each: each["id"])


def a_schema_may_lie_in_a_file() -> None:
    """AvroSchema.parse_file takes a path; a type is made from what it gives."""
    Path("schema.avsc").write_text(_WHOLE)
    GenericRecordAvroTypeInfo(AvroSchema.parse_file(os.path.abspath("schema.avsc")))


def records_go_through_avro_files() -> None:
    """Dicts written by AvroBulkWriters come back from AvroInputFormat."""
    schema = AvroSchema.parse_string(_WHOLE)
    file = _write(AvroBulkWriters, schema)
    found = _read(_environment().create_input(AvroInputFormat(file, schema)))
    assert found == _THINGS, found


def records_go_through_parquet_files() -> None:
    """Dicts written by AvroParquetWriters come back from AvroParquetReaders."""
    simple = [field for field in _FIELDS if field["name"] in ("id", "name", "yes")]
    schema = AvroSchema.parse_string(json.dumps({"type": "record", "name": "Thing", "fields": simple}))
    names = [field["name"] for field in simple]
    folder = os.path.abspath("out")
    env = _environment()
    things = [{name: thing[name] for name in names} for thing in _THINGS]
    stream = env.from_collection(things)
    sink = FileSink.for_bulk_format(folder, AvroParquetWriters.for_generic_record(schema)).build()
    stream.map(lambda each: each, output_type=GenericRecordAvroTypeInfo(schema)).sink_to(sink)
    env.execute()
    source = FileSource.for_record_stream_format(AvroParquetReaders.for_generic_record(schema), folder).build()
    assert _read(_environment().from_source(source, WatermarkStrategy.no_watermarks(), "files")) == things
