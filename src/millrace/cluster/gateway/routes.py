"""The HTTP application of the SQL gateway: Flink's operations under each version of the API, and without a version,
with the bodies of requests and answers (columns, rows and their types as Flink's gateway writes them).

A path without a version has the newest one. Requests are authorized as those of the REST API are.
"""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec
from starlette.applications import Starlette

from millrace.cluster.control import JobHolder
from millrace.cluster.gateway.gateway import Gateway
from millrace.cluster.gateway.operations import GatewayError, Page, Result, RetiredError
from millrace.cluster.gateway.operations import Operation as GatewayOperation
from millrace.cluster.gateway.operations import Operation as Submitted
from millrace.cluster.gateway.session import GatewaySession
from millrace.cluster.rest.app import application
from millrace.cluster.rest.call import Call, Site, Triggers, broken, refused, unreadable
from millrace.cluster.rest.cluster import FLINK
from millrace.cluster.rest.operation import Operation, Query
from millrace.cluster.rest.settings import RestSettings
from millrace.common.types import RowKind
from millrace.relational import types as t
from millrace.relational.type_table import ByFamily, Family, conversion, parts_of
from millrace.relational.types import DataType
from millrace.table.values.printed_tables import row_texts
from millrace.util.secrets import mask_options, mask_text

# Bodies: data types

_ROOTS: Mapping[type[DataType], str] = {
    t.NullType: "NULL",
    t.BooleanType: "BOOLEAN",
    t.TinyIntType: "TINYINT",
    t.SmallIntType: "SMALLINT",
    t.IntType: "INTEGER",
    t.BigIntType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
    t.DecimalType: "DECIMAL",
    t.CharType: "CHAR",
    t.VarCharType: "VARCHAR",
    t.BinaryType: "BINARY",
    t.VarBinaryType: "VARBINARY",
    t.DateType: "DATE",
    t.TimeType: "TIME_WITHOUT_TIME_ZONE",
    t.TimestampType: "TIMESTAMP_WITHOUT_TIME_ZONE",
    t.LocalZonedTimestampType: "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    t.ZonedTimestampType: "TIMESTAMP_WITH_TIME_ZONE",
    t.YearMonthIntervalType: "INTERVAL_YEAR_MONTH",
    t.DayTimeIntervalType: "INTERVAL_DAY_TIME",
    t.ArrayType: "ARRAY",
    t.MapType: "MAP",
    t.MultisetType: "MULTISET",
    t.RowType: "ROW",
    t.VariantType: "VARIANT",
}
"""Flink's names of type roots."""


def described(data_type: DataType) -> dict[str, Any]:
    """The root and parameters of a type, as Flink's ``LogicalTypeJsonSerializer`` names them."""
    root = _ROOTS.get(type(data_type), "RAW")
    more = _PARAMETERS.get(type(data_type))
    return {"type": root, "nullable": data_type.is_nullable, **({} if more is None else more(data_type))}


def _length(kind: Any) -> dict[str, Any]:
    return {"length": kind.length}


def _times(kind: Any) -> dict[str, Any]:
    """The parameters of a timestamp type. Flink adds a kind for rowtime attributes only, which results never
    contain."""
    return {"precision": kind.precision}


def _decimal(kind: t.DecimalType) -> dict[str, Any]:
    return {"precision": kind.precision, "scale": kind.scale}


def _element(kind: Any) -> dict[str, Any]:
    return {"elementType": described(kind.element_type)}


def _map_type(kind: t.MapType) -> dict[str, Any]:
    return {"keyType": described(kind.key_type), "valueType": described(kind.value_type)}


def _row_type(kind: t.RowType) -> dict[str, Any]:
    return {
        "fields": [
            {
                "name": str(field.name),
                "fieldType": described(field.data_type),
                **({} if field.description is None else {"description": field.description}),
            }
            for field in kind.fields
        ]
    }


