"""Answers with documents: the documents stay the bytes that they are, for a format to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Hit:
    """
    :ivar source: the document, as JSON.
    :ivar sort: where it stands among all, for asking what follows.
    """

    id: str
    index: str
    source: bytes
    sort: Any = None


@dataclass(frozen=True)
class Page:
    """
    :ivar total: how many documents there are in all, if that was asked for.
    :ivar context: of a scroll or a point in time, to go on with.
    """

    hits: Sequence[Hit]
    total: int = 0
    context: str = ""
    error: Any = None
    failed: int = 0
    """parts of the index that gave nothing, since they failed"""


def page_of(answer: bytes) -> Page:
    """Of one search."""
    return _page(_searches()[0].decode(answer))


def pages_of(answer: bytes) -> list[Page]:
    """Of several searches."""
    return [_page(each) for each in _searches()[1].decode(answer).responses]


def documents_of(answer: bytes) -> list[Hit | None]:
    """Of asking for ids: what is not there is None."""
    return [_hit(each) if each.found else None for each in _searches()[2].decode(answer).docs]


def _page(found: Any) -> Page:
    context = found.scroll_id or found.pit_id or ""
    if found.hits is None:
        return Page((), 0, context, found.error)
    failed = found.shards.failed if found.shards else 0
    total = found.hits.total
    return Page([_hit(each) for each in found.hits.hits], total.value if total else 0, context, found.error, failed)


def _hit(found: Any) -> Hit:
    source = bytes(found.source)
    if not source:
        raise ValueError(f"index '{found.index}' does not keep its documents (_source is off): they cannot be read")
    return Hit(found.id, found.index, source, found.sort)


@cache
def _searches() -> tuple[Any, Any, Any]:
    """Decoders of the three kinds of answer; msgspec is there only with the extra."""
    import msgspec

    hit = msgspec.defstruct(
        "Hit",
        [
            ("id", str, msgspec.field(name="_id")),
            ("index", str, msgspec.field(name="_index", default="")),
            ("source", msgspec.Raw, msgspec.field(name="_source", default=msgspec.Raw(b""))),
            ("sort", Any, None),
            ("found", bool, False),
        ],
    )
    total = msgspec.defstruct("Total", [("value", int, 0)])
    hits = msgspec.defstruct("Hits", [("hits", list[hit]), ("total", total | None, None)])  # type: ignore[valid-type]
    shards = msgspec.defstruct("Shards", [("failed", int, 0)])
    search = msgspec.defstruct(
        "Search",
        [
            ("hits", hits | None, None),
            ("scroll_id", str | None, msgspec.field(name="_scroll_id", default=None)),
            ("pit_id", str | None, None),
            ("error", Any, None),
            ("shards", shards | None, msgspec.field(name="_shards", default=None)),
        ],
    )
    several = msgspec.defstruct("Several", [("responses", list[search])])  # type: ignore[valid-type]
    documents = msgspec.defstruct("Documents", [("docs", list[hit])])  # type: ignore[valid-type]
    return msgspec.json.Decoder(search), msgspec.json.Decoder(several), msgspec.json.Decoder(documents)
