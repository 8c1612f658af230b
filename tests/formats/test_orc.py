"""ORC: what is written can be read by pyarrow."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyarrow import orc

from millrace.common import Configuration, Instant, Row, Types
from millrace.connectors.file_system import BucketAssigner, FileSink
from millrace.datastream.formats.orc import OrcBulkWriters
from millrace.formats.arrow_rows import arrow_schema
from millrace.testing.connectors.runtime import SinkRun

TYPES = {
    "s": (Types.STRING(), "ü"),
    "b": (Types.BOOLEAN(), True),
    "i": (Types.INT(), -5),
    "l": (Types.LONG(), 2**63 - 1),
    "f": (Types.FLOAT(), 0.5),
    "d": (Types.DOUBLE(), 0.1),
    "dec": (Types.BIG_DEC(), Decimal("1.500000000000000000")),
    "day": (Types.SQL_DATE(), dt.date(2024, 2, 29)),
    "at": (Types.SQL_TIMESTAMP(), dt.datetime(2024, 2, 29, 1, 2, 3, 4000)),
    "moment": (Types.INSTANT(), Instant(1, 500_000_000)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    "list": (Types.LIST(Types.INT()), [1, None]),
    "map": (Types.MAP(Types.STRING(), Types.INT()), {"k": 3, "z": None}),
    "row": (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()]), Row(x=1, y="a")),
}
TYPE = Types.ROW_NAMED(list(TYPES), [type_ for type_, _ in TYPES.values()])
ROW = Row(**{name: value for name, (_, value) in TYPES.items()})
NONE = Row(**dict.fromkeys(TYPES))
PLAIN = {
    **{name: value for name, (_, value) in TYPES.items()},
    "moment": dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, dt.timezone.utc),
    "map": [("k", 3), ("z", None)],
    "row": {"x": 1, "y": "a"},
}


def write(base: Path, row_type: Any, *epochs: list[Any], **options: Any) -> list[orc.ORCFile]:
    sink = FileSink.for_bulk_format(str(base), OrcBulkWriters.for_row_type(row_type, **options))
    run = SinkRun(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    for elements in epochs:
        run.epoch(elements)
    run.epoch([], end=True)
    return [orc.ORCFile(path) for path in sorted(base.iterdir()) if path.is_file()]


@pytest.mark.parametrize("row_type", [TYPE, arrow_schema(TYPE)])
def test_every_type(tmp_path: Path, row_type: Any) -> None:
    files = write(tmp_path, row_type, [ROW, NONE, ROW.as_dict()], [tuple(ROW)])
    found = [row for file in files for row in file.read().to_pylist()]
    assert sorted(found, key=lambda row: row["s"] is None) == [PLAIN, PLAIN, PLAIN, dict.fromkeys(TYPES)]
    assert {file.compression for file in files} == {"ZLIB"}


def test_properties_of_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.formats.orc.ROWS", 100)
    properties = Configuration()
    properties.set_string("orc.compress", "SNAPPY").set_string("orc.row.index.stride", "50")
    properties.set_string("orc.bloom.filter.fpp", "0.01")
    row_type = Types.ROW_NAMED(["n"], [Types.INT()])
    [file] = write(tmp_path, row_type, [(n,) for n in range(250)], writer_properties=properties)
    assert file.read()["n"].to_pylist() == list(range(250))
    assert (file.compression, file.row_index_stride) == ("SNAPPY", 50)
    properties.set_string("orc.compress", "NONE")
    factory = OrcBulkWriters.for_row_type(row_type, properties)
    with (tmp_path / "plain").open("wb") as stream:
        writer = factory.create(stream)
        writer.add_element((1,))
        writer.finish()
    assert orc.ORCFile(tmp_path / "plain").compression == "UNCOMPRESSED"


def test_what_orc_does_not_have_shows_in_the_program() -> None:
    with pytest.raises(ValueError, match=r"(?s)^ORC can't write t: time64.*:"):
        OrcBulkWriters.for_row_type(Types.ROW_NAMED(["t"], [Types.SQL_TIME()]))
    properties = Configuration().set_string("orc.compress", "SHINY")
    with pytest.raises(ValueError, match=r"(?s)^ORC can't write|Unknown"):
        OrcBulkWriters.for_row_type(Types.ROW_NAMED(["n"], [Types.INT()]), properties)
