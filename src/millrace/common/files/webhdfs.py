"""HDFS by its REST interface (WebHDFS), as a file system for pyarrow.

libhdfs is not used: it needs Hadoop's native library and a JVM in each process that reads. Requests that can be
repeated
are repeated: few operations change a file, and a written file is sent as a whole.
"""

from __future__ import annotations

import datetime
import io
import tempfile
import time
from typing import IO, Any
from urllib.parse import quote

import httpx
import pyarrow as pa
from pyarrow import fs

from millrace.common.files.file_access import PositionedFile

__all__ = ["WebHdfs"]


TRY_SECONDS = 60.0
"""how long a request is repeated, with growing pauses (s)"""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 60.0
IN_MEMORY = 8 << 20
"""part of a written file that stays in memory (bytes)"""
READ_AHEAD = 4 << 20
PIECE = 1 << 18
_BYTES = {"content-type": "application/octet-stream"}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_PASSING = frozenset({"StandbyException", "RetriableException", "SafeModeException", "ObserverRetryOnActiveException"})
"""errors that another server, or a later attempt, may not raise"""
_KINDS: dict[str, type[OSError]] = {
    "FileNotFoundException": FileNotFoundError,
    "FileAlreadyExistsException": FileExistsError,
    "AccessControlException": PermissionError,
    "SecurityException": PermissionError,
    "AuthorizationException": PermissionError,
    "ParentNotDirectoryException": NotADirectoryError,
}


