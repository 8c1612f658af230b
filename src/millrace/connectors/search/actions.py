"""What a program does to documents: ``Index``, ``Create``, ``Update`` and ``Delete``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Union

from millrace.common.types import Row

Document = Union[Mapping[str, Any], Row, str, bytes]
"""fields and their values; or JSON"""


@dataclass(frozen=True)
class Index:
    """Puts a document into an index, in place of the one with the same id.

        >>> def emit(event):
        ...     yield Index(f"events-{event['day']}", event, event["id"])
        >>> next(emit({"day": "monday", "id": "7"})).index
        'events-monday'

    :ivar id: None: it gets one of its own, and is there twice if it is sent twice.
    :ivar version: it is put there only if what is there has no higher one; needs an id.
    """

    index: str
    document: Document
    id: str | None = None
    version: int | None = None
    name: ClassVar[str] = "index"


@dataclass(frozen=True)
class Create:
    """Puts a document into an index where there is none with the same id; if there is one it is an error.

        >>> Create("users", {"name": "Ann"}, "1").id
        '1'
    """

    index: str
    document: Document
    id: str | None = None
    name: ClassVar[str] = "create"


@dataclass(frozen=True)
class Update:
    """Changes fields of a document. Where it is not there it is made of them.

        >>> Update("users", {"seen": 5}, "1").document
        {'seen': 5}
    """

    index: str
    document: Document
    id: str
    name: ClassVar[str] = "update"


@dataclass(frozen=True)
class Delete:
    """Takes a document out of an index, if it is there.

        >>> Delete("users", "1").id
        '1'
    """

    index: str
    id: str
    version: int | None = None
    name: ClassVar[str] = "delete"


Action = Union[Index, Create, Update, Delete]
Emit = Callable[[Any], Union[Action, Iterable[Action], None]]
"""An element -> what becomes of it."""


def lines(action: Action, encode: Callable[[Any], bytes]) -> bytes:
    """As a bulk request has it.

    :param encode: writes JSON.
    """
    head: dict[str, Any] = {"_index": action.index}
    if action.id is not None:
        head["_id"] = action.id
    version = getattr(action, "version", None)
    if version is not None:
        head |= {"version": version, "version_type": "external_gte"}
    if isinstance(action, Delete):
        return encode({"delete": head}) + b"\n"
    document = _text(action.document, encode)
    if isinstance(action, Update):
        head["retry_on_conflict"] = 3
        document = b'{"doc":' + document + b',"doc_as_upsert":true}'
    return encode({action.name: head}) + b"\n" + document + b"\n"


def _text(document: Document, encode: Callable[[Any], bytes]) -> bytes:
    if isinstance(document, (str, bytes)):
        text = document.encode() if isinstance(document, str) else document
        # Two lines would be two things of a bulk request; in JSON a line may end everywhere but inside texts.
        return text.replace(b"\n", b" ").replace(b"\r", b" ")
    return encode(plain(document))


def plain(value: Any) -> Any:
    """Rows as dicts."""
    if isinstance(value, Row):
        if value._fields is None:
            raise ValueError(f"a document needs names for its fields: {value!r} is a Row without names")
        return dict(zip(value._fields, value._values))
    return value


def in_json(value: Any) -> Any:
    """For what a writer of JSON does not know: nested rows, numbers of numpy, and what has ``isoformat``."""
    if isinstance(value, Row):
        return plain(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a document cannot have a {type(value).__name__}: {value!r}")
