"""Parquet and ORC files that were made to do harm: one error that names the file, in bounded memory."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from millrace.common.files.file_access import VARIABLE
from millrace.connectors.file_system.file_format import TextLineFormat
from millrace.connectors.file_system.file_stream import FileSplit, RecordError
from millrace.connectors.file_system.table.bulk_formats import OrcTableFormat, ParquetTableFormat
from millrace.formats import orc as reading
from millrace.formats import parquet_pages
from millrace.formats.orc import OrcError, OrcRows
from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.parquet_pages import Fetched, is_modest, rows_at_once
from millrace.relational import types as t
from millrace.relational.nodes import Field

MEGA = 1 << 20
NUMBER = (Field("a", t.BigIntType()),)
TEXT = (Field("s", t.VarCharType(2**31 - 1)),)
FORMATS = {"parquet": ParquetTableFormat, "orc": OrcTableFormat}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(VARIABLE, "8 mb")
    yield
    while reading._idle:
        reading._idle.pop().end()


def read(path: Path, columns: tuple[Field, ...], wanted: tuple[Field, ...] | None = None) -> list[Any]:
    """The batches of a file, as a table reads them."""
    format = FORMATS[path.suffix[1:]](columns, {}, "t")
    records = format.open(FileSplit(str(path), 0, path.stat().st_size), columns if wanted is None else wanted)
    try:
        found = []
        while (batch := records.read_batch()) is not None:
            found += [rows.batch for rows in batch]
        return found
    finally:
        records.close()


def values(path: Path, columns: tuple[Field, ...]) -> list[Any]:
    return [value for batch in read(path, columns) for value in batch.column(0).to_pylist()]


def write(path: Path, table: pa.Table, **options: Any) -> Path:
    pq.write_table(table, path, compression="zstd", store_schema=False, **options)
    return path


def zeros(path: Path, rows: int = 4 * MEGA) -> Path:
    """A page of 32 MB in some kB."""
    table = pa.table({"a": np.zeros(rows, dtype="int64")})
    one_page = {"data_page_size": 1 << 30, "write_batch_size": rows, "max_rows_per_page": rows}
    return write(path, table, use_dictionary=False, row_group_size=rows, **one_page)


def dictionary(path: Path, value: str, rows: int) -> Path:
    """A value that every row refers to."""
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype="int32")), pa.array([value, "y"]))
    return write(path, pa.table({"s": column}), dictionary_pagesize_limit=64 * MEGA)


def test_a_page_that_is_too_large_is_named(tmp_path: Path) -> None:
    path = zeros(tmp_path / "a.parquet")
    assert path.stat().st_size < 20_000
    text = r"a.parquet, after row 0: row group 0, column 'a', page 0 is larger than 8388608 bytes \(the environment"
    with pytest.raises(RecordError, match=text):
        read(path, NUMBER)
    rows = ParquetColumnarRowInputFormat(pa.schema([("a", pa.int64())]))
    with pytest.raises(RecordError, match=text):
        rows.open(FileSplit(str(path), 0, path.stat().st_size)).read_batch()
    assert not is_modest(str(path), ["a"])


def test_values_of_a_dictionary_are_read_a_few_at_once(tmp_path: Path) -> None:
    """Two hundred megabytes in a file of a kB."""
    path = dictionary(tmp_path / "a.parquet", "x" * MEGA, 200)
    assert path.stat().st_size < 2000
    before = pa.total_allocated_bytes()
    format = ParquetTableFormat(TEXT, {}, "t")
    records = format.open(FileSplit(str(path), 0, path.stat().st_size), TEXT)
    rows = 0
    while (batch := records.read_batch()) is not None:
        rows += batch[0].batch.num_rows
        assert pa.total_allocated_bytes() - before < 64 * MEGA
        assert set(batch[0].batch.column(0).to_pylist()) == {"x" * MEGA}
    assert rows == 200
    assert not is_modest(str(path), ["s"])


def test_many_short_values_of_a_dictionary_come_in_large_batches(tmp_path: Path) -> None:
    path = dictionary(tmp_path / "a.parquet", "x" * 1000, 20_000)
    found = read(path, TEXT)
    assert sum(batch.num_rows for batch in found) == 20_000
    assert max(batch.num_rows for batch in found) > 4000
    assert is_modest(str(path), ["s"])


def test_texts_that_begin_alike_are_read_a_few_at_once(tmp_path: Path) -> None:
    """A value of this encoding is the one before and what follows: 64 MB in a page of 64 kB."""
    table = pa.table({"s": ["x" * 65_536] * 1000})
    encoding = {"use_dictionary": False, "column_encoding": {"s": "DELTA_BYTE_ARRAY"}}
    path = write(tmp_path / "a.parquet", table, **encoding)
    assert {batch.num_rows < 300 for batch in read(path, TEXT)} == {True}
    assert len(values(path, TEXT)) == 1000


def test_lists_without_end(tmp_path: Path) -> None:
    """A row whose list has twenty million elements, in some kB."""
    items = pa.array(np.zeros(20 * MEGA, dtype="int64"))
    column = pa.ListArray.from_arrays([0, len(items)], items)
    path = write(tmp_path / "a.parquet", pa.table({"l": column}), data_page_size=1 << 20)
    columns = (Field("l", t.ArrayType(t.BigIntType())),)
    with pytest.raises(RecordError, match=r"a.parquet, after row 0: row group 0.* is larger than \d+ bytes"):
        read(path, columns)


def lie(path: Path, rows: int, said: int) -> Path:
    """The same file with another number of rows wherever its footer has one."""
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    old, new = (bytes([number * 2 & 127 | 128, number * 2 >> 7]) for number in (rows, said))
    assert content.count(old, start) >= 3
    path.write_bytes(content[:start] + content[start:-8].replace(old, new) + content[-8:])
    return path


@pytest.mark.parametrize("wanted", [NUMBER, ()])
def test_a_number_of_rows_that_is_a_lie(tmp_path: Path, wanted: tuple[Field, ...]) -> None:
    """Also where no column is read, as for COUNT(*): the number would be believed."""
    path = write(tmp_path / "a.parquet", pa.table({"a": pa.array(range(200), pa.int64())}))
    assert sum(batch.num_rows for batch in read(path, NUMBER, wanted)) == 200
    lie(path, 200, 8000)
    with pytest.raises(RecordError, match=r"a.parquet.* has 200 values, where the file says that the group has 8000"):
        read(path, NUMBER, wanted)
    assert not is_modest(str(path), ["a"])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
def test_the_short_way_to_heads_says_what_the_long_one_says(
    tmp_path: Path, version: str, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all kinds of pages, with and without statistics, checksums and NULL."""
    rows = 3000
    table = pa.table(
        {
            "n": pa.array([None if at % 7 == 0 else at * 123_456_789 for at in range(rows)], pa.int64()),
            "i": pa.array(range(rows), pa.int32()),
            "b": [at % 3 == 0 for at in range(rows)],
            "s": [f"{'x' * (at % 50)}{at}" for at in range(rows)],
            "f": pa.array([bytes([at % 256]) * 16 for at in range(rows)], pa.binary(16)),
            "l": [[at, None] for at in range(rows)],
        }
    )
    path = tmp_path / "a.parquet"
    options = {"data_page_version": version, "compression": codec, "data_page_size": 1000, "write_batch_size": 100}
    for others in ({}, {"write_statistics": False}, {"use_dictionary": False, "write_page_checksum": True}):
        pq.write_table(table, path, **options, **others)
        with pa.OSFile(str(path)) as stream, pq.ParquetFile(stream) as file:
            chunks = [
                (file.metadata.row_group(0).column(at), file.metadata.schema.column(at))
                for at in range(file.metadata.num_columns)
            ]
            short = [list(parquet_pages._pages(stream, *each, 1 << 30, "")) for each in chunks]
            with monkeypatch.context() as patch:
                patch.setattr(parquet_pages, "_COMMON_HEAD", re.compile(b"(?!)"))
                patch.setattr(parquet_pages, "_longest_of_short", lambda content: None)
                long = [list(parquet_pages._pages(stream, *each, 1 << 30, "")) for each in chunks]
        assert short == long and sum(map(len, short)) > 50
        assert sum(page.values for page in short[0]) == rows


