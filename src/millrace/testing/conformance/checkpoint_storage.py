"""``check_checkpoint_storage``: tests that files appear as a whole, are visible everywhere at once, and stay
unchanged."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from millrace.common.state.storage import CheckpointFiles
from millrace.testing.conformance.checks import Check, expect, run_all

__all__ = ["check_checkpoint_storage", "checkpoint_storage_checks"]

Make = Callable[[str], CheckpointFiles]

SIZE = 64 * 1024
"""Size of the files that are written and read concurrently (bytes)."""


def check_checkpoint_storage(storage: Make, location: str = "") -> list[str]:
    """Run all checks below a location, in folders that they make and delete; returns the names of the checks.

        >>> import pathlib
        >>> class Folder(CheckpointFiles):
        ...     def __init__(self, location):
        ...         self.folder = pathlib.Path(location or "files")
        ...     def write(self, name, data):
        ...         (self.folder / name).write_bytes(data)
        ...     def read(self, name):
        ...         return (self.folder / name).read_bytes()
        ...     def delete(self, name):
        ...         (self.folder / name).unlink(missing_ok=True)
        ...     def files(self, prefix=""):
        ...         return [(path.name, path.stat().st_size) for path in self.folder.glob("*")]
        >>> checks = [check.name for check in checkpoint_storage_checks(Folder)]
        >>> checks[0]
        'What is not there is told so'

    :param storage: the class, or what makes an object of it from a location.
    :raises ConformanceError: with everything that the storage gets wrong.
    """
    name = getattr(storage, "__qualname__", str(storage))
    return run_all(f"checkpoint storage {name}", checkpoint_storage_checks(storage, location))


def checkpoint_storage_checks(storage: Make, location: str = "") -> list[Check]:
    """The checks one by one, for ``pytest.mark.parametrize("check", checkpoint_storage_checks(...), ids=str)``.

    >>> isinstance(checkpoint_storage_checks(JobManagerCheckpointStorage()), list)
    True
    """
    functions = (
        _missing, _content, _replaced, _sizes, _ranges, _folders, _deleted, _broken_off, _two_at_once, _others, _nested
    )  # fmt: skip
    return [Check((function.__doc__ or "").rstrip("."), _in(function, storage, location)) for function in functions]


class _Place:
    """A location that belongs to one check."""

    def __init__(self, storage: Make, location: str) -> None:
        self._storage = storage
        self.location = f"{location.rstrip('/')}/check-{uuid.uuid4().hex[:8]}".lstrip("/" if not location else "")

    def open(self, below: str = "") -> CheckpointFiles:
        return self._storage(self.location + below)


def _in(function: Callable[[_Place], None], storage: Make, location: str) -> Callable[[], None]:
    def run() -> None:
        place = _Place(storage, location)
        try:
            function(place)
        finally:
            place.open().delete_below("")

    return run


def _missing(place: _Place) -> None:
    """What is not there is told so."""
    files = place.open()
    calls: list[Callable[[], bytes]] = [lambda: files.read("no/file"), lambda: files.read_range("no/file", 0, 1)]
    for call in calls:
        try:
            call()
        except FileNotFoundError:
            continue
        raise AssertionError("reading a file that is not there must raise FileNotFoundError")
    expect(files.size("no/file"), None, "size() of a file that is not there")
    expect(list(files.files("")), [], "files() of a place where nothing was written")
    expect(list(files.files("no")), [], "files() of a folder that is not there")
    files.delete("no/file")
    files.delete_below("no")


def _content(place: _Place) -> None:
    """What is written is read."""
    files = place.open()
    contents: dict[str, list[Any]] = {
        "chk-1/_metadata": [b"{}"],
        "shared/0-1/000-17.delta": [b"one", memoryview(b"two"), b"", bytearray(b"three")],
        "empty": [],
        "all bytes": [bytes(range(256))],
    }
    for path, pieces in contents.items():
        files.write(path, iter(pieces))
    for path, pieces in contents.items():
        expect(bytes(files.read(path)), b"".join(pieces), f"content of {path!r}")


def _replaced(place: _Place) -> None:
    """A file of the same name is replaced."""
    files = place.open()
    files.write("a", [b"a long content"])
    files.write("a", [b"short"])
    expect(bytes(files.read("a")), b"short", "content of a file that was replaced")
    expect(list(files.files("")), ["a"], "files after one was replaced")


def _sizes(place: _Place) -> None:
    """Sizes are known, also of large files."""
    files = place.open()
    files.write("large", (bytes([number]) * 1_000_000 for number in range(5)))
    files.write("small", [b"abc"])
    expect(files.size("large"), 5_000_000, "size of a file of 5 MB")
    expect(files.size("small"), 3, "size of a small file")
    expect(bytes(files.read("large")[-2:]), b"\x04\x04", "the end of a file of 5 MB")


def _ranges(place: _Place) -> None:
    """Parts of files are read."""
    files = place.open()
    files.write("f", [bytes(range(100))])
    for begin, length in ((0, 10), (50, 0), (90, 10), (95, 50), (100, 5), (0, 100)):
        found = bytes(files.read_range("f", begin, length))
        expect(found, bytes(range(100))[begin : begin + length], f"read_range({begin}, {length}) of 100 bytes")


def _folders(place: _Place) -> None:
    """Files are listed below their folders."""
    files = place.open()
    paths = ["1-0/5-1.delta", "1-0/5-1.full", "1-01/5-1.delta", "1-0.txt", "chk-7/_metadata", "x/y/z"]
    for path in paths:
        files.write(path, [b"1"])
    expect(sorted(files.files("")), sorted(paths), "all files")
    expect(sorted(files.files("1-0")), paths[:2], "files below 1-0")
    expect(sorted(files.files("x")), ["x/y/z"], "files below x")
    expect(sorted(files.files("x/y")), ["x/y/z"], "files below x/y")


def _deleted(place: _Place) -> None:
    """What is deleted is gone, and nothing else."""
    files = place.open()
    for path in ("a/1", "a/10", "a/2", "ab/1", "b/a/1"):
        files.write(path, [b"1"])
    files.delete("a/1")
    expect(sorted(files.files("")), ["a/10", "a/2", "ab/1", "b/a/1"], "files after one was deleted")
    files.delete_below("a")
    expect(sorted(files.files("")), ["ab/1", "b/a/1"], "files after a folder was deleted")
    files.write("a/1", [b"again"])
    expect(bytes(files.read("a/1")), b"again", "a file that was deleted and written again")
    files.delete_below("")
    expect(list(files.files("")), [], "files after all were deleted")


def _broken_off(place: _Place) -> None:
    """A write that breaks off leaves nothing."""
    files = place.open()
    files.write("old", [b"old"])
    for path in ("old", "new"):
        try:
            files.write(path, _breaking())
        except OSError:
            continue
        raise AssertionError("write() must raise what its pieces raise")
    expect(bytes(files.read("old")), b"old", "a file whose replacement broke off")
    expect((files.size("new"), list(files.files(""))), (None, ["old"]), "a file whose writing broke off")


def _breaking() -> Iterator[bytes]:
    yield b"x" * SIZE
    raise OSError("broken off")


def _two_at_once(place: _Place) -> None:
    """Readers and writers of one file see whole files only."""
    files = place.open()
    files.write("f", [b"0" * SIZE])
    wrong: list[str] = []

    def write(letter: bytes) -> None:
        for _ in range(20):
            files.write("f", (letter * 1024 for _ in range(SIZE // 1024)))

    def read() -> None:
        for _ in range(60):
            found = bytes(files.read("f"))
            if len(found) != SIZE or len(set(found)) != 1:
                wrong.append(f"{len(found)} bytes of {len(set(found))} writers")

    _at_once([lambda: write(b"a"), lambda: write(b"b"), read], wrong)
    expect(wrong, [], "files seen while others write them")


def _at_once(jobs: Iterable[Callable[[], None]], wrong: list[str]) -> None:
    def told(job: Callable[[], None]) -> None:
        try:
            job()
        except Exception as error:
            wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=told, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _others(place: _Place) -> None:
    """Another process finds everything at once."""
    first, second = place.open(), place.open()
    first.write("a/b", [b"1"])
    expect(bytes(second.read("a/b")), b"1", "what another object of the class has written")
    second.write("a/b", [b"22"])
    expect((bytes(first.read("a/b")), first.size("a/b")), (b"22", 2), "what another object has replaced")
    second.delete("a/b")
    expect((first.size("a/b"), list(first.files(""))), (None, []), "what another object has deleted")


def _nested(place: _Place) -> None:
    """A location goes on with a path."""
    place.open().write("job/shared/1", [b"1"])
    expect(bytes(place.open("/job").read("shared/1")), b"1", "a file by a longer location")
    expect(list(place.open("/job").files("shared")), ["shared/1"], "files by a longer location")
    place.open("/job/shared").write("2", [b"2"])
    expect(sorted(place.open().files("job")), ["job/shared/1", "job/shared/2"], "files written by a longer location")
