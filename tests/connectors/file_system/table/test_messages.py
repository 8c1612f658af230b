"""Files of messages: a line each, or a record of CSV over several."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.connectors.file_system.table.test_sink import write
from tests.connectors.tables.filesystem.tables import COLUMNS, batch, context, plain, read, source

from millrace.common.types import RowKind
from millrace.connectors.file_system.file_stream import RecordError
from millrace.connectors.file_system.table import line_formats
from millrace.connectors.file_system.table.filesystem_table import FileSystemFactory
from millrace.relational.nodes import Field
from millrace.table import DataTypes as D
from millrace.testing.connectors.runtime import SourceRun

ROWS = [(1, 'a "quoted", text', "x"), (2, "two\nlines", None), (None, "", "y"), (4, None, "z")]


def test_json_is_read_line_by_line(tmp_path: Path) -> None:
    lines = [{"id": 1, "name": "x", "more": [1]}, {"dt": "d", "id": 2}]
    (tmp_path / "a").write_text("\n".join(json.dumps(each) for each in lines) + "\n\n")
    table = context(tmp_path, format="json")
    assert read(table) == [(1, "x", None), (2, None, "d")]
    assert read(table, [2, 0]) == [(None, 1), ("d", 2)]


def test_csv_has_line_ends_in_its_fields(tmp_path: Path) -> None:
    with open(tmp_path / "a", "w", newline="") as file:
        csv.writer(file).writerows([[1, "two\nlines", "x"], [], [2, 'a "b"', "y, z"]])
    assert read(context(tmp_path, format="csv")) == [(1, "two\nlines", "x"), (2, 'a "b"', "y, z")]
    assert read(context(tmp_path, format="csv"), [2]) == [("x",), ("y, z",)]


def test_compressed_files(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(b"1,x,y\n2,z,w\n")
    assert read(context(tmp_path, format="csv")) == [(1, "x", "y"), (2, "z", "w")]


@pytest.mark.parametrize("format", ["json", "csv"])
def test_what_was_written_is_read_again(tmp_path: Path, format: str) -> None:
    options = {"csv_null__literal": "NULL"} if format == "csv" else {}
    table = context(tmp_path, format=format, keys=["dt"], **options)
    write(table, batch(ROWS))
    assert sorted(read(table), key=repr) == sorted(ROWS, key=repr)


def test_raw(tmp_path: Path) -> None:
    columns = (Field("line", D.STRING()),)
    table = context(tmp_path, columns, format="raw")
    (tmp_path / "a").write_bytes("a\r\n\nä".encode())
    assert read(table) == [("a",), ("",), ("ä",)]
    write(context(tmp_path / "b", columns, format="raw"), batch([("x",), ("y",)], columns))
    (made,) = (tmp_path / "b").iterdir()
    assert made.read_bytes() == b"x\ny\n"


def test_a_malformed_line_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"id": 1}\n{"id": \n')
    with pytest.raises(RecordError, match=rf"{tmp_path}/a, line 2: table c.d.t: .*'ignore-parse-errors'"):
        read(context(tmp_path, format="json"))
    assert read(context(tmp_path, format="json", json_ignore__parse__errors="true")) == [(1, None, None)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_counts_those_within_records_and_empty_ones(tmp_path: Path, end: str) -> None:
    lines = ['1,"two', 'lines",x', "", "2,a,b", "oops,a,b", "3,a,b"]
    (tmp_path / "a").write_bytes(end.join(lines).encode())
    with pytest.raises(RecordError, match=rf"{tmp_path}/a, line 5: table c.d.t: field 'id': .*'oops'"):
        read(context(tmp_path, format="csv"))


def test_a_line_of_names_is_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('id,"name",dt\n1,x,y\n')
    with pytest.raises(RecordError, match=rf"{tmp_path}/a, line 1 .*'csv.header' = 'true'"):
        read(context(tmp_path, format="csv"))
    assert read(context(tmp_path, format="csv", csv_header="true")) == [(1, "x", "y")]


def test_changes(tmp_path: Path) -> None:
    """Debezium's format: op c is an insertion, u an update, d a deletion."""
    row = {"id": 1, "name": "x", "dt": "d"}
    events = [
        {"before": None, "after": row, "op": "c"},
        {"before": row, "after": {**row, "name": "y"}, "op": "u"},
        {"before": {**row, "name": "y"}, "after": None, "op": "d"},
    ]
    (tmp_path / "a").write_text("".join(json.dumps(each) + "\n" for each in events))
    table = source(context(tmp_path, format="debezium-json"))
    assert RowKind.DELETE in table.kinds
    run = SourceRun(table.stream([1, 0]))
    run.epoch()
    [rows] = run.outputs[0].records
    assert plain(rows, [COLUMNS[1], COLUMNS[0]]) == [("x", 1), ("x", 1), ("y", 1), ("y", 1)]
    assert rows.kind_values().tolist() == [kind.value for kind in RowKind]
    sink = FileSystemFactory().sink(context(tmp_path / "b", format="debezium-json"))
    assert sink.kinds >= {RowKind.INSERT, RowKind.DELETE}
    write(
        context(tmp_path / "b", format="debezium-json"),
        rows.with_columns([rows.columns[1], rows.columns[0], rows.columns[0]]),
    )
    (made,) = (tmp_path / "b").iterdir()
    assert len(made.read_text().splitlines()) == 4


