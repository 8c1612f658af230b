"""Records that formats leave out are counted by whoever reads, on its own thread."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from millrace.common.source import ReaderOutput
from millrace.common.typeinfo import Types
from millrace.connectors.file_system.file_source import FileSourceReader
from millrace.connectors.file_system.file_stream import FileSplit
from millrace.formats.csv import CsvRowDeserializationSchema
from millrace.formats.json import JsonLinesFormat, JsonRowDeserializationSchema
from millrace.util.skipped import counting_skipped, record_skipped


class Kept(ReaderOutput[Any]):
    def __init__(self) -> None:
        self.records: list[Any] = []

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self.records.append(record)

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        self.records += records

    def emit_watermark(self, timestamp: int) -> None: ...

    def mark_idle(self) -> None: ...


ROW = Types.ROW_NAMED(["a"], [Types.INT()])


def test_each_reader_counts_its_own() -> None:
    with counting_skipped() as outer:
        record_skipped()
        with counting_skipped() as inner:
            record_skipped(2)
            other = threading.Thread(target=record_skipped, args=[50])
            other.start()
            other.join()
        record_skipped(3)
    assert (outer.number, inner.number) == (4, 2)


def test_messages_that_give_nothing() -> None:
    json = JsonRowDeserializationSchema.builder().type_info(ROW).ignore_parse_errors().build()
    csv = CsvRowDeserializationSchema.Builder(ROW).set_ignore_parse_errors(True).set_allow_comments(True).build()
    with counting_skipped() as skipped:
        found = [json.deserialize(each) for each in (b'{"a": 1}', b"{", b'{"a": "x"}', b"[]")]
        found += [csv.deserialize(each) for each in (b"2", b"# 3", b"x", b"4,5", b"\xff")]
    assert [row[0] for row in found if row is not None] == [1, None, 2, None]
    assert skipped.number == 4  # a comment is no record; a field that does not fit is None


def test_lines_of_files(tmp_path: Path) -> None:
    path = tmp_path / "lines.json"
    path.write_text("1\n{\n2\n]\n")
    split = FileSplit(str(path), 0, path.stat().st_size)
    reader = FileSourceReader(JsonLinesFormat(ignore_parse_errors=True))
    kept = Kept()
    with counting_skipped() as skipped:
        while reader.read(split, kept) is not None:
            pass
    assert kept.records == [1, 2]
    assert skipped.number == reader.parse_errors == 2
