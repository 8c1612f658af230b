"""What requests to the gateway bring, and what its answers hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from millrace.cluster.gateway.operations import Operation, Result
from millrace.cluster.gateway.pages import Page
from millrace.cluster.gateway.types import described
from millrace.cluster.gateway.values import row_values
from millrace.common.types import RowKind
from millrace.table.values.cells import row_texts

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


def page_body(operation: Operation, page: Page | None, row_format: str, next_uri: str) -> dict[str, Any]:
    """A page of results; None: the statement is not over yet."""
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
    """Texts; what is NULL is null, not a text for it."""
    texts = row_texts(result.types, result.zone)
    return lambda row: [None if value is None else text for value, text in zip(row, texts(row))]
