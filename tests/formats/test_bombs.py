"""Small files that hold much: a limit is an error, or a bad record that is counted; it is not the end of the memory."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import json
import lzma
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from millrace.common.files.file_access import VARIABLE
from millrace.connectors.file_system.file_format import LineBlocks
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.formats.avro import AvroFileFormat, AvroSchema
from millrace.formats.avro_blocks import UNREADABLE, is_recursive
from millrace.formats.avro_records import read_message
from millrace.formats.csv import CsvReaderFormat
from millrace.formats.csv_schema import CsvSchema
from millrace.formats.json import JsonLinesFormat

SCHEMA = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}
MEGA = 1 << 20


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1 mb")


def split(path: Path) -> FileSplit:
    return FileSplit(str(path), 0, path.stat().st_size)


def zipped(path: Path, *parts: bytes) -> Path:
    """A file whose long line of zeros is some kB."""
    with gzip.open(path, "wb") as file:
        for part in parts:
            file.write(part)
    return path


def everything(records: Any) -> list[Any]:
    found = []
    while (batch := records.read_batch()) is not None:
        found += batch
    return found


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_without_end_is_an_error_with_its_place(tmp_path: Path, end: bytes) -> None:
    path = zipped(tmp_path / "a.json.gz", b'{"a": 1}\n', b"x" * (5 * MEGA) + end)
    blocks = LineBlocks(split(path))
    assert blocks.next_block() == b'{"a": 1}\n'
    with pytest.raises(RecordError, match=r"a.json.gz, line 2 \(byte 9\): a line is larger than 1048576 bytes \(the "):
        blocks.next_block()


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_it_is_left_out_and_counted_where_errors_are_ignored(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    lines = [b"1\n", b"2" * (3 * MEGA) + b"\n", b"3\n", b"4" * (2 * MEGA) + b"\n", b"5\n"]
    path.write_bytes(gzip.compress(b"".join(lines)) if name.endswith(".gz") else b"".join(lines))
    records = JsonLinesFormat(ignore_parse_errors=True).open(split(path))
    assert everything(records) == [1, 3, 5]
    assert records.parse_errors == 2
    assert records.position() == sum(map(len, lines))


def test_the_splits_of_a_file_agree_about_it(tmp_path: Path) -> None:
    """Each line is read by one split, also beside those that are left out."""
    path = tmp_path / "a.json"
    path.write_bytes(b"".join(b"%d\n" % n + (b"7" * (2 * MEGA) + b"\n" if n % 3 == 0 else b"") for n in range(12)))
    size = path.stat().st_size
    for parts in (1, 2, 5, 40):
        places = [size * at // parts for at in range(parts + 1)]
        found, left_out = [], 0
        for start, end in itertools.pairwise(places):
            records = JsonLinesFormat(ignore_parse_errors=True).open(
                FileSplit(str(path), start, end - start, whole=False)
            )
            found += everything(records)
            left_out += records.parse_errors
        assert (found, left_out) == (list(range(12)), 4)


def test_csv_goes_on_behind_it_and_where_it_stopped(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.csv.gz", b"1\n", b"x" * (3 * MEGA) + b"\n", b"2\n3\n")
    schema = CsvSchema.builder().add_number_column("n").build()
    records = CsvReaderFormat.for_schema(schema).with_ignore_parse_errors().open(split(path))
    assert [row[0] for row in everything(records)] == [1, 2, 3]
    assert (records.parse_errors, records.position()) == (1, 3 * MEGA + 7)
    with pytest.raises(RecordError, match="a line is larger than"):
        everything(CsvReaderFormat.for_schema(schema).open(split(path)))


def test_a_wrong_size_of_the_variable_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(ValueError, match=f"the environment variable {VARIABLE}: .*much"):
        LineBlocks(split(zipped(tmp_path / "a.gz", b"1\n")))


def long(value: int) -> bytes:
    """A number as Avro has it, by its own library."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, {"type": "long"}, value)
    return stream.getvalue()


def container(
    path: Path, codec: str, block: bytes, records: int = 1, size: int | None = None, schema: Any = None
) -> Path:
    """A file of Avro with a block of which we say what we like."""
    entries = {"avro.schema": json.dumps(schema or SCHEMA).encode(), "avro.codec": codec.encode()}
    head = io.BytesIO()
    fastavro.schemaless_writer(head, {"type": "map", "values": "bytes"}, entries)
    size = len(block) if size is None else size
    path.write_bytes(b"Obj\x01" + head.getvalue() + b"s" * 16 + long(records) + long(size) + block + b"s" * 16)
    return path


