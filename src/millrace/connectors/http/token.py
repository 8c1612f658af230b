"""A bearer token that a server of OpenID Connect gives out."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from millrace.connectors.http.settings import Oidc

_LIFETIME_SECONDS = 300.0
"""of a token that does not say"""


class Token:
    """Fetched when it is needed; all requests that wait for it share one.

    :param client: of the loop that it lives in.
    """

    def __init__(self, oidc: Oidc, client: Any) -> None:
        self._oidc = oidc
        self._client = client
        self._lock = asyncio.Lock()
        self._text = ""
        self._fetched = self._until = 0.0

    async def text(self, fresh: bool = False) -> str:
        """The token.

        :param fresh: the server does not take the one that there is.
        :raises ConnectionError: there is none to be had.
        """
        asked = time.monotonic()
        async with self._lock:
            stale = time.monotonic() >= self._until or (fresh and self._fetched < asked)
            if stale:
                await self._fetch()
            return self._text

    async def _fetch(self) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        found = await self._client.post(self._oidc.url, content=self._oidc.request.encode(), headers=form)
        began = time.monotonic()
        try:
            body = found.json()
        except ValueError:
            body = None
        token = body.get("access_token") if isinstance(body, dict) else None
        if found.status_code != 200 or not isinstance(token, str):
            problem = body.get("error") if isinstance(body, dict) else None
            raise ConnectionError(
                f"{self._oidc.url} gives no token: status {found.status_code}" + (f", {problem}" if problem else "")
            )
        self._text, self._fetched = token, began
        self._until = began + float(body.get("expires_in", _LIFETIME_SECONDS)) - self._oidc.early
