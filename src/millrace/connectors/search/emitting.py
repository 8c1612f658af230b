"""Elements of a DataStream as actions on documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from millrace.connectors.search.actions import (
    Action,
    Create,
    Delete,
    Document,
    Emit,
    Index,
    Update,
    in_json,
    lines,
    plain,
)
from millrace.connectors.search.sink import Encoder
from millrace.connectors.upsert import is_deletion

_ABOUT_BYTES = 200
"""of an element, until it is written"""


@dataclass(frozen=True)
class FieldEmitter:
    """One document for each element, which is a dict, or a Row with names.

    :ivar index: its name, or (``dynamic``) the field that has it.
    :ivar key: the field whose value is the id; None: documents get ids of their own.
    """

    index: str
    key: str | None = None
    dynamic: bool = False

    def __call__(self, element: Any) -> Action:
        document = plain(element)
        if not isinstance(document, dict):
            raise TypeError(f"a document is a dict, or a Row with names, not {element!r}")
        index = str(self._of(document, self.index)) if self.dynamic else self.index
        if self.key is None:
            return Create(index, document)
        id = _id(self._of(document, self.key))
        return Delete(index, id) if is_deletion(element) else Update(index, document, id)

    def _of(self, document: dict[str, Any], name: str) -> Any:
        value = document.get(name)
        if value is None:
            raise ValueError(f"the field '{name}' is missing or None in {document!r}")
        return value


def _id(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Emitted(Encoder[Any]):
    """Asks an emitter for the actions of each element."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    def measure(self, element: Any) -> tuple[int, int]:
        return 1, len(element) if isinstance(element, (str, bytes)) else _ABOUT_BYTES

    def encode(self, elements: Sequence[Any], epoch: int) -> Sequence[pa.Array]:
        import msgspec

        encode = msgspec.json.Encoder(enc_hook=in_json).encode
        actions = [action for element in elements for action in self._actions(element)]
        return [
            pa.array([lines(action, encode) for action in part], pa.large_binary())
            for part in without_repetition(actions)
        ]

    def _actions(self, element: Any) -> Iterable[Action]:
        given = self._emit(element)
        if given is None:
            return ()
        return (given,) if isinstance(given, (Index, Create, Update, Delete)) else given


def without_repetition(actions: Iterable[Action]) -> list[list[Action]]:
    """Parts in which no document occurs twice: what is sent again must not come after what followed it. Actions on one
    document become one where that is the same; else the later one begins a new part."""
    parts: list[dict[Any, Action]] = [{}]
    for action in actions:
        part = parts[-1]
        if action.id is None:
            part[object()] = action
            continue
        place = (action.index, action.id)
        earlier = part.pop(place, None)
        if earlier is None:
            part[place] = action
            continue
        both = _together(earlier, action)
        if both is None:
            part[place] = earlier
            parts.append({place: action})
        else:
            part[place] = both
    return [list(part.values()) for part in parts if part]


def _together(earlier: Action, later: Action) -> Action | None:
    """One action for two on the same document; None if there is none."""
    if isinstance(earlier, Create) or isinstance(later, Create) or _version(earlier) != _version(later):
        return None
    if not isinstance(later, Update):
        return later
    if isinstance(earlier, Delete):
        return Index(later.index, later.document, later.id)
    document = _merged(earlier.document, later.document)
    return None if document is None else replace(earlier, document=document)


def _version(action: Action) -> int | None:
    return getattr(action, "version", None)


def _merged(earlier: Document, later: Document) -> Document | None:
    """A document whose fields are changed as servers do it: of objects inside it the fields, too. None: it is text."""
    if isinstance(earlier, (str, bytes)) or isinstance(later, (str, bytes)):
        return None
    return _changed(plain(earlier), plain(later))


def _changed(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(fields)
    for name, value in changes.items():
        before, after = plain(found.get(name)), plain(value)
        both = isinstance(before, Mapping) and isinstance(after, Mapping)
        found[name] = _changed(before, after) if both else value
    return found