def read_avro(path: Path) -> list[Any]:
    return everything(AvroFileFormat(AvroSchema.parse_string(json.dumps(SCHEMA))).open(split(path)))


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def lz4(data: bytes) -> bytes:
    return len(data).to_bytes(4, "little") + pa.Codec("lz4_raw").compress(data).to_pybytes()


def snappy(data: bytes) -> bytes:
    return pa.Codec("snappy").compress(data).to_pybytes() + zlib.crc32(data).to_bytes(4, "big")


CODECS = {
    "null": lambda data: data,
    "deflate": deflated,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": lambda data: pa.Codec("zstd").compress(data).to_pybytes(),
    "snappy": snappy,
    "lz4": lz4,
}


@pytest.mark.parametrize("codec", CODECS)
def test_a_block_of_avro_is_decompressed_up_to_the_limit(tmp_path: Path, codec: str) -> None:
    text = "x" * (MEGA // 2)
    good = container(tmp_path / "good.avro", codec, CODECS[codec](long(len(text)) + text.encode()))
    assert read_avro(good) == [{"a": text}]
    bad = container(tmp_path / "bad.avro", codec, CODECS[codec](long(MEGA) + bytes(MEGA)))
    with pytest.raises(RecordError, match=r"bad.avro: not an Avro file: block 1 is larger than 1048576 bytes"):
        read_avro(bad)


@pytest.mark.parametrize(
    ("records", "size", "text"),
    [
        (1, 1 << 60, "block 1 is larger than 1048576 bytes"),
        (1, -5, "block 1 has a size of -5"),
        (-1, None, "block 1 has a size of"),
        (1, 1 << 19, "the file ends .* bytes too early"),
        (1 << 60, None, "."),
    ],
)
def test_sizes_that_are_lies(tmp_path: Path, records: int, size: int | None, text: str) -> None:
    path = container(tmp_path / "a.avro", "null", long(1) + b"x", records, size)
    with pytest.raises(RecordError, match=rf"a.avro.*: not an Avro file: {text}"):
        read_avro(path)


def test_records_without_bytes_come_in_batches(tmp_path: Path) -> None:
    """A block of no bytes can say that it has any number of them."""
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "null"}]}
    path = container(tmp_path / "a.avro", "null", b"", 1 << 60, schema=schema)
    records = AvroFileFormat(AvroSchema.parse_string(json.dumps(schema))).open(split(path))
    assert len(records.read_batch() or []) == 8192


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A gigabyte in a file of a megabyte, read by a process that may have little."""
    path = tmp_path / "a.json.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(1024):
            file.write(bytes(MEGA))
    program = f"""
        import resource
        from millrace.connectors.file_system.file_format import LineBlocks, RecordError
        from millrace.connectors.file_system.file_stream import FileSplit
        blocks = LineBlocks(FileSplit({str(path)!r}, 0, 1))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            blocks.next_block()
        except RecordError:
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 32 * 1024, "kB"


LIST = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}


def test_records_in_records_end_the_record_and_not_the_process(tmp_path: Path) -> None:
    """A file of some kB has a record a million deep: its reader in C would end the process."""
    read = AvroFileFormat(AvroSchema.parse_string(json.dumps(LIST)))
    good = container(tmp_path / "good.avro", "deflate", deflated(b"\x02" * 3 + b"\0"), schema=LIST)
    assert everything(read.open(split(good))) == [{"next": {"next": {"next": {"next": None}}}}]
    bad = container(tmp_path / "bad.avro", "deflate", deflated(b"\x02" * (MEGA - 1) + b"\0"), schema=LIST)
    with pytest.raises(RecordError, match=r"bad.avro: not an Avro file: maximum recursion depth exceeded"):
        everything(read.open(split(bad)))
    with pytest.raises(UNREADABLE, match="recursion"):
        read_message(b"\x02" * MEGA + b"\0", fastavro.parse_schema(LIST), is_recursive(LIST))


@pytest.mark.parametrize("items", ["null", {"type": "record", "name": "E", "fields": []}, {"type": "null"}])
def test_arrays_of_nothing_are_refused(tmp_path: Path, items: Any) -> None:
    """Eight bytes say that there are a trillion of them."""
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": items}}]}
    path = container(tmp_path / "a.avro", "null", long(1 << 40) + long(0), schema=schema)
    with pytest.raises(RecordError, match=r"a.avro: not an Avro file: the schema has an array whose items take no"):
        read_avro(path)


def test_long_fields_of_csv_messages_are_fields() -> None:
    """Whatever was read before in this process: Python's csv has a limit of 131,072 characters, if nothing sets it."""
    program = """
        from tests.formats.tables.driving import decode, schema
        from millrace.table import DataTypes
        print(len(decode("csv", schema(a=DataTypes.STRING(), b=DataTypes.INT()), ["x" * 200_000 + ",1"])[0][0]))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout == "200000\n"
