"""Files of rows that streams write. The case of Parquet needs the jars of flink-parquet and Hadoop."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink, FileSource
from pyflink.datastream.formats.csv import CsvBulkWriters, CsvSchema
from pyflink.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from pyflink.table import DataTypes
from tests.dropin.checks import elements


def _environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env


def _write(rows: list[Row], row_type: Any, writers: Any) -> str:
    folder = os.path.abspath("out")
    env = _environment()
    sink = FileSink.for_bulk_format(folder, writers).build()
    env.from_collection(rows, type_info=row_type).sink_to(sink)
    env.execute()
    return folder


def _lines(rows: list[Row], row_type: Any, schema: CsvSchema) -> list[str]:
    folder = _write(rows, row_type, CsvBulkWriters.for_schema(schema))
    return [line for file in Path(folder).rglob("part-*") for line in file.read_text().split("\n")[:-1]]


def texts_in_csv_have_jacksons_quotes() -> None:
    """A text is in quotes with a character up to the greater of separator and quote, or when it is long."""
    kind = Types.ROW_NAMED(["n", "text"], [Types.INT(), Types.STRING()])
    schema = CsvSchema.builder().add_number_column("n", DataTypes.INT()).add_string_column("text").build()
    texts = ["plain", "two words", "a#b", "a-b", 'q"q', "a,b", "x" * 24, "x" * 25, ""]
    expected = [
        "0,plain", '1,"two words"', '2,"a#b"', "3,a-b", '4,"q""q"', '5,"a,b"', f"6,{'x' * 24}", f'7,"{"x" * 25}"', "8,",
    ]  # fmt: skip
    assert _lines([Row(at, text) for at, text in enumerate(texts)], kind, schema) == expected


def a_high_separator_in_csv_makes_more_quotes() -> None:
    """With ``|`` every plain word is in quotes."""
    kind = Types.ROW_NAMED(["n", "text"], [Types.INT(), Types.STRING()])
    schema = CsvSchema.builder().add_number_column("n", DataTypes.INT()).add_string_column("text")
    assert _lines([Row(1, "word")], kind, schema.set_column_separator("|").build()) == ['1|"word"']


def numbers_in_csv_are_javas_text() -> None:
    """FLOAT and DOUBLE are written as Java prints them."""
    kind = Types.ROW_NAMED(["f", "d"], [Types.FLOAT(), Types.DOUBLE()])
    schema = CsvSchema.builder().add_number_column("f", DataTypes.FLOAT()).add_number_column("d", DataTypes.DOUBLE())
    rows = [Row(1.1, 1e10), Row(1e-5, 1e-5), Row(2.0, 1.5)]
    assert _lines(rows, kind, schema.build()) == ["1.1,1.0E10", "1.0E-5,1.0E-5", "2.0,1.5"]


def decimals_in_csv_are_rounded() -> None:
    """A DECIMAL with more digits is rounded half up."""
    kind = Types.ROW_NAMED(["d"], [Types.BIG_DEC()])
    schema = CsvSchema.builder().add_number_column("d", DataTypes.DECIMAL(4, 1)).build()
    assert _lines([Row(Decimal("1.25")), Row(Decimal("0.05"))], kind, schema) == ["1.3", "0.1"]


def decimals_in_parquet_are_rounded() -> None:
    """A DECIMAL with more digits is rounded half up."""
    kind = Types.ROW_NAMED(["d"], [Types.BIG_DEC()])
    row_type = DataTypes.ROW([DataTypes.FIELD("d", DataTypes.DECIMAL(4, 1))])
    rows = [Row(Decimal("1.25")), Row(Decimal("0.05"))]
    folder = _write(rows, kind, ParquetBulkWriters.for_row_type(row_type, Configuration(), True))
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type), folder).build()
    stream = _environment().from_source(source, WatermarkStrategy.no_watermarks(), "files")
    found = elements(stream.map(lambda row: str(row[0]), Types.STRING()))
    assert sorted(found) == ["0.1", "1.3"]