class WebHdfs(fs.FileSystemHandler):  # type: ignore[misc]
    """The file system of a NameNode. Paths begin with ``/``.

    :param addresses: of one NameNode or several, of which one is active.
    :param user: user name, for HDFS without authentication.
    :param kerberos: whether HDFS authenticates by Kerberos.
    """

    def __init__(self, addresses: tuple[str, ...], user: str, kerberos: bool = False) -> None:
        self._addresses = addresses
        self._user = user
        self._kerberos = kerberos
        self._active = 0
        self._client = httpx.Client(
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS), auth=_kerberos() if kerberos else None
        )

    def __reduce__(self) -> Any:
        return WebHdfs, (self._addresses, self._user, self._kerberos)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WebHdfs) and self.__reduce__() == other.__reduce__()

    def __hash__(self) -> int:
        return hash(self._addresses)

    def get_type_name(self) -> str:
        return "webhdfs"

    def normalize_path(self, path: str) -> str:
        return path

    # -- asking -------------------------------------------------------------------------------------------------------

    def call(self, method: str, op: str, path: str, content: IO[bytes] | None = None, **parameters: Any) -> Any:
        """Send one operation, and repeat it until it is answered.

        :param content: data for a DataNode, whose address the NameNode returns.
        :raises OSError: HDFS refuses the operation, or no server answers in time.
        """
        until, pause = time.monotonic() + TRY_SECONDS, FIRST_PAUSE
        while True:
            try:
                return self._asked(method, op, path, content, parameters)
            except (httpx.TransportError, _Passing) as error:
                if time.monotonic() + pause > until:
                    raise OSError(
                        f"hdfs: {op} {path} was not answered in {TRY_SECONDS:g} s by {', '.join(self._addresses)}: "
                        f"{type(error).__name__}: {error}"
                    ) from error
            self._active = (self._active + 1) % len(self._addresses)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _asked(self, method: str, op: str, path: str, content: IO[bytes] | None, parameters: dict[str, Any]) -> Any:
        url = f"{self._addresses[self._active]}/webhdfs/v1{quote(path)}"
        query = {"op": op, **parameters} if self._kerberos else {"op": op, "user.name": self._user, **parameters}
        answer = self._client.request(method, url, params=query)
        if answer.has_redirect_location:
            place = answer.headers["location"]
            if content is None:
                answer = self._client.request(method, place)
            else:
                content.seek(0)
                pieces = iter(lambda: content.read(PIECE), b"")
                answer = self._client.request(method, place, content=pieces, headers=_BYTES)
        if answer.is_success:
            return answer
        raise _said(answer, op, path)

    # -- what is there ------------------------------------------------------------------------------------------------

    def get_file_info(self, paths: list[str]) -> list[Any]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> Any:
        try:
            status = self.call("GET", "GETFILESTATUS", path).json()["FileStatus"]
        except (FileNotFoundError, NotADirectoryError):
            return fs.FileInfo(path, fs.FileType.NotFound)
        return _file_info(path, status)

    def get_file_info_selector(self, selector: Any) -> list[Any]:
        found: list[Any] = []
        folders = [selector.base_dir]
        while folders:
            folder = folders.pop()
            try:
                statuses = self.call("GET", "LISTSTATUS", folder).json()["FileStatuses"]["FileStatus"]
            except FileNotFoundError:
                # Others may delete what is below while this goes through it.
                if folder == selector.base_dir and not selector.allow_not_found:
                    raise
                continue
            infos = [_file_info(f"{folder.rstrip('/')}/{each['pathSuffix']}", each) for each in statuses]
            found += infos
            if selector.recursive:
                folders += [each.path for each in infos if each.type == fs.FileType.Directory]
        return found

    # -- changing it --------------------------------------------------------------------------------------------------

    def create_dir(self, path: str, recursive: bool) -> None:
        self.call("PUT", "MKDIRS", path)

    def delete_dir(self, path: str) -> None:
        self._delete(path, "true")

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        selector = fs.FileSelector(path, allow_not_found=missing_dir_ok)
        for each in self.get_file_info_selector(selector):
            self._delete(each.path, "true")

    def delete_root_dir_contents(self) -> None:
        self.delete_dir_contents("/")

    def delete_file(self, path: str) -> None:
        self._delete(path, "false")

    def _delete(self, path: str, recursive: str) -> None:
        if not self.call("DELETE", "DELETE", path, recursive=recursive).json()["boolean"]:
            raise FileNotFoundError(f"hdfs: there is no {path}")

    def move(self, src: str, dest: str) -> None:
        """Move a path atomically; replaces ``dest``."""
        try:
            self.call("PUT", "RENAME", src, destination=dest, renameoptions="OVERWRITE")
        except FileNotFoundError:
            # The answer to an attempt before may have been lost; names here are used once.
            if self._info(src).type != fs.FileType.NotFound or self._info(dest).type == fs.FileType.NotFound:
                raise

    def move_new(self, src: str, dest: str) -> bool:
        """Move a path atomically, unless ``dest`` exists; returns whether it was moved."""
        try:
            self.call("PUT", "RENAME", src, destination=dest, renameoptions="NONE")
        except FileExistsError:
            return False
        except FileNotFoundError:
            if self._info(dest).type == fs.FileType.NotFound:
                raise
        return True

    def copy_file(self, src: str, dest: str) -> None:
        with self.open_input_stream(src) as source, self.open_output_stream(dest, None) as target:
            while block := source.read(READ_AHEAD):
                target.write(block)

    # -- content ------------------------------------------------------------------------------------------------------

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> Any:
        info = self._info(path)
        if info.type != fs.FileType.File:
            raise FileNotFoundError(f"hdfs: there is no file {path}")
        return pa.PythonFile(io.BufferedReader(_Reading(self, path, info.size), READ_AHEAD), mode="r")

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        return pa.PythonFile(_Writing(self, path), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError("files on HDFS are written once")


class _Passing(OSError):
    """A transient error: the request may succeed later."""


class _Reading(PositionedFile):
    """Reads a file that does not change."""

    def __init__(self, store: WebHdfs, path: str, length: int) -> None:
        super().__init__(length)
        self._store, self._path = store, path

    def read_at(self, size: int, offset: int) -> Any:
        if not size:
            return b""
        content = self._store.call("GET", "OPEN", self._path, offset=offset, length=size).content
        if not content:
            raise OSError(f"hdfs: {self._path} ends after {offset} of {self._length} bytes")
        return content


class _Writing(io.RawIOBase):
    """Writes a file, which is sent as a whole when it is closed, so that a lost answer does no harm."""

    def __init__(self, store: WebHdfs, path: str) -> None:
        self._store, self._path = store, path
        self._content: Any = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        place: int = self._content.tell()
        return place

    def write(self, data: Any) -> int:
        return int(self._content.write(data))

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._store.call("PUT", "CREATE", self._path, self._content, overwrite="true")
        finally:
            self._content.close()
            super().close()


def _file_info(path: str, status: dict[str, Any]) -> Any:
    # Milliseconds, which a float of seconds would round.
    modified = _EPOCH + datetime.timedelta(milliseconds=status["modificationTime"])
    if status["type"] == "DIRECTORY":
        return fs.FileInfo(path, fs.FileType.Directory, mtime=modified)
    return fs.FileInfo(path, fs.FileType.File, size=status["length"], mtime=modified)


def _said(answer: httpx.Response, op: str, path: str) -> Exception:
    """The error that an answer describes."""
    try:
        said = answer.json()["RemoteException"]
        kind, message = said["exception"], said["message"].splitlines()[0]
    except (ValueError, KeyError, TypeError):
        kind, message = f"HTTP status {answer.status_code}", answer.text[:200].strip()
    if kind in _PASSING or answer.status_code in (429, 502, 503, 504):
        return _Passing(f"{kind}: {message}")
    if answer.status_code == 401:
        return PermissionError(f"hdfs: {op} {path}: the server wants to know who asks (Kerberos): {message}")
    if kind == "IOException" and "could only be written to 0 of" in message:
        return _Passing(f"{kind}: {message}")  # no DataNode is there, yet
    return _KINDS.get(kind, OSError)(f"hdfs: {op} {path}: {kind}: {message}")


def _kerberos() -> Any:
    try:
        from httpx_gssapi import HTTPSPNEGOAuth
    except ImportError as error:
        raise ValueError("HDFS with Kerberos needs httpx-gssapi (pip install httpx-gssapi), and a ticket") from error
    return HTTPSPNEGOAuth()
