"""No more room: one error that names the place and the way out, and nothing half written stays."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millrace.checkpoint.folder import LocalFolder
from millrace.cluster import durable_files
from millrace.util.system import few_descriptors, no_room, write_all

LIMIT = 64 << 10
MUCH = b"x" * (LIMIT * 2)


@contextlib.contextmanager
def little_room() -> Iterator[None]:
    """Files of this process may not become larger, which the system says as it says that a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def write_state(folder: Path) -> None:
    LocalFolder(str(folder)).write("state", [b"y", MUCH])


def write_new_state(folder: Path) -> None:
    LocalFolder(str(folder)).write_new("state", MUCH)


def write_durably(folder: Path) -> None:
    durable_files.write_file(str(folder / "state"), MUCH)


def copy(folder: Path) -> None:
    with open(folder.parent / "source", "rb") as source:
        durable_files.copy_file(source, str(folder / "state"))


def write_folder(folder: Path) -> None:
    durable_files.write_folder(str(folder / "state"), {"a": b"", "b": MUCH})


WRITES: list[Callable[[Path], None]] = [write_state, write_new_state, write_durably, copy, write_folder]


@pytest.mark.parametrize("write", WRITES)
def test_the_error_names_the_file_and_nothing_stays(write: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(MUCH)
    folder = tmp_path / "folder"
    folder.mkdir()
    with little_room(), pytest.raises(OSError, match=r"File too large \(.*ulimit -f\): '.*/folder/") as raised:
        write(folder)
    assert raised.value.errno == errno.EFBIG
    assert list(folder.iterdir()) == []
    write(folder)  # there is room again
    assert [path.name for path in folder.iterdir()] == ["state"]


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    for write in (write_state, write_durably):
        (tmp_path / "state").write_bytes(b"before")
        with little_room(), pytest.raises(OSError, match="File too large"):
            write(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["state"]
        assert (tmp_path / "state").read_bytes() == b"before"


def test_a_line_is_not_lost_in_silence(tmp_path: Path) -> None:
    """The system takes the part for which there is room; that was no error."""
    path = tmp_path / "lines"
    path.write_bytes(b"x" * (LIMIT - 3))
    with little_room(), pytest.raises(OSError, match=f"'{path}'"):
        durable_files.append_line(str(path), b"a line")


def test_all_is_written_to_a_pipe_that_takes_parts() -> None:
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        with pytest.raises(BlockingIOError):
            write_all(writing, bytes(1 << 20))
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOSPC, "No space left on device (the disk is full: make room there, or choose another folder)"),
        (errno.EMFILE, "Too many open files (this process may not open more files: raise ulimit -n)"),
    ],
)
def test_the_words(number: int, text: str) -> None:
    better = no_room(OSError(number, os.strerror(number)), "/state")
    assert str(better) == f"[Errno {number}] {text}: '/state'"
    assert no_room(better, "/elsewhere") is better, "it is said once"


def test_other_errors_stay_what_they_are() -> None:
    error = PermissionError(errno.EACCES, "Permission denied")
    assert no_room(error, "/state") is error
    assert no_room(other := OSError("words"), "/state") is other


@pytest.mark.parametrize(("most", "said"), [(256, "no more than 256 files may be open here"), (4096, ""), (-1, "")])
def test_few_descriptors_are_a_reason(most: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, most))
    assert said in few_descriptors()
    assert bool(said) == bool(few_descriptors())
