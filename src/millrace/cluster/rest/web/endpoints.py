"""From HTTP to handlers: parameters are read, the handler runs in a thread, its body becomes JSON."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from millrace.cluster.rest.web.call import Answer, Call, Site, Upload
from millrace.cluster.rest.web.errors import RestError, refused
from millrace.cluster.rest.web.operation import Operation
from millrace.cluster.rest.web.parameters import read_path, read_query
from millrace.cluster.rest.web.tokens import require_token
from millrace.util.secrets import mask_text

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
    """The files of a request; large ones are on the disk."""
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
