"""Avro files and Parquet files of Avro's records, compared with what fastavro and pyarrow say."""

from __future__ import annotations

import datetime as dt
import io
import json
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.common import WatermarkStrategy
from millrace.common.serialization import BulkWriterFactory
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.connectors.file_system.table.bulk_formats import AvroTableFormat
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSource
from millrace.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema, GenericRecordAvroTypeInfo
from millrace.datastream.formats.parquet import AvroParquetReaders, AvroParquetWriters
from millrace.formats.avro import AvroFileFormat
from millrace.relational.nodes import Field
from millrace.relational.types import IntType
from millrace.testing import run_locally


def schema_of(**fields: Any) -> AvroSchema:
    listed = [{"name": name, "type": kind} for name, kind in fields.items()]
    return AvroSchema.parse_string(json.dumps({"type": "record", "name": "R", "fields": listed}))


POINT = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "int"}]}
WHOLE = schema_of(
    id="long",
    single="float",
    name=["null", "string"],
    colour={"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN"]},
    points={"type": "array", "items": POINT},
    more={"type": "map", "values": ["null", "Point"]},
    either=["null", "int", "string", {"type": "array", "items": "long"}],
    amount={"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
    day={"type": "int", "logicalType": "date"},
    at={"type": "long", "logicalType": "timestamp-millis"},
    four={"type": "fixed", "name": "Four", "size": 4},
)
MOMENT = dt.datetime(2024, 2, 29, 12, 30, 0, 250_000, tzinfo=dt.timezone.utc)


def record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": number, "single": 1.5, "name": None, "colour": "RED", "points": [{"x": 1, "y": 2}],
        "more": {"a": {"x": 3, "y": 4}, "b": None}, "either": "text", "amount": Decimal("12.34"),
        "day": dt.date(2024, 2, 29), "at": MOMENT, "four": b"abcd", **changes,
    }  # fmt: skip


RECORDS = [
    record(1),
    record(2, name="two", either=5, points=[], more={}, colour="GREEN"),
    record(3, either=None),
    record(4, either=[1, 2]),
]


def written(factory: BulkWriterFactory, records: list[Any]) -> bytes:
    stream = io.BytesIO()
    stream.close = lambda: None  # type: ignore[method-assign]  # Arrow closes what it wrote
    writer = pickle.loads(pickle.dumps(factory)).create(stream)
    for each in records:
        writer.add_element(each)
    writer.finish()
    return stream.getvalue()


def test_avro_files_are_what_fastavro_reads() -> None:
    data = written(AvroBulkWriters.for_generic_record(WHOLE), RECORDS)
    assert list(fastavro.reader(io.BytesIO(data))) == RECORDS


def test_avro_files_that_fastavro_wrote_are_read(tmp_path: Path) -> None:
    with (tmp_path / "a.avro").open("wb") as out:
        fastavro.writer(out, WHOLE.parsed, RECORDS, codec="deflate")
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.create_input(AvroInputFormat(str(tmp_path), WHOLE))
    assert stream.get_type() == GenericRecordAvroTypeInfo(WHOLE)
    assert run_locally(stream).collected == RECORDS


def test_reading_goes_on_where_it_stopped(tmp_path: Path) -> None:
    given = [{"n": number} for number in range(1000)]
    with (tmp_path / "a.avro").open("wb") as out:
        fastavro.writer(out, schema_of(n="int").parsed, given, sync_interval=100)
    whole = FileSplit(str(tmp_path / "a.avro"), 0, (tmp_path / "a.avro").stat().st_size)
    for begin in (0, 1, 51, 999, 1000):
        reader = AvroFileFormat(schema_of(n="int")).open(whole if not begin else whole.at(begin))
        found: list[Any] = []
        while (batch := reader.read_batch()) is not None:
            found += batch
            assert reader.position() == begin + len(found)
        reader.close()
        assert found == given[begin:]


def test_what_is_no_avro_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.avro").write_bytes(b"nothing of the kind")
    split = FileSplit(str(tmp_path / "a.avro"), 0, 19)
    with pytest.raises(RecordError, match=r"a\.avro: not an Avro file"):
        AvroFileFormat(WHOLE).open(split)