_PARAMETERS: Mapping[type[DataType], Callable[[Any], dict[str, Any]]] = {
    **dict.fromkeys((t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType), _length),
    **dict.fromkeys((t.TimeType, t.TimestampType, t.LocalZonedTimestampType, t.ZonedTimestampType), _times),
    t.DecimalType: _decimal,
    t.ArrayType: _element,
    t.MultisetType: _element,
    t.MapType: _map_type,
    t.RowType: _row_type,
    t.YearMonthIntervalType: lambda kind: {
        "resolution": kind.resolution.name,
        "precision": kind.precision,
    },
    t.DayTimeIntervalType: lambda kind: {
        "resolution": kind.resolution.name,
        "precision": kind.day_precision,
        "fractionalPrecision": kind.fractional_precision,
    },
}


# Values of rows

Value = Callable[[Any], Any]


def row_values(types: Sequence[DataType]) -> Callable[[Sequence[Any]], list[Any]]:
    """A function that gives the fields of a row."""
    values = [_nullable(each) for each in types]
    return lambda row: [value(field) for value, field in zip(values, row)]


def _nullable(data_type: DataType) -> Value:
    return conversion(data_type, _VALUES)


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _moment(value: datetime.datetime) -> str:
    if value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return _seconds(value.isoformat("T"))


def _seconds(text: str) -> str:
    """An ISO time as Java writes it: its fraction has three digits where six are not needed."""
    return text.removesuffix("000") if "." in text else text


def _instant(value: datetime.datetime) -> str:
    return f"{_moment(value)}Z"


def _millis(value: datetime.timedelta) -> int:
    return value // datetime.timedelta(milliseconds=1)


def _array(data_type: DataType) -> Value:
    each = _nullable(parts_of(data_type)[0])
    return lambda values: [each(value) for value in values]


def _map_value(data_type: DataType) -> Value:
    key, item = (_nullable(each) for each in parts_of(data_type))
    return lambda values: {_name(key(name)): item(value) for name, value in values.items()}


def _name(value: Any) -> str:
    """A key of a JSON object; a key that is not text is written as JSON inside of the text."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _row_value(data_type: Any) -> Value:
    fields = row_values(parts_of(data_type))
    names = [str(name) for name in data_type.names]

    def row(value: Any) -> dict[str, Any]:
        items = list(value.values()) if isinstance(value, dict) else list(value)
        return dict(zip(names, fields(items)))

    return row


_VALUES: ByFamily = {
    Family.INTEGER: lambda kind: int,
    Family.MONTHS: lambda kind: int,
    Family.TEXT: lambda kind: str,
    # All digits, as a number.
    Family.DECIMAL: lambda kind: lambda value: msgspec.Raw(format(value, "f").encode()),
    Family.APPROXIMATE: lambda kind: _number,
    Family.BYTES: lambda kind: lambda value: base64.b64encode(bytes(value)).decode(),
    Family.DATE: lambda kind: lambda value: value.isoformat(),
    Family.TIME: lambda kind: lambda value: _seconds(value.isoformat()),
    Family.TIMESTAMP: lambda kind: _moment,
    Family.INSTANT: lambda kind: _instant,
    Family.SPAN: lambda kind: _millis,
    Family.ARRAY: _array,
    Family.MAP: _map_value,
    Family.ROW: _row_value,
    Family.RAW: lambda kind: str,
    Family.USER: lambda kind: str,
}


# Bodies

JSON, PLAIN_TEXT = "JSON", "PLAIN_TEXT"

KINDS = {
    RowKind.INSERT: "INSERT",
    RowKind.UPDATE_BEFORE: "UPDATE_BEFORE",
    RowKind.UPDATE_AFTER: "UPDATE_AFTER",
    RowKind.DELETE: "DELETE",
}


@dataclass(frozen=True)
class OpenSessionBody:
    """A session to be opened. The last two are fields of Flink's first gateway."""

    sessionName: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    planner: str | None = None
    execution_type: str | None = None

    @property
    def all_properties(self) -> dict[str, str]:
        older = {"planner": self.planner, "execution_type": self.execution_type}
        return {**(self.properties or {}), **{key: value for key, value in older.items() if value is not None}}


