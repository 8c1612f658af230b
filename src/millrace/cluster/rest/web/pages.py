"""The dashboard's files: served from one folder, never from above it, with nothing loaded from elsewhere."""

from __future__ import annotations

import errno
from html import escape
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles

from millrace.cluster.rest.web.endpoints import error_response
from millrace.cluster.rest.web.settings import RestSettings
from millrace.cluster.rest.web.tokens import UNAUTHORIZED, log_in

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
