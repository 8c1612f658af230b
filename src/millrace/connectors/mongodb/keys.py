"""The ``_id`` of a row: its key, or a document of the parts of its key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def key_converter(keys: Sequence[str]) -> Callable[[Mapping[str, Any]], Any]:
    """From a document to its ``_id``.

    :param keys: fields of the document; several make a document, in their order.
    """
    if len(keys) == 1:
        (name,) = keys
        return lambda document: as_id(document[name])
    return lambda document: {name: document[name] for name in keys}


def as_id(value: Any) -> Any:
    """A key as MongoDB has it: the digits of an ObjectId, which SQL has as a text, are one again."""
    from bson import ObjectId

    return ObjectId(value) if isinstance(value, str) and ObjectId.is_valid(value) else value
