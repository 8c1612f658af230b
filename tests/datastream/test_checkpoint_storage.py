"""Where checkpoints go; sizes and limits were read off PyFlink 2.3."""

from __future__ import annotations

from typing import Any

import pytest
from tests.testing.conformance import storages
from tests.testing.conformance.storages import MemoryFiles, NoFiles

from millrace.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)


def test_job_manager_storage() -> None:
    storage = JobManagerCheckpointStorage()
    assert isinstance(storage, CheckpointStorage)
    assert (storage.get_checkpoint_path(), storage.get_savepoint_path()) == (None, None)
    assert storage.get_max_state_size() == 5 * 1024 * 1024
    assert JobManagerCheckpointStorage("file:///tmp/x", 100).get_checkpoint_path() == "file:/tmp/x"
    with pytest.raises(ValueError, match="maxStateSize must be > 0"):
        JobManagerCheckpointStorage(None, 0)


@pytest.mark.parametrize(
    ("threshold", "buffer", "expected"),
    [
        (None, -1, (20480, 20480)),
        (100, -1, (100, 4096)),
        (100, 50, (100, 50)),
        (10_000, 5000, (10_000, 5000)),
        (0, 0, (0, 0)),
    ],
)
def test_file_system_storage_sizes(threshold: int | None, buffer: int, expected: tuple[int, int]) -> None:
    storage = FileSystemCheckpointStorage("file:///tmp/x", threshold, buffer)
    assert (storage.get_min_file_size_threshold(), storage.get_write_buffer_size()) == expected


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("file:///tmp/x/", "file:/tmp/x"),
        ("hdfs://h:1/a//b/", "hdfs://h:1/a/b"),
        ("/tmp/y//z/", "/tmp/y/z"),
        ("s3://bucket/a", "s3://bucket/a"),
    ],
)
def test_paths_that_driver_and_tasks_agree_on(path: str, shown: str) -> None:
    storage = FileSystemCheckpointStorage(path)
    assert (storage.get_checkpoint_path(), storage.location) == (shown, path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (None, "must not be None"),
        ("", "must not be empty"),
        ("rel/x", "must be absolute or have a scheme"),
        ("file:///", "Cannot use the root directory"),
        ("/", "Cannot use the root directory"),
    ],
)
def test_other_paths_are_refused(path: str | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FileSystemCheckpointStorage(path)


def test_sizes_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be in \[-1, 1048576\]"):
        FileSystemCheckpointStorage("/tmp/x", 1024 * 1024 + 1)
    with pytest.raises(ValueError, match="must not be less than -1"):
        FileSystemCheckpointStorage("/tmp/x", None, -7)


STORAGES = storages.__name__


def test_a_storage_of_ones_own_has_a_uri() -> None:
    by_class, by_name = CustomCheckpointStorage(MemoryFiles, "a/b/"), CustomCheckpointStorage(f"{STORAGES}:MemoryFiles")
    assert by_class.get_checkpoint_path() == f"plugin://{STORAGES}:MemoryFiles/a/b"
    assert by_name.get_checkpoint_path() == f"plugin://{STORAGES}:MemoryFiles/"
    assert by_class.get_savepoint_path() is None
    assert str(by_class) == f"CustomCheckpointStorage(plugin://{STORAGES}:MemoryFiles/a/b)"


@pytest.mark.parametrize(
    ("storage", "error", "message"),
    [
        (object(), TypeError, "<object .* is no class"),
        (dict, TypeError, "dict is no subclass of millrace.common.state.storage.CheckpointFiles"),
        (NoFiles, TypeError, r"NoFiles lacks delete\(\), files\(\), write\(\)"),
        ("nowhere:Files", ValueError, "module nowhere of 'nowhere:Files' can't be imported"),
        ("Files", ValueError, "'Files' names no class; write it as package.module:Class"),
    ],
)
def test_what_is_no_storage_is_refused(storage: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^CustomCheckpointStorage: {message}"):
        CustomCheckpointStorage(storage)


def test_a_class_that_nobody_finds_is_refused() -> None:
    class Inner(MemoryFiles):
        pass

    with pytest.raises(ValueError, match="must be at the top of its module to be found by name"):
        CustomCheckpointStorage(Inner)
