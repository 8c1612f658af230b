"""Connects HTTP requests to handlers: authorization, parsing of parameters, a thread for the handler, its body as
JSON.

Programs send the token (``Authorization: Bearer``). Browsers get a cookie by the link that is printed
(``/?token=...``). Cookies of one host are sent to all its ports, also to servers of other users, so a cookie does not
hold the token, only a word that is made of it and is good for nothing but requests of this server's own pages.

A page from elsewhere can make a browser call servers on the same machine, under names that lead there (DNS rebinding),
or with the user's cookies. So each request must name this server, and one that a page makes must come from this
server's own pages.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from millrace.cluster.rest.call import Answer, Call, RestError, Site, Upload, refused
from millrace.cluster.rest.operation import Operation, read_path, read_query
from millrace.cluster.rest.settings import RestSettings
from millrace.util.secrets import mask_text

# The token

UNAUTHORIZED = (
    "Unauthorized: this needs the server's token, as 'Authorization: Bearer ...', or the cookie that the link sets "
    "which was printed when the server was started."
)
_YEAR = 365 * 86_400


def new_token() -> str:
    """A new random token."""
    return secrets.token_urlsafe(32)


def require_token(request: Request, settings: RestSettings) -> None:
    """Raise a ``RestError`` unless the request carries the server's token, if the server has one."""
    if settings.token is not None and not _shows_token(request, settings.token):
        raise RestError(401, UNAUTHORIZED)


def cookie_name(request: Request) -> str:
    """A name for each port, so that several servers on one machine don't take each other's cookie away."""
    return f"millrace-{request.url.port or request.url.scheme}"


def cookie_value(token: str) -> str:
    return hmac.new(token.encode(), b"cookie of the dashboard", hashlib.sha256).hexdigest()


def log_in(request: Request, settings: RestSettings) -> Response | None:
    """The answer to ``/?token=...``: a cookie, and a redirect to the page without the token; None if the token is
    wrong."""
    token = request.query_params.get("token", "")
    if settings.token is not None and not _same(token, settings.token):
        return None
    response = RedirectResponse(request.url.path, 303)
    if settings.token is not None:
        response.set_cookie(
            cookie_name(request),
            cookie_value(settings.token),
            max_age=_YEAR,
            path="/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
    return response


def _shows_token(request: Request, token: str) -> bool:
    scheme, _, shown = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _same(shown.strip(), token)
    cookie = request.cookies.get(cookie_name(request))
    return cookie is not None and _is_of_own_page(request) and _same(cookie, cookie_value(token))


def _is_of_own_page(request: Request) -> bool:
    """Whether a page of this server makes the request. Origin has been compared with Host before."""
    return "origin" in request.headers or request.headers.get("sec-fetch-site") in ("same-origin", "none")


def _same(shown: str, expected: str) -> bool:
    return hmac.compare_digest(shown.encode(), expected.encode())


# Handlers

_log = logging.getLogger(__name__)

JSON = "application/json; charset=UTF-8"

Endpoint = Callable[[Request], Awaitable[Response]]


def error_response(status: int, *texts: str) -> Response:
    return Response(msgspec.json.encode({"errors": texts}), status, media_type=JSON)


def endpoint(operation: Operation, site: Site) -> Endpoint:
    """The function that answers requests for an operation."""

    async def answer(request: Request) -> Response:
        try:
            if operation.is_protected or site.settings.protect_reads:
                require_token(request, site.settings)
            async with AsyncExitStack() as open_files:
                call = await _read(operation, site, request, open_files)
                return _response(operation, await run_in_threadpool(operation.handler, call))
        except RestError as error:
            return _error(site, error)
        except Exception as error:
            return _unexpected(operation, error)

    return answer


async def _read(operation: Operation, site: Site, request: Request, open_files: AsyncExitStack) -> Call:
    uploads: tuple[Upload, ...] = ()
    body: Any = None
    if operation.upload:
        uploads = await _uploads(request, open_files)
    elif operation.request is not None:
        body = _body(operation, await request.body())
    path = read_path(request.path_params)
    query = read_query(operation.query, request.query_params.multi_items())
    return Call(site, path, query, body, f"{request.url.scheme}://{request.headers.get('host', '')}", uploads)


def _body(operation: Operation, text: bytes) -> Any:
    try:
        return msgspec.json.decode(text.strip() or b"{}", type=operation.request, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        if not text.strip():
            raise refused(400, "Bad request received. Request did not conform to expected format.") from None
        name = operation.request_name or operation.request.__name__
        raise refused(400, f"Request did not match expected format {name}.") from None


async def _uploads(request: Request, open_files: AsyncExitStack) -> tuple[Upload, ...]:
    """The uploaded files of a request; large ones are on disk."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        return ()
    try:
        form = await open_files.enter_async_context(request.form(max_files=2, max_fields=100))
        files = [each for _, each in form.multi_items() if isinstance(each, UploadFile)]
        return tuple([Upload(each.filename or "", each.file) for each in files])
    except HTTPException as error:
        raise refused(error.status_code, error.detail) from None


def _response(operation: Operation, result: Any) -> Response:
    answer = result if isinstance(result, Answer) else Answer({} if result is None else result, operation.status)
    if answer.encoded and not isinstance(answer.body, (bytes, str)):
        return StreamingResponse(answer.body, answer.status, dict(answer.headers), answer.media)
    body = answer.body if answer.encoded else msgspec.json.encode(answer.body)
    return Response(body, answer.status, dict(answer.headers), answer.media)


def _error(site: Site, error: RestError) -> Response:
    if site.settings.history and error.archived is not None:
        return error_response(200, error.archived)
    if site.settings.history and error.status in (400, 404):
        return error_response(404, "File not found.")
    response = error_response(error.status, *error.texts)
    if error.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _unexpected(operation: Operation, error: Exception) -> Response:
    _log.exception("%s %s failed", operation.method, operation.path)
    said = f"{type(error).__name__}: {mask_text(str(error))}"
    text = f"<Exception on server side:\n{said}\n\nEnd of exception on server side>"
    return error_response(500, "Internal server error.", text)


# Hosts, origins and sizes

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""default headers of an answer"""


class Guard:
    """Passes on requests that address this server and come from its own pages or from no page; refuses all others."""

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
    """Why a request with these headers is refused; None: it is allowed."""
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
