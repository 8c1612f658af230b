"""The kit for checkpoint storages: good ones pass it, and each of the broken ones is found out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.testing.conformance.storages import MEMORY, DiskFiles, MemoryFiles, SqliteFiles

from millrace.testing import Check, ConformanceError, check_checkpoint_storage, checkpoint_storage_checks


@pytest.mark.parametrize("check", checkpoint_storage_checks(MemoryFiles, "somewhere"), ids=str)
def test_one_by_one(check: Check) -> None:
    check()
    assert not MEMORY


def test_good_ones_pass(tmp_path: Path) -> None:
    names = check_checkpoint_storage(MemoryFiles)
    assert len(names) == 11
    assert check_checkpoint_storage(DiskFiles, str(tmp_path)) == names
    assert check_checkpoint_storage(SqliteFiles, f"{tmp_path}/files.db!") == names


class AppendsPiece(MemoryFiles):
    """A reader may see half of a file."""

    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        MEMORY[self._path(path)] = b""
        for piece in pieces:
            MEMORY[self._path(path)] += bytes(piece)


class KeepsTheOld(MemoryFiles):
    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        content = b"".join(pieces)
        MEMORY.setdefault(self._path(path), content)


class SwallowsErrors(MemoryFiles):
    def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
        try:
            super().write(path, pieces)
        except OSError:
            pass


class RaisesKeyError(MemoryFiles):
    def read(self, path: str) -> bytes:
        return MEMORY[self._path(path)]


class PrefixIsFolder(MemoryFiles):
    def files(self, folder: str) -> Iterable[str]:
        begin, skip = self._path(folder), len(self.location) + 1
        return [path[skip:] for path in list(MEMORY) if path.startswith(begin)]


class WholePaths(MemoryFiles):
    def files(self, folder: str) -> Iterable[str]:
        return [f"{self.location}/{path}" for path in super().files(folder)]


class DeleteFails(MemoryFiles):
    def delete(self, path: str) -> None:
        del MEMORY[self._path(path)]


class DeletesTooMuch(MemoryFiles):
    def delete(self, path: str) -> None:
        for file in [file for file in MEMORY if file.startswith(self._path(path))]:
            del MEMORY[file]


class OwnMemory(MemoryFiles):
    """What one process writes no other reads."""

    def _path(self, path: str) -> str:
        return super()._path(f"{id(self)}/{path}" if path else str(id(self)))

    def files(self, folder: str) -> Iterable[str]:
        return [path.partition("/")[2] for path in super().files(folder)]


class WrongSize(MemoryFiles):
    def size(self, path: str) -> int | None:
        size = super().size(path)
        return size and size % 1_000_000


class RangeFromEnd(MemoryFiles):
    def read_range(self, path: str, begin: int, length: int) -> bytes:
        return self.read(path)[begin:length]


class Flat(MemoryFiles):
    """A location is a name of its own."""

    def _path(self, path: str) -> str:
        begin = self.location.replace("/", "_")
        return f"{begin}/{path}" if path else begin


@pytest.mark.parametrize(
    ("storage", "found_by"),
    [
        (AppendsPiece, "A write that breaks off leaves nothing"),
        (KeepsTheOld, "A file of the same name is replaced"),
        (SwallowsErrors, "A write that breaks off leaves nothing"),
        (RaisesKeyError, "What is not there is told so"),
        (PrefixIsFolder, "Files are listed below their folders"),
        (WholePaths, "Files are listed below their folders"),
        (DeleteFails, "What is not there is told so"),
        (DeletesTooMuch, "What is deleted is gone, and nothing else"),
        (OwnMemory, "Another process finds everything at once"),
        (WrongSize, "Sizes are known, also of large files"),
        (RangeFromEnd, "Parts of files are read"),
        (Flat, "A location goes on with a path"),
    ],
)
def test_broken_ones_are_found_out(storage: Any, found_by: str) -> None:
    with pytest.raises(ConformanceError) as raised:
        check_checkpoint_storage(storage, "broken")
    assert found_by in raised.value.failures
    assert str(raised.value).startswith(f"checkpoint storage {storage.__name__} fails ")
    MEMORY.clear()


def test_files_that_are_written_in_place_are_found_out(tmp_path: Path) -> None:
    class InPlace(DiskFiles):
        def write(self, path: str, pieces: Iterable[bytes | memoryview]) -> None:
            target = f"{self.location}/{path}"
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                for piece in pieces:
                    file.write(piece)

    with pytest.raises(ConformanceError) as raised:
        check_checkpoint_storage(InPlace, str(tmp_path))
    assert "Readers and writers of one file see whole files only" in raised.value.failures
