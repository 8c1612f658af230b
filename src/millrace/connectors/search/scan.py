"""``SearchSource``: the documents of an index, read once, in one part or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from millrace.common.source import Boundedness, ReaderOutput, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.queue_enumerator import QueueEnumerator
from millrace.connectors.queue_reader import QueueReader
from millrace.connectors.search.client import SearchClient, SearchError
from millrace.connectors.search.hits import Hit, Page, page_of
from millrace.connectors.search.mapping import Field, fields_of
from millrace.connectors.search.place import Place

T = TypeVar("T")
Condition = Callable[[dict[str, Field]], Any]
"""The fields of an index -> a query in its own language; None: all documents"""

_WHOLE = {"allow_partial_search_results": "false"}
"""parts of an index that cannot be read are an error, and not left out"""


@dataclass(frozen=True)
class Search:
    """What is read.

    :ivar index: a name, or a pattern with ``*``.
    :ivar fields: of the documents, one at least; None: all.
    :ivar condition: None: there is none.
    :ivar page: documents at a time.
    :ivar keep_alive: seconds between two pages for which the server remembers what is read.
    """

    index: str
    fields: tuple[str, ...] | None = None
    condition: Condition | None = None
    page: int = 1000
    keep_alive: int = 300

    @property
    def path(self) -> str:
        return f"/{quote(self.index, safe='*,')}"


@dataclass(frozen=True)
class Slice:
    """A part of an index that is still to be read."""

    split_id: str
    number: int
    count: int


class SearchSource(Source[T, Slice], Generic[T]):
    """Reads an index as it is when a slice begins. A slice is read in one epoch: the server's memory of where a reader
    is does not outlive it.

    :param decode: documents -> an element.
    """

    def __init__(self, place: Place, search: Search, slices: int, decode: Callable[[Sequence[Hit]], T | None]) -> None:
        self._place = place
        self._search = search
        self._slices = slices
        self._decode = decode

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[Slice], checkpoint: Sequence[Slice] | None = None
    ) -> QueueEnumerator[Slice]:
        slices = [Slice(str(number), number, self._slices) for number in range(self._slices)]
        return QueueEnumerator(context, slices if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> SearchReader[T]:
        return SearchReader(self._place, self._search, self._decode)


class SearchReader(QueueReader[T, Slice], Generic[T]):
    """Reads the pages of a slice."""

    def __init__(self, place: Place, search: Search, decode: Callable[[Sequence[Hit]], T | None]) -> None:
        super().__init__()
        self._client = SearchClient(place)
        self._search = search
        self._decode = decode

    def read(self, split: Slice, output: ReaderOutput[T]) -> None:
        for hits in pages(self._client, self._search, split):
            element = self._decode(hits)
            if element is not None:
                output.collect(element)

    def close(self) -> None:
        self._client.close()


def pages(client: SearchClient, search: Search, part: Slice) -> Iterator[Sequence[Hit]]:
    """The documents of a slice, some at a time.

    :raises SearchError: the server refuses, or does not have the index, or does not answer.
    """
    body: dict[str, Any] = {"size": search.page}
    body["_source"] = True if search.fields is None else list(search.fields)
    query = None if search.condition is None else search.condition(fields_of(client, search.index))
    if query is not None:
        body["query"] = {"bool": {"filter": [query]}}
    ask = _by_point_in_time if client.place.dialect.points_in_time else _by_scroll
    return ask(client, search, part, body)


def _by_scroll(client: SearchClient, search: Search, part: Slice, body: dict[str, Any]) -> Iterator[Sequence[Hit]]:
    if part.count > 1:
        body["slice"] = {"id": part.number, "max": part.count}
    alive = f"{search.keep_alive}s"
    page = _page(client, f"{search.path}/_search", {**body, "sort": ["_doc"]}, scroll=alive, **_WHOLE)
    context = page.context
    try:
        while page.hits:
            yield page.hits
            page = _page(client, "/_search/scroll", {"scroll": alive, "scroll_id": context})
            context = page.context or context
    finally:
        _forget(client, "/_search/scroll", {"scroll_id": [context]})


def _by_point_in_time(
    client: SearchClient, search: Search, part: Slice, body: dict[str, Any]
) -> Iterator[Sequence[Hit]]:
    if part.count > 1:
        # By the id, which is the same for all readers: each has a point in time of its own.
        body["slice"] = {"field": "_id", "id": part.number, "max": part.count}
    alive = f"{search.keep_alive}s"
    context = client.json("POST", f"{search.path}/_pit", keep_alive=alive)["id"]
    after: Any = None
    try:
        while True:
            asked = {
                **body,
                "track_total_hits": False,
                "pit": {"id": context, "keep_alive": alive},
                "sort": ["_shard_doc"],
            }
            page = _page(client, "/_search", asked if after is None else {**asked, "search_after": after}, **_WHOLE)
            context = page.context or context
            if not page.hits:
                return
            yield page.hits
            after = page.hits[-1].sort
    finally:
        _forget(client, "/_pit", {"id": context})


def _page(client: SearchClient, path: str, body: Any, **parameters: str) -> Page:
    import msgspec

    answer = client.request("POST", path, msgspec.json.encode(body), parameters)
    page = page_of(answer or b"{}")
    if page.failed:
        raise SearchError(f"{client.place.where}: {page.failed} shards of what {path} asks for failed", 503)
    return page


def _forget(client: SearchClient, path: str, body: Any) -> None:
    try:
        client.json("DELETE", path, body, missing=True)
    except SearchError:
        pass  # it ends by itself after a while
