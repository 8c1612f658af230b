"""Folders in storages of a user's own are folders like others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.testing.conformance import storages
from tests.testing.conformance.storages import MEMORY, SqliteFiles

from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.restore import snapshot_path
from millrace.checkpoint.stored_file import OwnFolder
from millrace.common.files.file_systems import absolute

URI = f"plugin://{storages.__name__}:MemoryFiles/place"


@pytest.fixture
def folder() -> Iterator[Folder]:
    yield open_folder(URI)
    MEMORY.clear()


def test_a_uri_leads_to_it(folder: Folder) -> None:
    assert isinstance(folder, OwnFolder)
    assert folder.uri == URI
    assert absolute(URI) == URI
    assert open_folder(URI + "/").uri == URI


def test_it_is_like_one_on_the_disk(folder: Folder, tmp_path: Path) -> None:
    for either in (folder, open_folder(str(tmp_path / "x"))):
        job = either.child("job")
        assert job.write("shared/1", iter([b"ab", memoryview(b"cde")])) == 5
        assert bytes(either.read("job/shared/1")) == b"abcde"
        assert either.files() == ["job/shared/1"]
        shared = job.child("shared")
        assert shared.uri == f"{either.uri}/job/shared"
        assert shared.files() == ["1"]
        assert (shared.size("1"), shared.size("2")) == (5, None)
        assert bytes(open_folder(shared.uri).read("1")) == b"abcde"
        shared.write("2", [])
        assert job.files("shared") == ["shared/1", "shared/2"]
        shared.delete("2")
        shared.delete("2")
        with pytest.raises(FileNotFoundError):
            shared.read("2")
        job.delete_tree("shared")
        assert either.files() == []


def test_parts_of_files(folder: Folder) -> None:
    assert isinstance(folder, OwnFolder)
    child = folder.child("a")
    child.write("f", [b"0123456789"])
    assert child.read_range("f", 3, 4) == b"3456"  # type: ignore[attr-defined]


def test_checkpoints_are_found_by_their_uri(folder: Folder) -> None:
    for number in (1, 12):
        folder.write(f"chk-{number}/_metadata", [b"{}"])
    assert snapshot_path(URI) == f"{URI}/chk-12"
    assert snapshot_path(f"{URI}/chk-1/_metadata") == f"{URI}/chk-1"


def test_what_is_wrong_is_said_with_the_uri() -> None:
    with pytest.raises(ValueError, match=r"^plugin:///x: a storage of your own is plugin://package.module:Class/loc"):
        open_folder("plugin:///x")
    with pytest.raises(ValueError, match=r"^plugin://nothing:There/x: module nothing of 'nothing:There' can't be im"):
        open_folder("plugin://nothing:There/x")
    with pytest.raises(TypeError, match=r"lacks delete\(\)"):
        open_folder(f"plugin://{storages.__name__}:NoFiles/x")
    name = f"plugin://{storages.__name__}:{SqliteFiles.__name__}/relative"
    with pytest.raises(ValueError, match="SqliteFiles can't be opened at 'relative': ValueError: the database needs"):
        open_folder(name)
