"""A SQL gateway with a few answers, in the form in which Flink's gateway gives them."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

COLUMNS = [
    {"name": "country", "logicalType": {"type": "VARCHAR", "nullable": True}, "comment": None},
    {"name": "orders", "logicalType": {"type": "BIGINT", "nullable": True}, "comment": None},
]
PAGES: list[list[dict[str, Any]]] = [
    [],
    [{"kind": "INSERT", "fields": ["de", 1]}, {"kind": "INSERT", "fields": ["fr", 4]}],
    [{"kind": "UPDATE_BEFORE", "fields": ["de", 1]}, {"kind": "UPDATE_AFTER", "fields": ["de", 2]}],
]
ERROR = "org.apache.flink.table.gateway.api.utils.SqlGatewayException: no table named lost\n\tat x.y.z"


class Gateway:
    """Sessions and statements, remembered."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.closed: list[str] = []

    def app(self) -> Starlette:
        base = "/v2/sessions"
        return Starlette(
            routes=[
                Route(base, self._open, methods=["POST"]),
                Route(base + "/{session}", self._close, methods=["DELETE"]),
                Route(base + "/{session}/statements", self._statement, methods=["POST"]),
                Route(base + "/{session}/operations/{operation}/result/{token:int}", self._result),
                Route(base + "/{session}/operations/{operation}/close", self._close, methods=["DELETE"]),
            ]
        )

    async def _open(self, request: Request) -> Response:
        return JSONResponse({"sessionHandle": "s1"})

    async def _close(self, request: Request) -> Response:
        self.closed.append(request.url.path)
        return JSONResponse({"status": "CLOSED"})

    async def _statement(self, request: Request) -> Response:
        self.statements.append((await request.json())["statement"])
        return JSONResponse({"operationHandle": f"o{len(self.statements) - 1}"})

    async def _result(self, request: Request) -> Response:
        statement = self.statements[int(request.path_params["operation"][1:])]
        token = request.path_params["token"]
        if "lost" in statement:
            return JSONResponse({"errors": ["Internal server error.", f"<Exception on server side:\n{ERROR}"]}, 500)
        here = request.url.path.removeprefix("/sql").rpartition("/")[0]
        last = token == len(PAGES)
        body = {
            "resultType": "EOS" if last else "PAYLOAD",
            "isQueryResult": True,
            "jobID": "00000000000000000000000000000001",
            "resultKind": "SUCCESS_WITH_CONTENT",
            "results": {"columns": COLUMNS, "rowFormat": "JSON", "data": [] if last else PAGES[token]},
        }
        if not last:
            body["nextResultUri"] = f"{here}/{token + 1}?rowFormat=JSON"
        return JSONResponse(body)
