"""CSV: files, writers and messages."""

from __future__ import annotations

import datetime as dt
import io
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
from millrace.connectors.file_system import BucketAssigner, FileSink, FileSource, file_format
from millrace.connectors.file_system.file_source import FileSourceReader
from millrace.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from millrace.formats import csv as csv_module
from millrace.testing.connectors.runtime import Collected, SinkRun, SourceRun, read_all


def source(path: Path, format: CsvReaderFormat) -> FileSource[Row]:
    return FileSource.for_record_stream_format(format, str(path)).build()


def read(path: Path, schema: CsvSchema, budget: int | None = None) -> list[list[Any]]:
    return [list(row) for row in read_all(source(path, CsvReaderFormat.for_schema(schema)), 1, budget)]


def id_name() -> Any:
    return CsvSchema.builder().add_number_column("id", Types.INT()).add_string_column("name")


def test_the_example_of_pyflink(tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_number_column("id", number_type=Types.INT())
        .add_string_column("name")
        .add_array_column("list", ",", element_type=Types.STRING())
        .set_column_separator("|")
        .set_escape_char("\\")
        .set_use_header()
        .set_strict_headers()
        .build()
    )
    assert (len(schema), schema.size()) == (3, 3)
    assert "id: int32" in str(schema)
    path = tmp_path / "x.csv"
    path.write_text('id|name|list\n1|"a|b"|x,y\n2|a\\|b|\n\n-3|"say ""hi""\nthere"|z\n')
    format = CsvReaderFormat.for_schema(schema)
    names, types = ["id", "name", "list"], [Types.INT(), Types.STRING(), Types.LIST(Types.STRING())]
    assert format.get_produced_type() == Types.ROW_NAMED(names, types)
    assert read_all(source(path, format)) == [
        Row(id=1, name="a|b", list=["x", "y"]),
        Row(id=2, name="a|b", list=[]),
        Row(id=-3, name='say "hi"\nthere', list=["z"]),
    ]
    path.write_text("name|id|list\n")
    with pytest.raises(ValueError, match=r"the header is \['name', 'id', 'list'\], but the schema's columns"):
        read(path, schema)


def test_types(tmp_path: Path) -> None:
    builder = (
        CsvSchema.builder().add_boolean_column("flag").add_number_column("big").add_number_column("f", Types.DOUBLE())
    )
    builder.add_number_column("dec", Types.BIG_DEC()).add_number_column("day", Types.SQL_DATE())
    builder.add_number_column("time", Types.SQL_TIME()).add_number_column("at", Types.SQL_TIMESTAMP())
    builder.add_number_column("moment", Types.INSTANT()).add_array_column("n", element_type=Types.INT())
    builder.add_number_column("huge", Types.BIG_INT())
    path = tmp_path / "x.csv"
    path.write_text(
        "true,9223372036854775807,1.5,1.10,2024-02-29,12:30:00,2024-02-29 12:30:00.5,1970-01-01 00:00:01Z,1;2;,"
        f"{10**30}\nFalse,-1,NaN,,,,,,,\n"
    )
    first, second = read(path, builder.build())
    assert first == [
        True,
        2**63 - 1,
        1.5,
        Decimal("1.10"),
        dt.date(2024, 2, 29),
        dt.time(12, 30),
        dt.datetime(2024, 2, 29, 12, 30, 0, 500_000),
        Instant(1, 0),
        [1, 2, None],
        10**30,
    ]
    assert second[:2] == [False, -1] and second[2] != second[2] and second[3:] == [None] * 5 + [[], None]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x,b", "field 'id': not an integer: 'x'"),
        ("1_0,b", "field 'id': not an integer"),
        ("2147483648,b", "field 'id': 2147483648 does not fit into 32 bits"),
        ("1", "2 fields expected, but there are 1"),
        ("1,2,3", "2 fields expected, but there are 3"),
        ('1,"a"b', "',' expected after '\"'"),
        ('1,"a', "unexpected end of data"),
    ],
)
@pytest.mark.parametrize("before", [0, 3, 10])
def test_malformed_records_name_their_line(tmp_path: Path, line: str, reason: str, before: int) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,name\n" + '7,"two\nlines"\n' * before + f"{line}\n")
    schema = id_name().set_use_header().build()
    with pytest.raises(ValueError, match=reason) as error:
        read(path, schema)
    if "expected after" not in reason and "end of data" not in reason:
        assert f"x.csv, line {2 + 2 * before} (byte {8 + 14 * before}): " in str(error.value)
    else:
        assert "x.csv, " in str(error.value)
    tolerant = CsvReaderFormat.for_schema(schema).with_ignore_parse_errors()
    assert len(read_all(source(path, tolerant))) == before


