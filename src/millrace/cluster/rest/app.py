"""The application: all routes of the table in front of a holder of jobs, protected, with the dashboard at the root."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from millrace.cluster.holder import JobHolder, ProgramStore
from millrace.cluster.rest.openapi.document import describe
from millrace.cluster.rest.routes.table import operations
from millrace.cluster.rest.web.call import Answer, Call, Site
from millrace.cluster.rest.web.endpoints import Endpoint, endpoint, error_response
from millrace.cluster.rest.web.guard import Guard
from millrace.cluster.rest.web.operation import Operation
from millrace.cluster.rest.web.pages import Pages
from millrace.cluster.rest.web.settings import RestSettings
from millrace.cluster.rest.web.triggers import Triggers

__all__ = ["make_app"]


def make_app(
    holder: JobHolder, programs: ProgramStore | None, settings: RestSettings, sql: Endpoint | None = None
) -> Starlette:
    """The REST API in front of a holder.

    :param programs: where uploaded programs are kept and run from; None: submitting is not allowed.
    :param sql: answers what is asked below ``settings.sql``.
    """
    site = Site(holder, programs, settings, Triggers(settings.operations, settings.operation_seconds))
    served = [each for each in operations(programs is not None, settings) if each.history or not settings.history]
    below = [] if sql is None else [Route(f"/{settings.sql}/{{path:path}}", sql, methods=["GET", "POST", "DELETE"])]
    return application([*served, _description(served)], site, below)


def application(
    served: list[Operation], site: Site, more: Sequence[Route] = (), pages: bool = True
) -> Starlette:
    """Operations of any kind, protected, and more routes that see to it themselves.

    :param pages: whether there are pages beside them.
    """
    settings = site.settings
    routes = [*more, *(route for each in sorted(served, key=_specific) for route in _routes(each, site))]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={HTTPException: _elsewhere(Pages(settings) if pages else None)},
    )


def _specific(operation: Operation) -> list[tuple[bool, str]]:
    """Fixed parts of a path win over parameters."""
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
    """What is answered where no route fits: a page, or Flink's words for that."""

    async def answer(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        if status not in (404, 405):
            return error_response(status, str(getattr(error, "detail", "")))
        if pages is None or request.method not in ("GET", "HEAD"):
            return error_response(404, f"Not found: {_as_sent(request)}")
        return await pages.answer(request)

    return answer
