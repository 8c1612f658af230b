"""Who may call: names of the server, origins of pages, the size of what is sent, and what every answer tells browsers.

A page from elsewhere can make a browser call servers on the same machine, under names that lead there (DNS rebinding),
or with the user's cookies. So each request must name this server, and one that a page makes must come from this
server's own pages. ``tokens.py`` sees to it that changes are the user's.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millrace.cluster.rest.web.endpoints import error_response
from millrace.cluster.rest.web.errors import refused
from millrace.cluster.rest.web.settings import RestSettings

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""what an answer says unless it says something else"""


class Guard:
    """Lets those requests through that are addressed to this server and come from its own pages, or from no page."""

    def __init__(self, app: ASGIApp, settings: RestSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        reason = refusal(headers, scope.get("scheme", "http"), self._settings)
        if reason is not None:
            await error_response(403, reason)(scope, receive, send_with_headers)
            return
        await self._app(_without_slash(scope), self._limited(headers, receive), send_with_headers)

    def _limited(self, headers: Headers, receive: Receive) -> Receive:
        is_upload = headers.get("content-type", "").startswith("multipart/")
        limit = self._settings.max_upload if is_upload else self._settings.max_body
        announced = headers.get("content-length", "0")
        count = 0

        async def limited() -> Message:
            nonlocal count
            message = await receive()
            count += len(message.get("body", b""))
            if count > limit or (announced.isdecimal() and int(announced) > limit):
                raise refused(413, f"The request is larger than {limit} bytes.")
            return message

        return limited


def _without_slash(scope: Scope) -> Scope:
    path = scope["path"]
    if len(path) > 1 and path.endswith("/"):
        return {**scope, "path": path.rstrip("/") or "/"}
    return scope


def refusal(headers: Headers, scheme: str, settings: RestSettings) -> str | None:
    """Why a request with these headers is not answered; None: it is."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not is_own_name(hosts[0], settings):
        return "Forbidden: the Host header does not name this server (rest.allowed-hosts has its further names)."
    origins = headers.getlist("origin")
    if origins and origins != [f"{scheme}://{hosts[0]}"]:
        return "Forbidden: the request comes from a page of another server."
    return None


def is_own_name(host: str, settings: RestSettings) -> bool:
    """Whether a Host header names this server."""
    try:
        parts = urlsplit(f"//{host}")
        name = (parts.hostname or "").rstrip(".")
        parts.port  # noqa: B018  raises ValueError for a port that is none
    except ValueError:
        return False
    if parts.netloc != host or "@" in host or not name:
        return False
    if name == "localhost" or name in {each.lower() for each in settings.hosts}:
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or settings.beyond_loopback
