"""How failures of a connection are told that Python's sockets raise themselves."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import pytest

from millrace.connectors.http.http_client import Caller, HttpError, HttpRequest
from millrace.connectors.http.http_settings import Backoff, CallSettings

pytest.importorskip("httpx")


class Dying:
    """A client whose connection ends after the handshake, as with TLS 1.3, where the certificate is looked at later."""

    asked = 0

    async def request(self, *_: Any, **__: Any) -> Any:
        self.asked += 1
        raise ssl.SSLError(1, "tlsv13 alert certificate required")


def test_a_refusal_after_the_handshake_is_no_answer() -> None:
    client = Dying()

    async def call() -> None:
        caller = Caller(CallSettings(backoff=Backoff(attempts=2, first=0.001)))
        await caller.open()
        await caller._client.aclose()
        caller._client = client
        await caller.call(HttpRequest("GET", "https://there.invalid/"))

    with pytest.raises(HttpError, match=r"no answer \(SSLError: .*certificate required.*after 3 attempts"):
        asyncio.run(call())
    assert client.asked == 3
