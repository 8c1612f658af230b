"""Asking another process: one connection for each call."""

from __future__ import annotations

import socket
from typing import Any

from millrace.cluster.wire.messages import receive, send

CALL_SECONDS = 10.0


class NotThereError(Exception):
    """The other process does not answer; the text says which, and for how long it was waited for."""


class SilentError(NotThereError):
    """The other process is there, and has not answered in time: what it would have said is not known."""


class RefusedError(Exception):
    """The other process says no.

    :param kind: class of its exception.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def connect(path: str, who: str, seconds: float = CALL_SECONDS) -> socket.socket:
    """A connection to what listens at a path; ``who`` names it in errors.

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
    """What another process answers to a call.

    :raises NotThereError: it is not there, dies meanwhile, or does not answer in time.
    :raises RefusedError: it answers with an exception.
    """
    with connect(path, who, seconds) as connection:
        return converse(connection, who, {"call": call, **arguments}, seconds)


def converse(connection: socket.socket, who: str, message: dict[str, Any], seconds: float) -> Any:
    """Send a call over an open connection; its answer. Raises as ``ask``."""
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
