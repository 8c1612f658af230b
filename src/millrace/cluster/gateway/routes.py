"""The HTTP application of the SQL gateway: Flink's operations under each version of the API, and without a version.

A path without a version has the newest one. Requests are authorized as those of the REST API are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

from starlette.applications import Starlette

from millrace.cluster.control import JobHolder
from millrace.cluster.gateway import bodies
from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.operations import GatewayError, RetiredError
from millrace.cluster.gateway.operations import Operation as Submitted
from millrace.cluster.gateway.session import GatewaySession
from millrace.cluster.rest.app import application
from millrace.cluster.rest.call import Call, Site, Triggers, broken, refused, unreadable
from millrace.cluster.rest.cluster import FLINK
from millrace.cluster.rest.operation import Operation, Query
from millrace.cluster.rest.settings import RestSettings
from millrace.util.secrets import mask_options, mask_text

GATEWAY_ERROR = "org.apache.flink.table.gateway.api.utils.SqlGatewayException"
Handler = Callable[[Call], Any]

VERSIONS = (1, 2, 3, 4)
FETCH_SECONDS = 0.1
"""seconds that a fetch waits for a statement that may end soon"""

_SESSION = "/sessions/{session_handle}"
_OPERATION = f"{_SESSION}/operations/{{operation_handle}}"
_RESULT = f"{_OPERATION}/result/{{token}}"


def routes(gateway: Gateway) -> Iterator[Operation]:
    """All operations of the gateway, under each version that has them."""
    newest = f"/v{VERSIONS[-1]}"
    versions = Handlers(gateway, newest).versions
    for path in ("/api_versions", *(f"/v{version}/api_versions" for version in VERSIONS)):
        yield Operation("GET", path, versions, "Versions of this API.", bodies.VersionsAnswer, versioned=False)
    for _, operation in _table(Handlers(gateway, newest)):
        yield replace(operation, handler=_answering(operation), versioned=False)
    for version in VERSIONS:
        for since, operation in _table(Handlers(gateway, f"/v{version}")):
            if since <= version:
                path, handler = f"/v{version}{operation.path}", _answering(operation)
                yield replace(operation, path=path, handler=handler, versioned=False)


_ASKING = {
    ("GET", _SESSION): "getSessionConfig",
    ("POST", f"{_SESSION}/heartbeat"): "getSessionConfig",
    ("DELETE", _SESSION): "closeSession",
    ("GET", f"{_OPERATION}/status"): "getOperationInfo",
    ("POST", f"{_OPERATION}/cancel"): "cancelOperation",
    ("DELETE", f"{_OPERATION}/close"): "closeOperation",
}
"""Operations whose errors have one text -> that text"""
_RUNNING = {
    f"{_SESSION}/statements": "execute statement",
    f"{_SESSION}/configure-session": "configure session",
    f"{_SESSION}/complete-statement": "get statement completion candidates",
    _RESULT: "fetchResults",
}
"""Operations whose errors are internal errors in Flink -> the name of the failed step"""


def _answering(operation: Operation) -> Handler:
    """Turn an error of the gateway into Flink's form: the failed step, and the reason as its cause."""
    asking = _ASKING.get((operation.method, operation.path))
    running = _RUNNING.get(operation.path)

    def answer(call: Call) -> Any:
        try:
            return operation.handler(call)
        except RetiredError as error:
            raise refused(503, str(error)) from None
        except GatewayError as error:
            if asking is not None:
                raise refused(500, f"Failed to {asking}.{_causes(error)}") from None
            if running is not None and not str(error).startswith("Failed to"):
                raise broken(GATEWAY_ERROR, f"Failed to {running}.{_causes(error)}") from None
            cause = error.__cause__
            raise broken(GATEWAY_ERROR, f"{mask_text(str(error))}{'' if cause is None else _causes(cause)}") from None

    return answer


def _causes(error: BaseException | None) -> str:
    """An error and its chain of causes as text, one line for each."""
    told = ""
    while error is not None:
        kind = GATEWAY_ERROR if isinstance(error, GatewayError) else type(error).__name__
        told += f"\nCaused by: {kind}: {mask_text(str(error))}"
        error = error.__cause__ if isinstance(error, GatewayError) else None
    return told


