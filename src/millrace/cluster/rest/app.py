"""The application: all operations in front of a holder of jobs, protected, with the dashboard at the root.

The table of operations is also what the OpenAPI 3.1 document is made of. The dashboard's files are served from one
folder, never from above it, with nothing loaded from elsewhere.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, TypedDict

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from starlette.staticfiles import NotModifiedResponse, StaticFiles

import millrace
from millrace.cluster.control import JobHolder, ProgramStore
from millrace.cluster.rest import checkpoints, cluster, jobs, metrics, own_operations, programs, steering, vertices
from millrace.cluster.rest.call import Answer, Call, Site, Triggers
from millrace.cluster.rest.endpoints import UNAUTHORIZED, Endpoint, Guard, endpoint, error_response, log_in
from millrace.cluster.rest.operation import IN_PATHS, Operation, Query
from millrace.cluster.rest.settings import RestSettings

# The dashboard's files

_NOTHING = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Millrace</title>
<h1>Millrace</h1><p>{}</p></html>"""
_NO_PAGES = "The dashboard's files are not installed. The REST API is at this address: see /openapi.json."


class Pages:
    """Answers requests for files."""

    def __init__(self, settings: RestSettings) -> None:
        self._settings = settings
        self._files = StaticFiles(directory=settings.pages, check_dir=False)

    async def answer(self, request: Request) -> Response:
        path = request.url.path
        if path == "/" and "token" in request.query_params:
            return log_in(request, self._settings) or self._page(UNAUTHORIZED, 401)
        response = await run_in_threadpool(self._file, request)
        if response is not None:
            response.headers["Content-Security-Policy"] = self._settings.policy
            return response
        if path in ("/", "/index.html"):
            return self._page(_NO_PAGES, 200)
        if self._settings.history:
            return error_response(404, "File not found.")
        return error_response(404, f"Unable to load requested file {path}.")

    def _file(self, request: Request) -> Response | None:
        name = request.scope["path"].lstrip("/") or "index.html"
        if "\0" in name or "\\" in name:
            return None
        try:
            # Resolves links, and gives nothing that is outside of the folder.
            found, status = self._files.lookup_path(str(Path(name)))
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.ENOTDIR, errno.ELOOP):
                return None
            raise
        except ValueError:
            return None
        if status is None or not Path(found).is_file():
            return None
        # ``no-cache``: it may be kept, but is asked for again, so a new version is seen at once.
        response = FileResponse(found, stat_result=status, headers={"Cache-Control": "no-cache"})
        if self._files.is_not_modified(response.headers, request.headers):
            return NotModifiedResponse(response.headers)
        return response

    def _page(self, text: str, status: int) -> Response:
        headers = {"Content-Security-Policy": self._settings.policy}
        return HTMLResponse(_NOTHING.format(escape(text)), status, headers)


# OpenAPI


class Errors(TypedDict):
    """What went wrong; the first text is what to look at."""

    errors: list[str]


def describe(operations: Sequence[Operation]) -> bytes:
    """The OpenAPI document of operations, as JSON. Paths with and without ``/v1`` are listed once: ``/v1`` is a server
    of its own."""
    types = [Errors]
    for each in operations:
        types += [kind for kind in (each.answer, each.request) if kind is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema_of = {id(kind): schema for kind, schema in zip(types, schemas)}
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schema_of)
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Millrace",
            "version": millrace.__version__,
            "description": "Flink's REST API, and what Millrace has beyond it. All paths are also served under /v1, "
            "but for /openapi.json.",
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }
    return msgspec.json.encode(document)


def _operation(operation: Operation, schema_of: dict[int, Any]) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", operation.path)
    described: dict[str, Any] = {
        "operationId": _id(operation),
        "summary": operation.summary,
        "parameters": [_in_path(name) for name in names] + [_in_query(each) for each in operation.query],
        "responses": _responses(operation, schema_of),
    }
    if operation.upload:
        file = {"type": "object", "properties": {"jarfile": {"type": "string", "format": "binary"}}}
        described["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": file}}}
    elif operation.request is not None:
        content = {"application/json": {"schema": schema_of[id(operation.request)]}}
        described["requestBody"] = {"required": False, "content": content}
    if operation.is_protected:
        described["security"] = [{"token": []}]
    return described


def _id(operation: Operation) -> str:
    words = re.findall(r"\w+", operation.path)
    return operation.method.lower() + "".join(word[0].upper() + word[1:] for word in words)


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": IN_PATHS[name].schema}