def test_ignored_records_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"1,a\nx,b\n2\n3,\xff\n4,d\n" + b'5,"e"e\n6,f\n')
    reader: FileSourceReader[Row] = FileSourceReader(
        CsvReaderFormat.for_schema(id_name().build()).with_ignore_parse_errors()
    )
    run = SourceRun(source(path, CsvReaderFormat.for_schema(id_name().build())))
    run.plan()
    reader.add_splits(run.splits[0])
    output = Collected()
    while reader.snapshot_state(1):
        reader.poll_next(output)
    assert [row.id for row in output.records] == [1, 4, 6]
    assert reader.parse_errors == 4


def test_comments_nulls_and_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('# "a comment\nid,name\n# another\n0,skipped\n1,"line\n# not a comment"\n#,"\n2,NULL\nNULL,\n')
    schema = id_name().set_allow_comments().set_use_header().set_skip_first_data_row().set_null_value("NULL").build()
    for budget in (None, 1):
        assert read(path, schema, budget) == [[1, "line\n# not a comment"], [2, None], [None, ""]]


def test_without_quotes_and_with_other_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b'1,"a\r\n2,b"\r3,c')
    assert read(path, id_name().disable_quote_char().build()) == [[1, '"a'], [2, 'b"'], [3, "c"]]
    assert read(path, id_name().set_quote_char("'").build()) == [[1, '"a'], [2, 'b"'], [3, "c"]]


def test_builder_refuses_what_is_not_one_character() -> None:
    builder = id_name()
    for call in (builder.set_column_separator, builder.set_quote_char, builder.set_escape_char):
        with pytest.raises(ValueError, match="must be a single char, got ab"):
            call("ab")
    with pytest.raises(ValueError, match="column names must be unique"):
        builder.add_string_column("id").build()
    assert len(builder.clear_columns()) == 0
    copied = CsvSchema.builder().add_columns_from(id_name().build())
    assert copied.build().names == ["id", "name"]


def test_more_fields_than_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,name,more\n1,a,b,c\n2,d\n")
    schema = id_name().set_use_header().set_strict_headers().set_any_property_name("rest")
    assert read(path, schema.build()) == [[1, "a"], [2, "d"]]
    with pytest.raises(ValueError, match=r"2 fields expected, but there are 4"):
        read(path, id_name().set_skip_first_data_row().build())


