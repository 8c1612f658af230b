"""The columns of files whose encoding their first bytes say."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.connectors.file_system.table.test_sink import write
from tests.connectors.tables.filesystem.tables import batch, context

from millrace.connectors.file_system.table import schema_inference
from millrace.table.sessions.table_info import table_of_file
from millrace.util.exceptions import TableException


@pytest.mark.parametrize("format", ["parquet", "orc", "avro", "json"])
def test_the_first_bytes_say_the_format_of_files_without_an_ending(tmp_path: Path, format: str) -> None:
    write(context(tmp_path, format=format), batch([(1, "x", "y")]))
    assert schema_inference.format_at(str(tmp_path)) == format
    with pytest.raises(TableException, match=rf"or call READ_{format.upper()}\('{tmp_path}'\)"):
        table_of_file(str(tmp_path), None)


def test_nothing_says_a_format(tmp_path: Path) -> None:
    assert schema_inference.format_at(str(tmp_path)) is None
    (tmp_path / "a").write_text("1,2\n")
    assert schema_inference.format_at(str(tmp_path)) is None
    assert schema_inference.format_at(str(tmp_path / "missing")) is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("format", "text"),
    [("csv", "größe,n\nx,1\ny,2\n"), ("csv", "größe,n\rx,1\ry,2\r"), ("json", '{"größe": "x", "n": 1}\n')],
)
def test_a_mark_is_no_part_of_a_name(tmp_path: Path, format: str, text: str, encoding: str) -> None:
    (tmp_path / "a").write_bytes(text.encode(encoding))
    found = schema_inference.inferred({"path": str(tmp_path), "format": format}, "t")
    assert [f"{each.name} {each.type}" for each in found.columns] == ["größe STRING", "n BIGINT"]


def test_the_beginning_of_a_long_file_in_utf_16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes("n,w\n1,x\n2,y\n3,z\n".encode("utf-16"))
    monkeypatch.setattr(schema_inference, "SAMPLE", 21)  # half a character is left
    found = schema_inference.inferred({"path": str(tmp_path), "format": "csv"}, "t")
    assert [f"{each.name} {each.type}" for each in found.columns] == ["n BIGINT", "w STRING"]
