"""Folders, local and behind a file system of pyarrow: files appear whole, are read in part, nothing is left over."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.fs as fs
import pytest

from millrace.checkpoint import folder as aside
from millrace.checkpoint.folder import Folder, LocalFolder, RemoteFolder
from millrace.util.system import this_machine

HALF = """
import os, sys
from millrace.checkpoint.folder import LocalFolder
def pieces():
    yield b"half"
    os._exit(9)
LocalFolder(sys.argv[1]).write("deep/file", pieces())
"""


@pytest.fixture(params=["local", "remote"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    if request.param == "local":
        return LocalFolder(str(tmp_path / "root"))
    return RemoteFolder("mock://root", fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "root")


def test_files_and_parts_of_them(folder: Folder) -> None:
    assert folder.sizes() == {}
    assert folder.write("a/b/file", [b"0123", b"456789"]) == 10
    folder.write("other", [b""])
    assert folder.files() == ["a/b/file", "other"]
    assert folder.sizes() == {"a/b/file": 10, "other": 0}
    assert folder.sizes("a") == {"a/b/file": 10}
    assert bytes(folder.read_range("a/b/file", 3, 4)) == b"3456"
    assert bytes(folder.read_range("a/b/file", 8, 100)) == b"89"
    with folder.open("a/b/file") as file:
        assert (file.size, bytes(file.read(0, 1)), bytes(file.read(9, 1))) == (10, b"0", b"9")
    with pytest.raises(FileNotFoundError):
        folder.open("none")
    folder.persist(["a/b/file", "gone"])
    assert bytes(folder.read("a/b/file")) == b"0123456789"


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def pieces() -> object:
        yield b"half"
        raise KeyError

    with pytest.raises(KeyError):
        LocalFolder(str(tmp_path)).write("file", pieces())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_was_writing_goes(tmp_path: Path) -> None:
    folder = LocalFolder(str(tmp_path))
    folder.write("deep/whole", [b"whole"])
    subprocess.run([sys.executable, "-c", HALF, str(tmp_path)], check=False)
    assert len(list((tmp_path / "deep").iterdir())) == 2
    assert folder.files() == ["deep/whole"]
    folder.sweep()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["whole"]


def test_what_somebody_may_be_writing_stays(tmp_path: Path) -> None:
    names = {
        "living": aside.name_aside("file"),
        "young, of another machine": "file.00000000-1-12345678.tmp",
        "old, of another machine": "file.00000001-1-12345678.tmp",
        "dead": f"file.{this_machine()}-{2**22 + 1}-12345678.tmp",
    }
    for name in names.values():
        (tmp_path / name).touch()
    old = time.time() - aside.ABANDONED_SECONDS - 1
    os.utime(tmp_path / names["living"], (old, old))
    os.utime(tmp_path / names["old, of another machine"], (old, old))
    LocalFolder(str(tmp_path)).sweep()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {names["living"], names["young, of another machine"]}


def test_old_leftovers_go_behind_a_file_system(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for name, age in (("old.tmp", aside.ABANDONED_SECONDS + 60), ("young.tmp", 0.0), ("old", 9_000.0)):
        (tmp_path / "root" / name).touch()
        os.utime(tmp_path / "root" / name, (time.time() - age, time.time() - age))
    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    RemoteFolder("mock://root", system, "root").sweep()
    assert sorted(path.name for path in (tmp_path / "root").iterdir()) == ["old", "young.tmp"]


def test_a_file_that_must_be_new(folder: Folder) -> None:
    assert folder.write_new("a/claim", b"one") == 3
    assert folder.write_new("a/claim", b"one") == 3  # the answer to the first attempt was lost
    with pytest.raises(FileExistsError, match="a/claim is there already"):
        folder.write_new("a/claim", b"other")
    assert bytes(folder.read("a/claim")) == b"one"
    assert folder.files() == ["a/claim"]


def test_of_many_writers_of_a_new_file_one_wins(tmp_path: Path) -> None:
    def attempt(number: int) -> int:
        try:
            return LocalFolder(str(tmp_path)).write_new("claim", str(number).encode())
        except FileExistsError:
            return 0

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(8))) == 1
    assert LocalFolder(str(tmp_path)).files() == ["claim"]


def test_a_writer_that_fails_leaves_nothing(folder: Folder) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        folder.write("file", pieces())
    assert folder.files() == []
