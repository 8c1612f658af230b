"""A session at a gateway."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import Any

import httpx

from millrace.cluster.sql_client.errors import GatewayClientError
from millrace.cluster.sql_client.http import Http
from millrace.cluster.sql_client.statement import RemoteStatement

HEARTBEAT_SECONDS = 60.0
"""Gateways close sessions that are idle for long, by default for ten minutes."""


class RemoteSession:
    """Opened when it is made. Threads may share it: the gateway runs its statements one after the other.

    :param url: ``http://host:port``, or ``host:port``.
    :param properties: settings that the session begins with.
    :param heartbeat: seconds between signs of life; None: no such signs.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        properties: Mapping[str, str] | None = None,
        name: str | None = None,
        *,
        timeout: float = 60.0,
        heartbeat: float | None = HEARTBEAT_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = Http(url, token, timeout, transport)
        self._closed = threading.Event()
        try:
            body = {"properties": dict(properties or {}), **({} if name is None else {"sessionName": name})}
            self.handle = str(self._http.call("POST", "sessions", body)["sessionHandle"])
        except BaseException:
            self._http.close()
            raise
        if heartbeat is not None:
            arguments = (weakref.ref(self), self._closed, heartbeat)
            threading.Thread(target=_keep, args=arguments, name="millrace-sql-heartbeat", daemon=True).start()

    @property
    def address(self) -> str:
        return self._http.address

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def submit(
        self, statement: str, settings: Mapping[str, str] | None = None, seconds: float | None = None
    ) -> RemoteStatement:
        """Let a statement run when those before it have.

        :param settings: options that hold for it alone.
        :param seconds: the gateway ends it if it is not over by then.
        """
        body: dict[str, Any] = {"statement": statement, "executionConfig": dict(settings or {})}
        if seconds is not None:
            body["executionTimeout"] = max(round(seconds * 1000), 1)
        answer = self._http.call("POST", f"sessions/{self.handle}/statements", body)
        return RemoteStatement(self._http, self.handle, str(answer["operationHandle"]))

    def properties(self) -> dict[str, str]:
        """The settings of the session; secrets are masked."""
        found: dict[str, str] = self._http.get(f"sessions/{self.handle}")["properties"]
        return found

    def complete(self, statement: str, position: int) -> list[str]:
        """What may come next in a statement."""
        body = {"statement": statement, "position": position}
        return list(self._http.get(f"sessions/{self.handle}/complete-statement", body)["candidates"])

    def info(self) -> dict[str, str]:
        """What the gateway is: ``productName`` and ``version``."""
        found: dict[str, str] = self._http.get("info")
        return found

    def heartbeat(self) -> None:
        """Keep the session from being closed as idle."""
        self._http.call("POST", f"sessions/{self.handle}/heartbeat")

    def close(self) -> None:
        """Its queries end; what INSERT has started goes on. Closing twice is no harm."""
        if self._closed.is_set():
            return
        self._closed.set()
        try:
            self._http.call("DELETE", f"sessions/{self.handle}")
        except GatewayClientError:
            pass  # the gateway is gone or has closed it: there is nothing left to close
        finally:
            self._http.close()


def _keep(reference: weakref.ref[RemoteSession], closed: threading.Event, seconds: float) -> None:
    """Signs of life until the session is closed, or was dropped by the program."""
    while not closed.wait(seconds):
        session = reference()
        if session is None:
            return
        try:
            session.heartbeat()
        except GatewayClientError:
            pass  # what is asked for next tells what is wrong
        del session