@dataclass(frozen=True)
class StatementBody:
    """A statement to be run. Times are ms; 0 and less: no limit."""

    statement: str | None = None
    executionTimeout: int | None = None
    executionConfig: dict[str, str] | None = None

    @property
    def seconds(self) -> float | None:
        return self.executionTimeout / 1000 if self.executionTimeout and self.executionTimeout > 0 else None


@dataclass(frozen=True)
class CompleteBody:
    """A statement that is being typed."""

    statement: str | None = None
    position: int | None = None


@dataclass(frozen=True)
class SessionHandleAnswer:
    """A session was opened."""

    sessionHandle: str


@dataclass(frozen=True)
class OperationHandleAnswer:
    """A statement was submitted."""

    operationHandle: str


@dataclass(frozen=True)
class StatusAnswer:
    """How far something is."""

    status: str


@dataclass(frozen=True)
class PropertiesAnswer:
    """The settings of a session."""

    properties: dict[str, str]


@dataclass(frozen=True)
class InfoAnswer:
    """What this is."""

    productName: str
    version: str


@dataclass(frozen=True)
class VersionsAnswer:
    """Versions of the API that are served."""

    versions: tuple[str, ...]


@dataclass(frozen=True)
class CandidatesAnswer:
    """What may come next."""

    candidates: tuple[str, ...]


def page_body(operation: GatewayOperation, page: Page | None, row_format: str, next_uri: str) -> dict[str, Any]:
    """One page of results as a body; ``page`` is None while the statement still runs."""
    if page is None:
        return {"resultType": "NOT_READY", "nextResultUri": next_uri}
    result = operation.result
    body: dict[str, Any] = {
        "results": {"columns": _columns(result), "rowFormat": row_format, "data": _rows(result, page, row_format)},
        "resultType": "EOS" if page.is_last else "PAYLOAD",
        "resultKind": result.kind.name,
        "isQueryResult": result.is_query,
    }
    if result.job_id is not None:
        body["jobID"] = result.job_id
    if not page.is_last:
        body["nextResultUri"] = next_uri
    return body


def _columns(result: Result) -> list[dict[str, Any]]:
    return [
        {"name": str(name), "logicalType": described(kind), "comment": None}
        for name, kind in zip(result.names, result.types)
    ]


def _rows(result: Result, page: Page, row_format: str) -> list[dict[str, Any]]:
    fields = _plain(result) if row_format == PLAIN_TEXT else row_values(result.types)
    return [{"kind": KINDS[row.get_row_kind()], "fields": fields(list(row))} for row in page.rows]


def _plain(result: Result) -> Callable[[Sequence[Any]], list[Any]]:
    """Fields in the row format PLAIN_TEXT: texts; NULL is JSON's null."""
    texts = row_texts(result.types, result.zone)
    return lambda row: [None if value is None else text for value, text in zip(row, texts(row))]


# Operations

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
        yield Operation("GET", path, versions, "Versions of this API.", VersionsAnswer, versioned=False)
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
    text = ""
    while error is not None:
        kind = GATEWAY_ERROR if isinstance(error, GatewayError) else type(error).__name__
        text += f"\nCaused by: {kind}: {mask_text(str(error))}"
        error = error.__cause__ if isinstance(error, GatewayError) else None
    return text