TEXTS = st.lists(st.tuples(st.integers(0, 99), st.text(alphabet='a",\n é', max_size=9)), min_size=1, max_size=25)


@pytest.mark.parametrize("format", ["csv", "json"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=TEXTS, size=st.integers(1, 60), parallelism=st.integers(1, 3), budget=st.integers(1, 3))
def test_property_each_message_is_read_once(
    tmp_path: Path, format: str, rows: list[tuple[int, str]], size: int, parallelism: int, budget: int
) -> None:
    """In blocks and splits of any size, with a new reader after every few batches."""
    columns = COLUMNS[:2]
    path = tmp_path / "file"
    with open(path, "w", newline="", encoding="utf-8") as file:
        if format == "csv":
            csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
        else:
            file.writelines(json.dumps({"id": number, "name": text}) + "\n" for number, text in rows)
    made = source(context(tmp_path, columns, format=format))
    stream: Any = made.stream([0, 1])
    provider = made.files(())
    object.__setattr__(provider, "split_size", max(1, path.stat().st_size // parallelism))
    stream._provider = provider
    before, line_formats.FETCH_BYTES = line_formats.FETCH_BYTES, size
    try:
        run = SourceRun(stream, parallelism)
        while len(run.ended) < parallelism:
            run.epoch(budget)
    finally:
        line_formats.FETCH_BYTES = before
    found = [row for output in run.outputs for part in output.records for row in plain(part, columns)]
    assert sorted(found) == sorted(rows)


MARKED = ("utf-8-sig", "utf-16", "utf-32")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("encoding", MARKED)
def test_the_mark_of_an_encoding_is_no_part_of_a_value(tmp_path: Path, encoding: str, packed: bool) -> None:
    def file(name: str, text: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        content = text.encode(encoding)
        (folder / ("a.gz" if packed else "a")).write_bytes(gzip.compress(content) if packed else content)
        return folder

    rows = [(1, "é", "x"), (2, "two", "y")]
    quoted = file("quoted", '"1","é",x\n2,two,y\n')
    assert read(context(quoted, format="csv", csv_ignore__parse__errors="true")) == rows
    assert read(context(quoted, format="csv")) == rows
    assert read(context(file("head", "id,name,dt\n1,é,x\n2,two,y"), format="csv", csv_header="true")) == rows
    lines = "".join(json.dumps(dict(zip(("id", "name", "dt"), row)), ensure_ascii=False) + "\n" for row in rows)
    assert read(context(file("json", lines), format="json", json_ignore__parse__errors="true")) == rows
    raw = context(file("raw", "é\nb\n"), (Field("line", D.STRING()),), format="raw")
    assert read(raw) == [("é",), ("b",)]


def test_bytes_of_a_raw_column_have_no_mark(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa\n")
    assert read(context(tmp_path, (Field("line", D.BYTES()),), format="raw")) == [(b"\xef\xbb\xbfa",)]


@pytest.mark.parametrize("more", [{}, {"csv_disable__quote__character": "true"}])
@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_every_end_of_a_line_ends_a_record_of_csv(tmp_path: Path, end: str, more: dict[str, Any]) -> None:
    """As Jackson reads them for Flink: four rows of four lines."""
    (tmp_path / "a").write_bytes(end.join(["1,a,x", "2,b,y", "3,,z", "4,d,w"]).encode())
    rows = [(1, "a", "x"), (2, "b", "y"), (3, None, "z"), (4, "d", "w")]
    assert [tuple(each or None for each in row) for row in read(context(tmp_path, format="csv", **more))] == rows


def test_the_line_of_an_error_where_lines_end_with_a_return(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1,a,x\r2,b,y\rthree,c,z\r")
    with pytest.raises(RecordError, match=r"/a, line 3: .*field 'id'"):
        read(context(tmp_path, format="csv"))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.text('ab\r\n ,"é', max_size=4)), min_size=1, max_size=12),
    st.sampled_from(("\r", "\n", "\r\n")),
    st.sampled_from(("utf-8", *MARKED)),
    st.integers(1, 9),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_property_csv_of_all_line_ends_and_encodings(
    tmp_path: Path, rows: list[tuple[int, str]], end: str, encoding: str, fetch: int
) -> None:
    with open(tmp_path / "a", "w", newline="", encoding=encoding) as file:
        csv.writer(file, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    columns = (Field("id", D.INT()), Field("name", D.STRING()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_formats, "FETCH_BYTES", fetch)
        assert read(context(tmp_path, columns, format="csv")) == [(number, text) for number, text in rows]
