"""Files and folders that are there as a whole or not at all."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from millrace.cluster import durable_files


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    durable_files.write_file(str(path), b"first")
    durable_files.write_file(str(path), b"second")
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["a"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_old_content_stays_when_the_writer_dies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    durable_files.write_file(str(path), b"first")
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(os, "replace", lambda *_: os._exit(7))
        durable_files.write_file(str(path), b"second")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert path.read_bytes() == b"first"
    assert [durable_files.is_unfinished(name) for name in sorted(os.listdir(tmp_path))] == [True, False]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    durable_files.write_file(str(path), b"first")

    def fail(*_: object) -> None:
        raise OSError("not now")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="not now"):
        durable_files.write_file(str(path), b"second")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_is_written_once(tmp_path: Path) -> None:
    path = str(tmp_path / "f")
    assert durable_files.write_folder(path, {"x": b"1", "y": b"2"})
    assert not durable_files.write_folder(path, {"x": b"3"})
    assert (tmp_path / "f" / "x").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["f"]


def test_a_folder_moves_once(tmp_path: Path) -> None:
    durable_files.write_folder(str(tmp_path / "f"), {"x": b"1"})
    assert durable_files.move(str(tmp_path / "f"), str(tmp_path / "g"))
    assert not durable_files.move(str(tmp_path / "f"), str(tmp_path / "g"))
    durable_files.write_folder(str(tmp_path / "f"), {"x": b"2"})
    assert not durable_files.move(str(tmp_path / "f"), str(tmp_path / "g"))
    assert (tmp_path / "g" / "x").read_bytes() == b"1"


def test_lines_are_added(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    durable_files.append_line(str(path), b"a")
    durable_files.append_line(str(path), b"b")
    assert path.read_bytes().split() == [b"a", b"b"]


def test_what_dead_writers_have_left_is_swept_away(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:  # begins a file and a folder, and dies
        Path(durable_files.unfinished_in(str(tmp_path))).write_bytes(b"x")
        os.mkdir(durable_files.unfinished_in(str(tmp_path)))
        os._exit(0)
    os.waitpid(child, 0)
    mine = Path(durable_files.unfinished_in(str(tmp_path)))
    mine.write_bytes(b"at work")
    assert len(os.listdir(tmp_path)) == 3
    durable_files.sweep(str(tmp_path))
    assert os.listdir(tmp_path) == [mine.name]
    durable_files.sweep(str(tmp_path / "nowhere"))


def test_a_copy_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    class Breaks(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise OSError("the connection is gone")

    path = tmp_path / "copy"
    with pytest.raises(OSError, match="gone"):
        durable_files.copy_file(Breaks(), str(path))
    assert os.listdir(tmp_path) == []
    durable_files.copy_file(io.BytesIO(b"content"), str(path))
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"content", 0o600)