def _table(h: Handlers) -> Iterator[tuple[int, Operation]]:
    """The table of operations: (first version that has it, operation)."""
    yield 1, Operation("GET", "/info", h.info, "What this is.", InfoAnswer)
    yield (
        1,
        Operation(
            "POST",
            "/sessions",
            h.open,
            "Open a session.",
            SessionHandleAnswer,
            request=OpenSessionBody,
            request_name="OpenSessionRequestBody",
        ),
    )
    yield 1, Operation("GET", _SESSION, h.properties, "Settings of a session.", PropertiesAnswer, changes=True)
    yield 1, Operation("DELETE", _SESSION, h.close, "Close a session.", StatusAnswer)
    yield 1, Operation("POST", f"{_SESSION}/heartbeat", h.heartbeat, "Keep a session.")
    yield (
        2,
        Operation(
            "POST",
            f"{_SESSION}/configure-session",
            h.configure,
            "Run a statement that changes the session.",
            request=StatementBody,
        ),
    )
    yield (
        2,
        Operation(
            "GET",
            f"{_SESSION}/complete-statement",
            h.complete,
            "What may come next in a statement.",
            CandidatesAnswer,
            request=CompleteBody,
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
            OperationHandleAnswer,
            request=StatementBody,
            request_name="ExecuteStatementRequestBody",
        ),
    )
    yield (
        1,
        Operation("GET", f"{_OPERATION}/status", h.status, "How far a statement is.", StatusAnswer, changes=True),
    )
    yield 1, Operation("POST", f"{_OPERATION}/cancel", h.cancel, "Cancel a statement.", StatusAnswer)
    let_go = "Let go of a statement."
    yield 1, Operation("DELETE", f"{_OPERATION}/close", h.close_operation, let_go, StatusAnswer)
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

    def versions(self, call: Call) -> VersionsAnswer:
        return VersionsAnswer(tuple(f"V{version}" for version in VERSIONS))

    def info(self, call: Call) -> InfoAnswer:
        return InfoAnswer("Apache Flink", FLINK)

    def open(self, call: Call) -> SessionHandleAnswer:
        body: OpenSessionBody = call.body
        return SessionHandleAnswer(self._gateway.open(body.all_properties, body.sessionName).handle)

    def properties(self, call: Call) -> PropertiesAnswer:
        return PropertiesAnswer(mask_options(self._session(call).properties))

    def close(self, call: Call) -> StatusAnswer:
        self._gateway.close(call.path["session_handle"])
        return StatusAnswer("CLOSED")

    def heartbeat(self, call: Call) -> None:
        self._session(call)

    def configure(self, call: Call) -> None:
        body: StatementBody = call.body
        self._session(call).configure(_statement(body.statement), body.seconds)

    def complete(self, call: Call) -> CandidatesAnswer:
        body: CompleteBody = call.body
        if body.statement is None and body.position is None:
            raise refused(400, "Bad request received. Request did not conform to expected format.")
        text = _statement(body.statement)
        position = len(text) if body.position is None else max(0, min(body.position, len(text)))
        return CandidatesAnswer(tuple(self._session(call).complete(text, position)))

    def submit(self, call: Call) -> OperationHandleAnswer:
        body: StatementBody = call.body
        operation = self._session(call).submit(_statement(body.statement), body.executionConfig, body.seconds)
        return OperationHandleAnswer(operation.handle)

    def status(self, call: Call) -> StatusAnswer:
        return StatusAnswer(self._operation(call).status.value)

    def cancel(self, call: Call) -> StatusAnswer:
        operation = self._operation(call)
        operation.cancel()
        return StatusAnswer(operation.status.value)

    def close_operation(self, call: Call) -> StatusAnswer:
        self._session(call).close_operation(call.path["operation_handle"])
        return StatusAnswer("CLOSED")

    def fetch(self, call: Call) -> dict[str, Any]:
        session, operation, token = self._session(call), self._operation(call), call.path["token"]
        row_format = (call.one("rowFormat") or JSON).upper()
        if row_format not in (JSON, PLAIN_TEXT):
            raise unreadable("query", "rowFormat", call.one("rowFormat") or "")
        page = operation.fetch(token) if operation.wait(FETCH_SECONDS) else None
        following = token if page is None else token + 1
        path = f"{self._version}/sessions/{session.handle}/operations/{operation.handle}/result/{following}"
        # The first version knows of one format only.
        query = "" if self._version == f"/v{VERSIONS[0]}" else f"?rowFormat={row_format}"
        return page_body(operation, page, row_format, f"{path}{query}")

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