def _table(h: Handlers) -> Iterator[tuple[int, Operation]]:
    """The table of operations: (first version that has it, operation)."""
    yield 1, Operation("GET", "/info", h.info, "What this is.", bodies.InfoAnswer)
    yield (
        1,
        Operation(
            "POST",
            "/sessions",
            h.open,
            "Open a session.",
            bodies.SessionHandleAnswer,
            request=bodies.OpenSessionBody,
            request_name="OpenSessionRequestBody",
        ),
    )
    yield 1, Operation("GET", _SESSION, h.properties, "Settings of a session.", bodies.PropertiesAnswer, changes=True)
    yield 1, Operation("DELETE", _SESSION, h.close, "Close a session.", bodies.StatusAnswer)
    yield 1, Operation("POST", f"{_SESSION}/heartbeat", h.heartbeat, "Keep a session.")
    yield (
        2,
        Operation(
            "POST",
            f"{_SESSION}/configure-session",
            h.configure,
            "Run a statement that changes the session.",
            request=bodies.StatementBody,
        ),
    )
    yield (
        2,
        Operation(
            "GET",
            f"{_SESSION}/complete-statement",
            h.complete,
            "What may come next in a statement.",
            bodies.CandidatesAnswer,
            request=bodies.CompleteBody,
            changes=True,
        ),
    )
    yield (
        1,
        Operation(
            "POST",
            f"{_SESSION}/statements",
            h.submit,
            "Run a statement.",
            bodies.OperationHandleAnswer,
            request=bodies.StatementBody,
            request_name="ExecuteStatementRequestBody",
        ),
    )
    yield (
        1,
        Operation(
            "GET", f"{_OPERATION}/status", h.status, "How far a statement is.", bodies.StatusAnswer, changes=True
        ),
    )
    yield 1, Operation("POST", f"{_OPERATION}/cancel", h.cancel, "Cancel a statement.", bodies.StatusAnswer)
    let_go = "Let go of a statement."
    yield 1, Operation("DELETE", f"{_OPERATION}/close", h.close_operation, let_go, bodies.StatusAnswer)
    yield (
        1,
        Operation(
            "GET",
            _RESULT,
            h.fetch,
            "Rows of a result.",
            dict[str, Any],
            query=(Query("rowFormat"),),
            changes=True,
        ),
    )


class Handlers:
    """The handlers of the gateway's operations. Reading needs the token, too: a session's content belongs to its
    owner."""

    def __init__(self, gateway: Gateway, version: str) -> None:
        self._gateway = gateway
        self._version = version

    def versions(self, call: Call) -> bodies.VersionsAnswer:
        return bodies.VersionsAnswer(tuple(f"V{version}" for version in VERSIONS))

    def info(self, call: Call) -> bodies.InfoAnswer:
        return bodies.InfoAnswer("Apache Flink", FLINK)

    def open(self, call: Call) -> bodies.SessionHandleAnswer:
        body: bodies.OpenSessionBody = call.body
        return bodies.SessionHandleAnswer(self._gateway.open(body.all_properties, body.sessionName).handle)

    def properties(self, call: Call) -> bodies.PropertiesAnswer:
        return bodies.PropertiesAnswer(mask_options(self._session(call).properties))

    def close(self, call: Call) -> bodies.StatusAnswer:
        self._gateway.close(call.path["session_handle"])
        return bodies.StatusAnswer("CLOSED")

    def heartbeat(self, call: Call) -> None:
        self._session(call)

    def configure(self, call: Call) -> None:
        body: bodies.StatementBody = call.body
        self._session(call).configure(_statement(body.statement), body.seconds)

    def complete(self, call: Call) -> bodies.CandidatesAnswer:
        body: bodies.CompleteBody = call.body
        if body.statement is None and body.position is None:
            raise refused(400, "Bad request received. Request did not conform to expected format.")
        text = _statement(body.statement)
        position = len(text) if body.position is None else max(0, min(body.position, len(text)))
        return bodies.CandidatesAnswer(tuple(self._session(call).complete(text, position)))

    def submit(self, call: Call) -> bodies.OperationHandleAnswer:
        body: bodies.StatementBody = call.body
        operation = self._session(call).submit(_statement(body.statement), body.executionConfig, body.seconds)
        return bodies.OperationHandleAnswer(operation.handle)

    def status(self, call: Call) -> bodies.StatusAnswer:
        return bodies.StatusAnswer(self._operation(call).status.value)

    def cancel(self, call: Call) -> bodies.StatusAnswer:
        operation = self._operation(call)
        operation.cancel()
        return bodies.StatusAnswer(operation.status.value)

    def close_operation(self, call: Call) -> bodies.StatusAnswer:
        self._session(call).close_operation(call.path["operation_handle"])
        return bodies.StatusAnswer("CLOSED")

    def fetch(self, call: Call) -> dict[str, Any]:
        session, operation, token = self._session(call), self._operation(call), call.path["token"]
        row_format = (call.one("rowFormat") or bodies.JSON).upper()
        if row_format not in (bodies.JSON, bodies.PLAIN_TEXT):
            raise unreadable("query", "rowFormat", call.one("rowFormat") or "")
        page = operation.fetch(token) if operation.wait(FETCH_SECONDS) else None
        following = token if page is None else token + 1
        path = f"{self._version}/sessions/{session.handle}/operations/{operation.handle}/result/{following}"
        # The first version knows of one format only.
        query = "" if self._version == f"/v{VERSIONS[0]}" else f"?rowFormat={row_format}"
        return bodies.page_body(operation, page, row_format, f"{path}{query}")

    def _session(self, call: Call) -> GatewaySession:
        return self._gateway.session(call.path["session_handle"])

    def _operation(self, call: Call) -> Submitted:
        return self._session(call).operation(call.path["operation_handle"])


def _statement(text: str | None) -> str:
    if text is None:
        raise GatewayError("The statement is missing.")
    return text


# The application


def make_gateway_app(gateway: Gateway, settings: RestSettings) -> Starlette:
    """The REST application for a gateway."""
    no_jobs = cast(JobHolder, None)  # none of its routes asks for any
    return application([*routes(gateway)], Site(no_jobs, None, settings, Triggers(1, 1.0)), pages=False)