def test_the_longest_value_of_a_dictionary() -> None:
    """The short way says what the long one says, or nothing: values may have zeros, or be long."""
    chance = random.Random(5)
    said = 0
    for _ in range(2000):
        letters = chance.choice([b"ab", b"a\0", bytes(range(256))])
        sizes = [chance.choice([0, 1, 3, 20, 255, 256, 300]) for _ in range(chance.randrange(12))]
        sizes = [size or chance.randrange(2) for size in sizes]
        values = [bytes(chance.choices(letters, k=size)) for size in sizes]
        content = b"".join(len(each).to_bytes(4, "little") + each for each in values)
        content = content[: len(content) - chance.choice([0, 0, 1, 5])]
        found = parquet_pages._longest_of_short(content)
        assert found in (None, parquet_pages._longest_of(content))
        said += found is not None
    assert said > 100


def test_a_file_far_away_is_fetched_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"a": pa.array(range(500_000), pa.int64())}), row_group_size=250_000)
    asked: list[tuple[int, int]] = []

    class Stream:
        def __init__(self) -> None:
            self._file = pa.OSFile(str(path))
            self.size = self._file.size

        def read_at(self, size: int, offset: int) -> bytes:
            asked.append((size, offset))
            return bytes(self._file.read_at(size, offset))

    held = Fetched(Stream())
    file = pq.ParquetFile(pa.PythonFile(held), pre_buffer=False)
    asked.clear()
    found: list[int] = []
    for group in range(2):
        rows = rows_at_once(held, file.metadata, group, ["a"], 100_000)
        for batch in file.iter_batches(rows, row_groups=[group]):
            found += batch.column(0).to_pylist()
    assert found == list(range(500_000))
    assert [size for size, _ in asked] == [
        file.metadata.row_group(group).column(0).total_compressed_size for group in range(2)
    ]


