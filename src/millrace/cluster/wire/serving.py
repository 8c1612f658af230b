"""Answering calls: a thread for each connection, as long as the other side keeps it open."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from millrace.cluster.wire.messages import receive, send
from millrace.spark.owners.frames import same_user

Call = Callable[..., Any]


class CallServer:
    """Answers calls at a socket until it is closed.

    :param calls: name of a call -> the function with its arguments; what it raises goes to the caller as text.
    :param gone: told when a connection has ended, with its number; every call gets that number, too.
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
        """Until the listener is closed."""
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
        """Listen no more."""
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
