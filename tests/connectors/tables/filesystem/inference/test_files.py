"""The columns of files whose encoding their first bytes say."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.connectors.tables.filesystem.inference import files


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("format", "text"),
    [("csv", "größe,n\nx,1\ny,2\n"), ("csv", "größe,n\rx,1\ry,2\r"), ("json", '{"größe": "x", "n": 1}\n')],
)
def test_a_mark_is_no_part_of_a_name(tmp_path: Path, format: str, text: str, encoding: str) -> None:
    (tmp_path / "a").write_bytes(text.encode(encoding))
    found = files.inferred({"path": str(tmp_path), "format": format}, "t")
    assert [f"{each.name} {each.type}" for each in found.columns] == ["größe STRING", "n BIGINT"]


def test_the_beginning_of_a_long_file_in_utf_16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes("n,w\n1,x\n2,y\n3,z\n".encode("utf-16"))
    monkeypatch.setattr(files, "SAMPLE", 21)  # half a character is left
    found = files.inferred({"path": str(tmp_path), "format": "csv"}, "t")
    assert [f"{each.name} {each.type}" for each in found.columns] == ["n BIGINT", "w STRING"]