def nested(kind: str, path: Path, depth: int) -> None:
    type_: Any = pa.int32()
    for _ in range(depth):
        type_ = pa.struct([("a", type_)])
    table = pa.schema([("a", type_)]).empty_table()
    if kind == "orc":
        orc.write_table(table, path)
    else:
        pq.write_table(table, path, store_schema=False)


@pytest.mark.parametrize("kind", FORMATS)
def test_columns_within_columns(tmp_path: Path, kind: str) -> None:
    """A program that reads it ends with an error, not with the end of its stack."""
    path = tmp_path / f"a.{kind}"
    nested(kind, path, 1000)
    program = f"""
        import sys
        from pathlib import Path
        from tests.formats.test_hostile_files import NUMBER, RecordError, read
        try:
            read(Path({str(path)!r}), NUMBER)
        except RecordError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout


def sample(path: Path) -> Path:
    table = pa.table({"s": [f"value {number % 7}" for number in range(3000)]})
    if path.suffix == ".orc":
        orc.write_table(table, path, compression="zlib")
    else:
        pq.write_table(table, path, compression="snappy", row_group_size=1000)
    return path


def problem(path: Path) -> str | None:
    """Why a file is not read; None: it is, or it says other values. Other errors than ours go on."""
    try:
        values(path, TEXT)
    except RecordError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", FORMATS)
def test_files_that_end_too_early(tmp_path: Path, kind: str) -> None:
    content = sample(tmp_path / f"good.{kind}").read_bytes()
    path = tmp_path / f"bad.{kind}"
    for size in [0, 1, 3, 4, *range(8, len(content), len(content) // 20)]:
        path.write_bytes(content[:size])
        with pytest.raises(RecordError, match=f"bad.{kind}"):
            values(path, TEXT)
    path.write_bytes(b"hello" * 1000)
    with pytest.raises(RecordError, match=f"bad.{kind}: not an? (ORC|Parquet) file"):
        values(path, TEXT)


@pytest.mark.parametrize("kind", FORMATS)
def test_wrong_bytes_anywhere(tmp_path: Path, kind: str) -> None:
    content = sample(tmp_path / f"good.{kind}").read_bytes()
    path = tmp_path / f"bad.{kind}"
    chosen = random.Random(7)
    for _ in range(100):
        wrong = bytearray(content)
        for _ in range(chosen.choice([1, 1, 4])):
            wrong[chosen.randrange(len(wrong))] = chosen.randrange(256)
        path.write_bytes(wrong)
        text = problem(path)
        assert text is None or path.name in text


def test_texts_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    wrong = pa.array([b"good", b"\xff\xfe"]).cast(pa.binary())
    path = write(path, pa.table({"s": pa.Array.from_buffers(pa.string(), 2, wrong.buffers())}))
    with pytest.raises(RecordError, match=r"a.parquet: column 's' \(string\) cannot be read as .*UTF"):
        read(path, TEXT)
    rows = ParquetColumnarRowInputFormat(pa.schema([("s", pa.string())]))
    with pytest.raises(RecordError, match=r"a.parquet, after row 0: a text is not UTF-8"):
        rows.open(FileSplit(str(path), 0, path.stat().st_size)).read_batch()


def test_a_stripe_that_is_too_large_ends_another_process(tmp_path: Path) -> None:
    """Half a gigabyte in a file of some kB, with a sixteenth of a gigabyte to read it with."""
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": np.zeros(64 * MEGA, dtype="int64")}), path, compression="zlib", stripe_size=1 << 40)
    assert path.stat().st_size < 100_000
    with pytest.raises(RecordError, match=rf"a.orc, after row 0: .*needs more than {64 * MEGA} bytes for a stripe"):
        read(path, NUMBER)


def test_stripes_that_fit_come_in_pieces(tmp_path: Path) -> None:
    """As large as a quarter of a record at most."""
    path = tmp_path / "a.orc"
    written = [f"{number}" * 500 for number in range(4000)]
    orc.write_table(pa.table({"s": written}), path)
    assert values(path, TEXT) == written
    assert all(batch.nbytes < 2 * MEGA + 10_000 for batch in read(path, TEXT))


def test_the_process_reads_the_next_file_and_goes_when_nobody_asks(tmp_path: Path) -> None:
    path = sample(tmp_path / "a.orc")
    values(path, TEXT)
    (reader,) = reading._idle
    assert values(path, TEXT) == values(path, TEXT)
    assert reading._idle == [reader]
    rows = OrcRows(pa.OSFile(str(path)))
    begun = rows.batches(0, ["s"], 10)
    next(begun)
    begun.close()  # type: ignore[attr-defined]
    rows.close()
    assert reading._idle == []
    assert reader._process.poll() is not None
    with pytest.raises(OrcError, match="closed"):
        next(rows.batches(0, ["s"], 10))


def test_a_process_of_the_parent_is_not_used_by_its_fork(tmp_path: Path) -> None:
    path = sample(tmp_path / "a.orc")
    values(path, TEXT)
    program = f"""
        import os
        from pathlib import Path
        from millrace.formats import orc as reading
        from tests.formats.test_hostile_files import TEXT, values
        path = Path({str(path)!r})
        first = values(path, TEXT)
        child = os.fork()
        if not child:
            same = values(path, TEXT) == first and reading._idle[0].owner == os.getpid()
            os._exit(0 if same else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        assert values(path, TEXT) == first
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, env={**os.environ})


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-32", "utf-7"])
def test_a_line_of_another_charset_has_a_limit(tmp_path: Path, charset: str) -> None:
    path = tmp_path / "a.txt"
    text = "one\ntwo\n" + "x" * (9 * MEGA) + "\nthree\n"
    path.write_bytes(text.encode(charset))
    records = TextLineFormat(charset).open(FileSplit(str(path), 0, path.stat().st_size))
    assert records.read_batch() == ["one", "two"]
    for _ in range(2):
        with pytest.raises(RecordError, match=r"a.txt, line 3: a line is larger than 8388608 bytes"):
            records.read_batch()
    assert records.position() == 2
    path.write_bytes(("one\n" + "x" * MEGA + "\nthree").encode(charset))
    records = TextLineFormat(charset).open(FileSplit(str(path), 0, path.stat().st_size))
    read: Callable[[], Any] = records.read_batch
    assert [*(read() or []), *(read() or [])] == ["one", "x" * MEGA, "three"]