def _in_query(query: Query) -> dict[str, Any]:
    schema = {"type": "array", "items": query.kind.schema} if query.many else query.kind.schema
    shown = {"name": query.name, "in": "query", "required": False, "schema": schema}
    return {**shown, "style": "form", "explode": False} if query.many else shown


def _responses(operation: Operation, schema_of: dict[int, Any]) -> dict[str, Any]:
    failed = {"description": "What went wrong.", "content": {"application/json": {"schema": schema_of[id(Errors)]}}}
    responses: dict[str, Any] = {"3XX": failed, "4XX": failed, "5XX": failed}
    if operation.status >= 300:
        return {str(operation.status): failed, **responses}
    schema = {"type": "object"} if operation.answer is None else schema_of[id(operation.answer)]
    content = {operation.media: {"schema": schema}}
    return {str(operation.status): {"description": operation.summary, "content": content}, **responses}


# All operations


def operations(submits: bool, settings: RestSettings) -> tuple[Operation, ...]:
    """All operations of a server.

    :param submits: whether the server accepts programs.
    """
    return (
        *cluster.OPERATIONS,
        *jobs.OPERATIONS,
        *steering.operations(settings),
        *vertices.OPERATIONS,
        *metrics.OPERATIONS,
        *checkpoints.OPERATIONS,
        *checkpoints.SAVEPOINT_OPERATIONS,
        *cluster.MANAGER_OPERATIONS,
        *cluster.LOG_OPERATIONS,
        *programs.APPLICATION_OPERATIONS,
        *(programs.OPERATIONS if submits else ()),
        *own_operations.OPERATIONS,
    )


# The application


def make_app(
    holder: JobHolder, programs: ProgramStore | None, settings: RestSettings, sql: Endpoint | None = None
) -> Starlette:
    """The REST API in front of a holder of jobs.

    :param programs: stores and runs uploaded programs; None: submitting is not allowed.
    :param sql: answers requests below ``settings.sql``.
    """
    site = Site(holder, programs, settings, Triggers(settings.operations, settings.operation_seconds))
    served = [each for each in operations(programs is not None, settings) if each.history or not settings.history]
    below = [] if sql is None else [Route(f"/{settings.sql}/{{path:path}}", sql, methods=["GET", "POST", "DELETE"])]
    return application([*served, _description(served)], site, below)


def application(served: list[Operation], site: Site, more: Sequence[Route] = (), pages: bool = True) -> Starlette:
    """An application of protected operations, and of further routes that protect themselves.

    :param pages: whether the dashboard's pages are served, too.
    """
    settings = site.settings
    routes = [*more, *(route for each in sorted(served, key=_specific) for route in _routes(each, site))]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={HTTPException: _elsewhere(Pages(settings) if pages else None)},
    )


def _specific(operation: Operation) -> list[tuple[bool, str]]:
    """Sort key of routes: fixed parts of a path win over parameters."""
    return [(part.startswith("{"), part) for part in operation.path.split("/")]


def _routes(operation: Operation, site: Site) -> list[Route]:
    answer = endpoint(operation, site)
    versioned = operation.versioned and not site.settings.history  # Flink's history server knows no versions
    paths = [operation.path, f"/v1{operation.path}"] if versioned else [operation.path]
    routes = [Route(path, answer, methods=[operation.method]) for path in paths]
    for route in routes:
        route.methods = {operation.method}  # no HEAD beside GET: Flink has none
    return routes


def _description(served: list[Operation]) -> Operation:
    text = lru_cache(maxsize=1)(lambda: describe(served))

    def handler(call: Call) -> Answer:
        return Answer(text(), encoded=True)

    return Operation("GET", "/openapi.json", handler, "This description.", dict[str, Any], versioned=False)


def _as_sent(request: Request) -> str:
    raw = request.scope.get("raw_path")
    return raw.decode("ascii", "replace") if raw else request.url.path


def _elsewhere(pages: Pages | None) -> Callable[[Request, Exception], Awaitable[Response]]:
    """The answer where no route fits: a page, or Flink's error."""

    async def answer(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        if status not in (404, 405):
            return error_response(status, str(getattr(error, "detail", "")))
        if pages is None or request.method not in ("GET", "HEAD"):
            return error_response(404, f"Not found: {_as_sent(request)}")
        return await pages.answer(request)

    return answer
