"""One line of the table of routes: method, path, handler, and the types of its parameters, request and answer.

Parameters of paths and queries are read here, with Flink's error texts.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from millrace.cluster.rest.call import Call, unreadable

Reader = Callable[[str], Any]
"""Parses a text to a value; raises ValueError"""

_ID = re.compile(r"[0-9a-fA-F]{32}\Z")
_DIGITS = re.compile(r"[0-9]{1,19}\Z")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}\Z")
_MOST = 2**31 - 1


def read_id(text: str) -> str:
    if not _ID.match(text):
        raise ValueError("not 32 hexadecimal digits")
    return text.lower()


def read_index(text: str) -> int:
    if not _DIGITS.match(text) or int(text) > _MOST:
        raise ValueError("not an index")
    return int(text)


def read_integer(text: str) -> int:
    if not _INTEGER.match(text) or not -_MOST <= int(text) <= _MOST:
        raise ValueError("not an integer")
    return int(text)


def read_long(text: str) -> int:
    if not _INTEGER.match(text) or not -(2**63) <= int(text) < 2**63:
        raise ValueError("not an integer")
    return int(text)


def read_uuid(text: str) -> str:
    return str(uuid.UUID(text))


def read_truth(text: str) -> bool:
    """Parse a boolean as Java does: every text but ``true`` is false."""
    return text.lower() == "true"


def one_of(*names: str) -> Reader:
    def read(text: str) -> str:
        if text.lower() not in names:
            raise ValueError(f"none of {', '.join(names)}")
        return text.lower()

    return read


def read_label(text: str) -> tuple[str, str]:
    key, colon, value = text.partition(":")
    if not (key and colon and value):
        raise ValueError("not key:value")
    return key, value


@dataclass(frozen=True)
class Kind:
    """How the values of a parameter are parsed, and their schema in the API's description."""

    read: Reader
    schema: Mapping[str, Any]


HEX = Kind(read_id, {"type": "string", "pattern": "^[0-9a-fA-F]{32}$"})
TEXT = Kind(str, {"type": "string"})
INDEX = Kind(read_index, {"type": "integer", "minimum": 0, "maximum": _MOST})
INTEGER = Kind(read_integer, {"type": "integer", "minimum": -_MOST, "maximum": _MOST})
LONG = Kind(read_long, {"type": "integer"})
TRUTH = Kind(read_truth, {"type": "boolean"})
UUID = Kind(read_uuid, {"type": "string", "format": "uuid"})
LABEL = Kind(read_label, {"type": "string", "pattern": "^[^:,]+:[^,]+$"})


def choice(*names: str) -> Kind:
    return Kind(one_of(*names), {"type": "string", "enum": [*names]})


IN_PATHS: Mapping[str, Kind] = {
    "jobid": HEX,
    "vertexid": HEX,
    "applicationid": HEX,
    "triggerid": HEX,
    "datasetid": HEX,
    "rescaleuuid": HEX,
    "checkpointid": LONG,
    "subtaskindex": INDEX,
    "attempt": INDEX,
    "taskmanagerid": TEXT,
    "jarid": TEXT,
    "file": TEXT,
    "session_handle": UUID,
    "operation_handle": UUID,
    "token": LONG,
}
"""path parameters by name"""


@dataclass(frozen=True)
class Query:
    """A query parameter with any number of values: the name repeated, or values separated by commas."""

    name: str
    kind: Kind = TEXT
    many: bool = field(default=False)


def read_path(values: Mapping[str, str]) -> dict[str, Any]:
    """Parse the parameters of a path. Raises a ``RestError`` for the first one that can't be parsed."""
    read = {}
    for name, text in values.items():
        try:
            read[name] = IN_PATHS[name].read(text)
        except ValueError:
            raise unreadable("path", name, text) from None
    return read


def read_query(queries: Sequence[Query], pairs: Sequence[tuple[str, str]]) -> dict[str, list[Any]]:
    """Parse the query's known parameters; others are ignored, as Flink does."""
    read: dict[str, list[Any]] = {}
    for query in queries:
        # An empty text is no value where any text would be one; elsewhere it is one that can't be read.
        texts = [text for name, value in pairs if name == query.name for text in value.split(",")]
        if query.kind is TEXT:
            texts = [text for text in texts if text]
        for text in texts:
            try:
                read.setdefault(query.name, []).append(query.kind.read(text))
            except ValueError:
                raise unreadable("query", query.name, text) from None
    return read


@dataclass(frozen=True)
class Operation:
    """One operation of the API."""

    method: str
    path: str
    handler: Callable[[Call], Any]
    """returns a body, or an ``Answer``"""
    summary: str
    answer: Any = None
    """type of the body; None: an empty object"""
    status: int = 200
    query: tuple[Query, ...] = ()
    request: Any = None
    """type of the request's body; an absent body counts as an empty object"""
    request_name: str = ""
    """name of the request's type in the API's description, if the type has none"""
    upload: bool = False
    """whether a file is uploaded with the request"""
    media: str = "application/json"
    changes: bool | None = None
    """whether the operation changes something; None: every method but GET does"""
    history: bool = False
    """whether the history server offers it, too"""
    versioned: bool = True
    """whether it is served under ``/v1``, too"""

    @property
    def is_protected(self) -> bool:
        return self.method != "GET" if self.changes is None else self.changes


Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-fA-F]{32}$")]
