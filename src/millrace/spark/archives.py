"""Archives: folders of Python modules as zip files, and safe unpacking of zip and tar files.

No member of an archive can leave the folder that it is unpacked into, and size, number of members and ratio of
compression have limits.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO

from millrace.util.folders import make_private

MAX_FILES = 2_000
MAX_ZIPPED_BYTES = 20 * 1024 * 1024


class FolderTooLargeError(ValueError):
    """The folder holds more modules than belong to one program."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"{folder} holds too many Python files to send to the workers (over {MAX_FILES} files or "
            f"{MAX_ZIPPED_BYTES >> 20} MB)"
        )


def zip_modules(folder: str, target: str) -> str:
    """Write all modules of a program that can be imported from ``folder`` into the zip file ``target``.

    Raises ``FolderTooLargeError`` rather than shipping somebody's home directory.
    """
    size = 0
    for count, file in enumerate(_modules(folder), start=1):
        size += os.path.getsize(file)
        if count > MAX_FILES or size > MAX_ZIPPED_BYTES:
            raise FolderTooLargeError(folder)
    return zip_package(folder, target)


def zip_package(folder: str, target: str, prefix: str = "") -> str:
    """All modules of a folder, however many, as the zip file ``target``; ``prefix`` is a folder in it."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _modules(folder):
            archive.write(file, os.path.join(prefix, os.path.relpath(file, folder)))
    return target


def _modules(folder: str) -> Iterator[str]:
    """Yield the paths of the .py files below a folder that ``import`` can reach, without virtual environments."""
    for current, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if _is_package(current, name))
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.join(current, name)


def _is_package(parent: str, name: str) -> bool:
    if not name.isidentifier() or name == "__pycache__":
        return False
    return not os.path.exists(os.path.join(parent, name, "pyvenv.cfg"))


# Unpacking

MAX_MEMBERS = 1_000_000
MAX_BYTES = 32 << 30
MAX_RATIO = 250
"""The most bytes that an archive may unpack to, as a multiple of its own size (see ``UNSUSPICIOUS_BYTES``)."""
UNSUSPICIOUS_BYTES = 1 << 30
"""An archive that unpacks to at most this many bytes is never refused for its ratio: files of zeros compress well."""


class ArchiveError(ValueError):
    """The file is no zip or tar archive, or it is not safe to unpack; the text names the member."""


@dataclass(frozen=True)
class _Member:
    name: str
    mode: int
    """type and permissions, as in ``stat``"""
    size: int = 0
    """bytes"""
    content: Callable[[], IO[bytes]] | None = None
    link: str | None = None
    """target of a symbolic link, relative to the link"""
    same_as: str | None = None
    """member that a hard link is another name of"""


def unpack(path: str, folder: str) -> None:
    """Unpack a zip (also .jar, .whl, .egg) or tar file, with permissions and links.

    :raises ArchiveError: the file is neither; a member would leave ``folder`` or is no file, folder or link; or there
        is far more in it than any archive of files has. Nothing is left of it then.
    """
    temporary = f"{folder}.{os.getpid()}.tmp"
    make_private(temporary)
    try:
        with _members(path) as members:
            _Unpacking(path, os.path.realpath(temporary)).run(members)
        os.rename(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


class _Unpacking:
    """Unpacks one archive into one folder."""

    def __init__(self, path: str, folder: str) -> None:
        self._path = path
        self._folder = folder
        self._bytes = max(UNSUSPICIOUS_BYTES, MAX_RATIO * os.path.getsize(path))
        self._links: list[tuple[str, str]] = []
        """(name, place) of the symbolic links"""

    def run(self, members: Iterator[_Member]) -> None:
        size = 0
        for count, member in enumerate(members, start=1):
            size += member.size
            if count > MAX_MEMBERS:
                raise ArchiveError(f"{self._path} has more than {MAX_MEMBERS:,} members")
            if size > min(self._bytes, MAX_BYTES):
                raise ArchiveError(
                    f"{self._path} becomes more than {min(self._bytes, MAX_BYTES):,} bytes ({MAX_RATIO} times its own "
                    f"size, and {MAX_BYTES >> 30} GiB at most): it stops at {member.name!r}"
                )
            self._place(member)
        # A link may go through another one that was not there yet: only now it is known where each of them ends.
        for name, place in self._links:
            if not self._is_inside(os.path.realpath(place)):
                raise self._refused(name, "a link that leaves the archive's folder")

    def _place(self, member: _Member) -> None:
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        if member.name.startswith("/") or ".." in parts or "\0" in member.name:
            raise self._refused(member.name, "a name that leaves the archive's folder")
        place = os.path.join(self._folder, *parts)
        if not self._is_inside(os.path.realpath(os.path.dirname(place) if parts else place)):
            raise self._refused(member.name, "a place behind a link that leaves the archive's folder")
        os.makedirs(os.path.dirname(place) if parts else place, exist_ok=True)
        if stat.S_ISDIR(member.mode):
            if not self._is_inside(os.path.realpath(place)):
                raise self._refused(member.name, "a place behind a link that leaves the archive's folder")
            os.makedirs(place, exist_ok=True)
            return
        if os.path.lexists(place):
            os.unlink(place)  # never through a link that is there already
        if member.link is not None:
            self._symbolic_link(member, place)
        elif member.same_as is not None:
            self._hard_link(member, place)
        elif member.content is not None:
            with member.content() as source, open(place, "xb") as target:
                shutil.copyfileobj(source, target)
            os.chmod(place, stat.S_IMODE(member.mode) & 0o777 | stat.S_IRUSR | stat.S_IWUSR)
        else:
            raise self._refused(member.name, "neither a file nor a folder nor a link")

    def _symbolic_link(self, member: _Member, place: str) -> None:
        assert member.link is not None
        ends = os.path.normpath(os.path.join(os.path.dirname(place), member.link))
        if os.path.isabs(member.link) or not self._is_inside(ends):
            raise self._refused(member.name, f"a link that leaves the archive's folder, to {member.link!r}")
        os.symlink(member.link, place)
        self._links.append((member.name, place))

    def _hard_link(self, member: _Member, place: str) -> None:
        assert member.same_as is not None
        source = os.path.realpath(os.path.join(self._folder, member.same_as))
        if os.path.isabs(member.same_as) or not self._is_inside(source):
            raise self._refused(member.name, f"a link that leaves the archive's folder, to {member.same_as!r}")
        if not os.path.isfile(source):
            raise self._refused(member.name, f"a link to {member.same_as!r}, which is no file before it")
        os.link(source, place)

    def _is_inside(self, path: str) -> bool:
        return path == self._folder or path.startswith(self._folder + os.sep)

    def _refused(self, name: str, why: str) -> ArchiveError:
        return ArchiveError(
            f"{self._path} is not unpacked: its member {name!r} is {why}; an archive may hold files, folders, and "
            f"links to what is in it (of a virtual environment: python -m venv --copies)"
        )


# -- the two formats --------------------------------------------------------------------------------------------------


@contextmanager
def _members(path: str) -> Iterator[Iterator[_Member]]:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield _of_zip(archive)
    elif tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            yield _of_tar(archive)
    else:
        raise ArchiveError(f"{path} is neither a zip nor a tar file")


def _of_zip(archive: zipfile.ZipFile) -> Iterator[_Member]:
    # Not ZipFile.extract: it forgets permissions, and makes text files of links.
    for entry in archive.infolist():
        mode = entry.external_attr >> 16
        if entry.is_dir():
            yield _Member(entry.filename, stat.S_IFDIR)
        elif stat.S_ISLNK(mode):
            if entry.file_size > os.pathconf("/", "PC_PATH_MAX"):
                raise ArchiveError(f"the link {entry.filename!r} of an archive has a target of {entry.file_size} bytes")
            yield _Member(entry.filename, mode, link=os.fsdecode(archive.read(entry)))
        elif stat.S_IFMT(mode) in (0, stat.S_IFREG):  # no type: made where files have no modes
            permissions = stat.S_IMODE(mode) or 0o644
            yield _Member(entry.filename, permissions, entry.file_size, partial(archive.open, entry))
        else:
            yield _Member(entry.filename, mode)


def _of_tar(archive: tarfile.TarFile) -> Iterator[_Member]:
    for entry in archive:
        if entry.isdir():
            yield _Member(entry.name, stat.S_IFDIR)
        elif entry.issym():
            yield _Member(entry.name, stat.S_IFLNK, link=entry.linkname)
        elif entry.islnk():
            yield _Member(entry.name, stat.S_IFREG, same_as=entry.linkname)
        elif entry.isfile():
            yield _Member(entry.name, entry.mode, entry.size, partial(_content, archive, entry))
        else:
            yield _Member(entry.name, stat.S_IFIFO)


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(entry)
    assert content is not None, "a file has content"
    return content
