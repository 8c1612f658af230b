"""Calls between processes of one user on one machine: JSON messages over Unix sockets, if need be with open files.

A message is a length and a JSON object. A client opens a connection for each call; a server answers each connection on
a thread of its own. A socket lies in the folder of the process that listens, or in a short one where that path is too
long.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace.spark.workers import processes
from millrace.spark.workers.frames import same_user
from millrace.util.folders import make_private

_LENGTH = struct.Struct("!I")
LIMIT = 64 * 1024 * 1024
"""Largest message in bytes: documents of jobs are far smaller."""
MAX_FILES = 8


def send(connection: socket.socket, message: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Send a message; open files are passed along with its length."""
    payload = json.dumps(message, separators=(",", ":")).encode()
    length = _LENGTH.pack(len(payload))
    if files:
        socket.send_fds(connection, [length], files)
        connection.sendall(payload)
    else:
        connection.sendall(length + payload)


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Receive a message and the files that came with it, which the receiver must close.

    :raises EOFError: the other side has closed, or is dead.
    :raises ValueError: that was no message.
    """
    head, files, _, _ = socket.recv_fds(connection, _LENGTH.size, MAX_FILES)
    if not head:
        raise EOFError("the other side has closed the connection")
    head += _exactly(connection, _LENGTH.size - len(head))
    (length,) = _LENGTH.unpack(head)
    if length > LIMIT:
        raise ValueError(f"a message of {length} bytes, above {LIMIT}")
    message = json.loads(_exactly(connection, length))
    if not isinstance(message, dict):
        raise ValueError("a message is an object")
    return message, files


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise EOFError("the other side has closed the connection")
        parts += part
    return bytes(parts)


# The client

CALL_SECONDS = 10.0


class NotThereError(Exception):
    """The other process cannot be reached, or does not answer; the text names it, and how long the caller has
    waited."""


class SilentError(NotThereError):
    """The other process runs but has not answered in time, so whether it carried out the call is unknown."""


class RefusedError(Exception):
    """The other process answered a call with an exception.

    :param kind: class of that exception.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def connect(path: str, who: str, seconds: float = CALL_SECONDS) -> socket.socket:
    """Connect to the process that listens at a path; ``who`` names it in errors.

    :raises NotThereError: nothing listens.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(seconds)
    try:
        connection.connect(path)
    except TimeoutError:
        connection.close()
        raise SilentError(f"{who} takes no call for {seconds:g} s") from None
    except OSError as error:
        connection.close()
        raise NotThereError(f"{who} is not there: {error.strerror or error}") from None
    return connection


def ask(path: str, who: str, call: str, seconds: float = CALL_SECONDS, **arguments: Any) -> Any:
    """Call another process; returns its answer.

    :raises NotThereError: it is not there, dies meanwhile, or does not answer in time.
    :raises RefusedError: it answers with an exception.
    """
    with connect(path, who, seconds) as connection:
        return converse(connection, who, {"call": call, **arguments}, seconds)


def converse(connection: socket.socket, who: str, message: dict[str, Any], seconds: float) -> Any:
    """Call another process over an open connection; returns its answer. Raises as ``ask`` does."""
    connection.settimeout(seconds)
    try:
        send(connection, message)
        answer, _ = receive(connection)
    except TimeoutError:
        raise SilentError(f"{who} has not answered {message['call']!r} for {seconds:g} s") from None
    except (OSError, EOFError, ValueError) as error:
        raise NotThereError(f"{who} has ended before it answered {message['call']!r}: {error}") from None
    if "error" in answer:
        raise RefusedError(answer.get("kind", ""), answer["error"])
    return answer.get("result")


# The server

Call = Callable[..., Any]


class CallServer:
    """Answers calls at a socket until it is closed.

    :param calls: name of a call -> the function that answers it; its exceptions are sent to the caller as text.
    :param gone: is called with the number of a connection that has ended; each call gets this number, too.
    """

    def __init__(
        self,
        listener: socket.socket,
        calls: Mapping[str, Call],
        name: str,
        gone: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._listener = listener
        self._calls = calls
        self._name = name
        self._gone = gone

    def start(self) -> None:
        threading.Thread(target=self.serve, name=self._name, daemon=True).start()

    def serve(self) -> None:
        """Answer calls until the listener is closed."""
        number = 0
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            number += 1
            arguments = (connection, number)
            threading.Thread(target=self._converse, args=arguments, name=f"{self._name}-{number}", daemon=True).start()

    def close(self) -> None:
        """Close the listener."""
        path = self._listener.getsockname()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits there
        self._listener.close()
        with contextlib.suppress(OSError):
            os.unlink(path)

    def _converse(self, connection: socket.socket, number: int) -> None:
        try:
            with connection:
                if not same_user(connection, os.getuid()):
                    return
                while True:
                    message, files = receive(connection)
                    for file in files:
                        os.close(file)
                    send(connection, self._answer(message, number))
        except (OSError, EOFError, ValueError):
            return
        finally:
            self._gone(number)

    def _answer(self, message: dict[str, Any], number: int) -> dict[str, Any]:
        name = str(message.pop("call", ""))
        try:
            call = self._calls[name]
        except KeyError:
            return {"error": f"no such call: {name!r}", "kind": "KeyError"}
        try:
            return {"result": call(connection=number, **message)}
        except Exception as error:
            return {"error": str(error) or type(error).__name__, "kind": type(error).__name__}


# Paths of sockets

ENGINE, SUPERVISOR, CONTROL, GATEWAY = "engine.sock", "supervisor.sock", "control.sock", "gateway.sock"
"""Names of the sockets of a cluster: engine, supervisor, process of a program, SQL gateway."""


def socket_path(folder: str, name: str) -> str:
    """The path of a socket of a private folder.

    :raises NotPrivateError: others can write to the short folder.
    """
    path = os.path.join(folder, name)
    if len(path.encode()) <= processes.MAX_PATH:
        return path
    short = os.path.join(processes.base_folder(), "s" + hashlib.sha256(folder.encode()).hexdigest()[:16])
    make_private(short)
    return os.path.join(short, name)


def listen(path: str) -> socket.socket:
    """Listen at a path; replaces the socket of a dead process."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(64)
    return listener
