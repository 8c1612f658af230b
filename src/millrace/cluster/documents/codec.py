"""Documents as JSON text and back.

``msgspec``, of the extra ``cluster``, is imported when there is one: ``doctor`` looks at folders without it.
"""

from __future__ import annotations

from typing import TypeVar

D = TypeVar("D")


def encode(document: object) -> bytes:
    """A document, or a list of documents, as JSON."""
    import msgspec

    return msgspec.json.encode(document)


def decode(text: bytes, kind: type[D]) -> D:
    """The document of a JSON text; fields that it lacks have their defaults, others are ignored.

    :raises ValueError: it is no JSON, or not of that kind.
    """
    import msgspec

    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise ValueError(f"not a {kind.__name__}: {error}") from None