def test_array_separators(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a;b,c;d\n")
    builder = CsvSchema.builder().add_array_column("x").add_array_column("y", "|")
    assert read(path, builder.build()) == [[["a", "b"], ["c;d"]]]
    assert read(path, builder.remove_array_element_separator(0).build()) == [[["a;b"], ["c;d"]]]
    dialect = builder.set_array_element_separator("+").disable_array_element_separator().disable_escape_char().build()
    assert dialect.dialect.array_separator == ""


fields = st.text(st.sampled_from("ab,\"\n\r'\\#é "), max_size=6)


@given(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(-9, 9)), fields), max_size=25),
    st.sampled_from([None, "\\"]),
    st.integers(1, 12),
    st.integers(1, 4),
    st.lists(st.integers(1, 6), max_size=10),
)
def test_written_rows_come_back_however_reading_is_cut(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int | None, str]],
    escape: str | None,
    fetch: int,
    batch: int,
    cuts: list[int],
) -> None:
    base = tmp_path_factory.mktemp("csv")
    builder = id_name().set_use_header().set_strict_headers()
    schema = (builder.set_escape_char(escape) if escape else builder).build()
    sink = FileSink.for_bulk_format(str(base), CsvBulkWriters.for_schema(schema))
    run = SinkRun(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    run.epoch([Row(id=number, name=text) for number, text in rows], end=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_format.LineBlocks.__init__, "__defaults__", (fetch,))
        patch.setattr(csv_module, "BATCH", batch)
        (read_back,) = SourceRun(source(base, CsvReaderFormat.for_schema(schema))).to_end(iter(cuts))
    assert [tuple(row) for row in read_back] == rows


def test_the_written_text(tmp_path: Path) -> None:
    schema = (
        id_name().add_array_column("l").add_boolean_column("b").set_line_separator("\r\n").set_null_value("-").build()
    )
    writer = pickle.loads(pickle.dumps(CsvBulkWriters.for_schema(schema))).create(stream := io.BytesIO())
    writer.add_element(Row(1, 'a"b', ["x", "y"], True))
    writer.add_element({"id": 2, "name": "c,d", "l": None, "b": False})
    with pytest.raises(ValueError, match=r"the schema has 4 fields \(id, name, l, b\), got 1"):
        writer.add_element(Row(1))
    with pytest.raises(TypeError, match="a Row, tuple or dict is needed, got int 5"):
        writer.add_element(5)
    writer.finish()
    assert stream.getvalue() == b'1,"a""b",x;y,true\r\n2,"c,d",-,false\r\n'


ROW = Types.ROW_NAMED(["id", "name", "tags"], [Types.INT(), Types.STRING(), Types.OBJECT_ARRAY(Types.STRING())])


def test_messages_both_ways() -> None:
    write = (
        CsvRowSerializationSchema.Builder(ROW)
        .set_field_delimiter("|")
        .set_line_delimiter("")
        .set_null_literal("n/a")
        .build()
    )
    read_ = CsvRowDeserializationSchema.Builder(ROW).set_field_delimiter("|").set_null_literal("n/a").build()
    write, read_ = pickle.loads(pickle.dumps((write, read_)))
    row = Row(id=1, name='x|"y"\nz', tags=["a", "b"])
    message = write.serialize(row)
    assert message == b'1|"x|""y""\nz"|"a;b"'
    assert pickle.loads(pickle.dumps(read_)).deserialize(message) == row
    assert read_.deserialize(write.serialize(Row(None, None, None))) == Row(id=None, name=None, tags=None)
    assert read_.get_produced_type() == Types.ROW_NAMED(
        ["id", "name", "tags"], [Types.INT(), Types.STRING(), Types.LIST(Types.STRING())]
    )


def test_message_options() -> None:
    builder = CsvRowDeserializationSchema.Builder(ROW).set_quote_character("'").set_escape_character("\\")
    schema = builder.set_array_element_delimiter(":").set_allow_comments(True).build()
    assert schema.deserialize(b"1,'a,b',x:y") == Row(id=1, name="a,b", tags=["x", "y"])
    assert schema.deserialize(b"# comment") is None
    assert schema.deserialize(b"") is None
    lenient = builder.set_ignore_parse_errors(True).build()
    for wrong, reason, row in (
        (b"1,2", "3 fields expected, but there are 2", Row(id=1, name="2", tags=None)),
        (b"x,y,z", "not an integer", Row(id=None, name="y", tags=["z"])),
        (b"1,2,3,4", "3 fields expected, but there are 4", None),
    ):
        with pytest.raises(ValueError, match=f"Failed to deserialize CSV row .*{reason}"):
            schema.deserialize(wrong)
        assert lenient.deserialize(wrong) == row
    plain = CsvRowSerializationSchema.Builder(ROW).disable_quote_character().set_escape_character("\\").build()
    assert plain.serialize(Row(1, "a,b", None)) == b"1,a\\,b,\n"
    with pytest.raises(ValueError, match="holds the field delimiter"):
        CsvRowSerializationSchema.Builder(ROW).disable_quote_character().build().serialize(Row(1, "a,b", None))
    with pytest.raises(TypeError, match="Type information must not be None"):
        CsvRowSerializationSchema.Builder(None)
    with pytest.raises(TypeError, match="a row type is needed"):
        CsvRowSerializationSchema.Builder(Types.INT())


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"\xef\xbb\xbfid,name\n1,a\nx,b\n")
    schema = id_name().set_use_header().set_strict_headers().build()
    with pytest.raises(ValueError, match=r"x\.csv, line 3 \(byte 15\)"):
        read(path, schema)
    path.write_bytes(b"\xef\xbb\xbfid,name\n1,a\n")
    assert read(path, schema, 1) == [[1, "a"]]
