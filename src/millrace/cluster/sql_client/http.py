"""Requests to a gateway."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

try:
    import httpx
except ImportError as error:
    raise ImportError("a client of the SQL gateway needs httpx: pip install 'millrace-streaming[dbapi]'") from error

from millrace.cluster.sql_client.errors import GatewayClientError, NotAllowedError, RefusedError, UnreachableError
from millrace.cluster.sql_client.values import parsed

VERSION = "v2"
"""of the API: the first that can do all that is asked for here"""
TRIES = 4
FIRST_PAUSE_SECONDS = 0.2


def address_of(url: str) -> str:
    """The address of a gateway, from ``host:port`` or a URL; a version at its end is dropped.

    :raises ValueError: it is none.
    """
    whole = url.strip() if "://" in url else f"http://{url.strip()}"
    parts = urlsplit(whole)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not the address of a gateway, such as http://localhost:8083")
    if parts.username is not None or parts.password is not None:
        raise ValueError("no user and password in the address of a gateway: give its token as 'token'")
    path = parts.path.rstrip("/")
    last = path.rpartition("/")[2]
    if last[:1] == "v" and last[1:].isdecimal():
        path = path.removesuffix(f"/{last}")
    return f"{parts.scheme}://{parts.netloc}{path}"


class Http:
    """Sends requests and takes answers apart. Threads may share it.

    :param timeout: seconds that an answer may take.
    """

    def __init__(
        self, url: str, token: str | None = None, timeout: float = 60.0, transport: httpx.BaseTransport | None = None
    ) -> None:
        self.address = address_of(url)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._client = httpx.Client(
            base_url=f"{self.address}/{VERSION}/", headers=headers, timeout=timeout, transport=transport
        )

    def get(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Ask again if there is no answer: reading changes nothing, and a page can be had twice."""
        pause = FIRST_PAUSE_SECONDS
        for _ in range(TRIES - 1):
            try:
                return self.call("GET", path, body)
            except UnreachableError:
                time.sleep(pause)
                pause *= 2
        return self.call("GET", path, body)

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """:raises GatewayClientError: it was closed here.

        :raises UnreachableError: no answer, or none of a gateway's.

        :raises NotAllowedError: another token is needed.
        :raises RefusedError: the gateway's own error.
        """
        if self._client.is_closed:
            raise GatewayClientError(f"the session at {self.address} is closed")
        try:
            response = self._client.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise UnreachableError(f"no answer from the gateway at {self.address}: {error}") from error
        answer = self._json(response)
        if response.status_code in (401, 403):
            raise NotAllowedError(f"the gateway at {self.address} refuses: {'; '.join(_errors(answer)) or 'no token'}")
        if response.status_code >= 400:
            raise RefusedError(response.status_code, _errors(answer))
        return answer

    def _json(self, response: httpx.Response) -> Any:
        try:
            return parsed(response.content) if response.content else {}
        except ValueError:
            message = f"{self.address} answers {response.status_code} without JSON: it is no SQL gateway"
            raise UnreachableError(message) from None

    def close(self) -> None:
        self._client.close()


def _errors(answer: Any) -> list[str]:
    found = answer.get("errors") if isinstance(answer, dict) else None
    return [str(each) for each in found] if isinstance(found, list) else []