@pytest.mark.parametrize("is_table", [False, True])
def test_a_block_whose_records_are_cut_says_where_and_why(tmp_path: Path, is_table: bool) -> None:
    """The sizes of the second block are right, but it says that it has one record more."""
    schema, path = schema_of(n="int"), tmp_path / "a.avro"
    with path.open("wb") as out:
        fastavro.writer(out, schema.parsed, [{"n": 1}] * 50, sync_marker=b"s" * 16, sync_interval=25)
    content = path.read_bytes()
    assert content.count(bytes([50, 50])) == 2, "25 records in 25 bytes"
    at = content.rindex(bytes([50, 50]))
    path.write_bytes(content[:at] + bytes([52]) + content[at + 1 :])
    split = FileSplit(str(path), 0, len(content))
    columns = (Field("n", IntType()),)
    table, records = AvroTableFormat(columns, {}, "t"), AvroFileFormat(schema)
    opened: Any = table.open(split, columns) if is_table else records.open(split)
    text = r"a\.avro, after record 50: (not an Avro file: )?its bytes end in the middle of a record"
    with pytest.raises(RecordError, match=text):
        opened.read_batch()
    opened.close()


def test_parquet_files_are_what_pyarrow_reads() -> None:
    data = written(AvroParquetWriters.for_generic_record(WHOLE), RECORDS)
    table = pq.read_table(io.BytesIO(data))
    assert table.schema.metadata[b"parquet.avro.schema"] == str(WHOLE).encode()
    first = table.to_pylist()[0]
    members = {"member0": None, "member1": "text", "member2": None}
    assert first == {**RECORDS[0], "either": members, "more": [("a", {"x": 3, "y": 4}), ("b", None)]}
    assert (table.schema.field("id").nullable, table.schema.field("name").nullable) == (False, True)


def parquet(folder: Path, schema: AvroSchema) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = FileSource.for_record_stream_format(AvroParquetReaders.for_generic_record(schema), str(folder)).build()
    return run_locally(env.from_source(source, WatermarkStrategy.no_watermarks(), "files")).collected


def test_parquet_files_come_back(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(written(AvroParquetWriters.for_generic_record(WHOLE), RECORDS))
    assert parquet(tmp_path, WHOLE) == RECORDS


def test_a_field_that_a_parquet_file_lacks_has_its_default(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")
    fields = [{"name": "a", "type": "long"}, {"name": "b", "type": "int", "default": 5}]
    with_default = AvroSchema.parse_string(json.dumps({"type": "record", "name": "R", "fields": fields}))
    assert parquet(tmp_path, with_default) == [{"a": 1, "b": 5}, {"a": 2, "b": 5}]
    with pytest.raises(Exception, match="field 'b' is None, which the Avro schema does not allow"):
        parquet(tmp_path, schema_of(a="long", b="int"))


MISFITS: list[tuple[dict[str, Any], str]] = [
    ({"colour": "BLUE"}, "BLUE"),
    ({"id": None}, "id"),
    ({"points": [{"x": 1}]}, "y"),
    ({"either": 1.5}, "1.5"),
]


@pytest.mark.parametrize("writers", [AvroBulkWriters, AvroParquetWriters])
@pytest.mark.parametrize(("changes", "text"), MISFITS)
def test_records_that_do_not_fit(writers: Any, changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        written(writers.for_generic_record(WHOLE), [record(1, **changes)])


def test_only_records_are_in_parquet_files() -> None:
    with pytest.raises(TypeError, match="must be that of a record"):
        AvroParquetWriters.for_generic_record(AvroSchema.parse_string('"int"'))


def test_schemas() -> None:
    one, same = schema_of(a="int"), AvroSchema.parse_string(str(schema_of(a="int")))
    assert (one, hash(one)) == (same, hash(same))
    assert one != schema_of(a="long")
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(GenericRecordAvroTypeInfo(one)) == f'GenericRecord("{one}")'
    with pytest.raises(ValueError, match="no Avro schema"):
        AvroSchema.parse_string('{"type": "nothing"}')
    with pytest.raises(TypeError, match="takes an AvroSchema"):
        GenericRecordAvroTypeInfo("int")  # type: ignore[arg-type]
