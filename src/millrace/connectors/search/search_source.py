"""Reading an index: ``SearchSource`` reads its documents once, in one part or several; ``SearchLookup`` asks for those
of many keys by one request, by their ids or by fields. Documents stay the bytes that they are, for a format to read.

Conditions in the language of search depend on how the index keeps fields. They leave out no row that is wanted; all are
checked again later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from millrace.common.source import Boundedness, ReaderOutput, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.search.search_client import Place, SearchClient, SearchError, error_and_reason
from millrace.connectors.source_base import QueueEnumerator, QueueReader
from millrace.relational.rex import Call, Literal, Ref, Rex, Schema
from millrace.relational.sources import LookupTableSource
from millrace.relational.type_table import Family, family_of

WHOLE = ("long", "integer", "short", "byte")


@dataclass(frozen=True)
class Field:
    """A field that can be asked for exact values.

    :ivar path: the name to ask for.
    :ivar kind: ``long``, ``keyword`` and so on.
    :ivar longest: of texts: longer ones are not found; None: all are.
    """

    path: str
    kind: str
    longest: int | None = None


def fields_of(client: SearchClient, index: str) -> dict[str, Field]:
    """The fields right in documents that can be asked for exact values, of all indexes that a pattern names: those that
    each of them keeps in the same way."""
    told = client.json("GET", f"/{quote(index, safe='*,')}/_mapping", missing=True) or {}
    found: list[dict[str, Field]] = []
    for each in told.values():
        properties = each.get("mappings", {}).get("properties", {})
        found.append({name: field for name, given in properties.items() if (field := _field(name, given)) is not None})
    if not found:
        return {}
    first, *others = found
    return {name: field for name, field in first.items() if all(each.get(name) == field for each in others)}


def _field(name: str, given: Mapping[str, Any]) -> Field | None:
    kind = given.get("type")
    if given.get("index") is False or given.get("ignore_malformed"):
        return None
    if kind == "text":
        for inner, each in given.get("fields", {}).items():
            if each.get("type") == "keyword" and each.get("index") is not False and "normalizer" not in each:
                return Field(f"{name}.{inner}", "keyword", each.get("ignore_above"))
        return None
    if kind == "keyword":
        return None if "normalizer" in given else Field(name, kind, given.get("ignore_above"))
    return Field(name, str(kind)) if kind in (*WHOLE, "boolean") else None


_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
Query = dict[str, Any]


@dataclass(frozen=True)
class Conditions:
    """The filters of a table, to be turned into a query when it is known how the index keeps its fields."""

    filters: tuple[Rex, ...]
    columns: Schema

    def __call__(self, fields: Mapping[str, Field]) -> Query | None:
        return _all([_query(each, self.columns, fields) for each in self.filters])


def _all(parts: Sequence[Query | None]) -> Query | None:
    """The conjunction of conditions; those that the index cannot check (None) are left out. None: no condition is
    left."""
    found = [each for each in parts if each is not None]
    return {"bool": {"filter": found}} if found else None


def _any(parts: Sequence[Query | None]) -> Query | None:
    """The disjunction of conditions; None if the index cannot check one of them."""
    return None if None in parts else {"bool": {"should": list(parts), "minimum_should_match": 1}}


def _query(rex: Rex, columns: Schema, fields: Mapping[str, Field]) -> Query | None:
    if not isinstance(rex, Call):
        return None
    if rex.function == "AND":
        return _all([_query(each, columns, fields) for each in rex.args])
    if rex.function == "OR":
        return _any([_query(each, columns, fields) for each in rex.args])
    if rex.function == "BETWEEN" and not rex.option("symmetric"):
        value, low, high = rex.args
        bounds = (_compared(">=", value, low, columns, fields), _compared("<=", value, high, columns, fields))
        return _all(bounds)
    if rex.function == "IN":
        value, *choices = rex.args
        return _any([_compared("=", value, choice, columns, fields) for choice in choices])
    if rex.function in _MIRRORED and len(rex.args) == 2:
        return _compared(rex.function, *rex.args, columns, fields)
    return None


def _compared(function: str, left: Rex, right: Rex, columns: Schema, fields: Mapping[str, Field]) -> Query | None:
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    if not isinstance(left, Ref) or not isinstance(right, Literal) or left.index >= len(columns):
        return None
    field, value = fields.get(columns[left.index].name), right.value
    if field is None or value is None:
        return None
    family = family_of(left.type)
    if family is not family_of(right.type):
        return None
    if family is Family.INTEGER and field.kind in WHOLE:
        if function == "=":
            return {"term": {field.path: {"value": value}}}
        return {"range": {field.path: {_RANGES[function]: value}}}
    if family is Family.TEXT and field.kind == "keyword" and function == "=":
        short = field.longest is None or len(value) <= field.longest
        return {"term": {field.path: {"value": value}}} if short else None
    return None


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
    """Decode the answer to one search."""
    return _page_of_hits(_searches()[0].decode(answer))


def pages_of(answer: bytes) -> list[Page]:
    """Decode the answers to several searches."""
    return [_page_of_hits(each) for each in _searches()[1].decode(answer).responses]


def documents_of(answer: bytes) -> list[Hit | None]:
    """Decode the answer to a request for ids; a document that does not exist is None."""
    return [_hit(each) if each.found else None for each in _searches()[2].decode(answer).docs]


def _page_of_hits(found: Any) -> Page:
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


MOST_IDS, MOST_SEARCHES = 2_000, 200
"""keys that are asked for together"""
MOST_HITS = 10_000
"""documents of one key; servers do not give more at once"""
PAUSE_SECONDS = 1.0

Row = tuple[Any, ...]
Decode = Callable[[Sequence[Hit]], Sequence[Sequence[Row]]]


class SearchLookup(LookupTableSource):
    """Asks an index for the documents of keys.

    :param fields: the names of all fields that are read.
    :param key: which of them are the key.
    :param id_of: keys -> ids of documents; None: they are found by their fields.
    :param decode: documents -> the rows of each.
    :ivar options: of the table: those of its cache are read from here.
    """

    def __init__(
        self,
        place: Place,
        index: str,
        fields: Sequence[str],
        key: Sequence[int],
        id_of: Callable[[Sequence[Row]], Sequence[str | None]] | None,
        decode: Decode,
        options: Mapping[str, str],
        retries: int,
    ) -> None:
        self._place = place
        self._index = index
        self._fields = tuple(fields)
        self._key = tuple(key)
        self._id_of = id_of
        self._decode = decode
        self.options = {name: value for name, value in options.items() if name.startswith("lookup.")}
        self._retries = retries
        self._client: SearchClient | None = None
        self._known: Mapping[str, Field] = {}

    def open(self) -> None:
        self._client = SearchClient(self._place)

    def lookup(self, keys: Sequence[Row]) -> Iterable[Sequence[Row]]:
        most = MOST_SEARCHES if self._id_of is None else MOST_IDS
        found: list[Sequence[Row]] = []
        for begin in range(0, len(keys), most):
            found += self._some(keys[begin : begin + most])
        return found

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _some(self, keys: Sequence[Row]) -> list[Sequence[Row]]:
        answers = self._again(keys)
        rows = iter(self._decode([hit for hits in answers for hit in hits]))
        found = [[row for _ in hits for row in next(rows)] for hits in answers]
        # What an index keeps of a field may be less than the field: 1 of 1.5.
        return [[row for row in each if self._has(row, key)] for each, key in zip(found, keys)]

    def _has(self, row: Row, key: Row) -> bool:
        return all(row[place] == value for place, value in zip(self._key, key))

    def _again(self, keys: Sequence[Row]) -> list[list[Hit]]:
        for attempt in range(self._retries + 1):
            try:
                return self._by_field(keys) if self._id_of is None else self._by_id(keys)
            except SearchError as error:
                if attempt == self._retries or not error.passing:
                    raise
                time.sleep(PAUSE_SECONDS * (attempt + 1))
        raise AssertionError("not reached")

    @property
    def _names(self) -> list[str]:
        return [self._fields[place] for place in self._key]

    @property
    def _path(self) -> str:
        return f"/{quote(self._index, safe='*,')}"

    def _opened(self) -> SearchClient:
        assert self._client is not None, "open() comes first"
        return self._client

    def _by_id(self, keys: Sequence[Row]) -> list[list[Hit]]:
        import msgspec

        client = self._opened()
        assert self._id_of is not None
        ids = self._id_of(keys)
        wanted = [each for each in ids if each is not None]
        parameters = {"_source_includes": ",".join(self._fields)}
        answer = client.request("POST", f"{self._path}/_mget", msgspec.json.encode({"ids": wanted}), parameters)
        found = iter(documents_of(answer or b""))
        documents = [None if each is None else next(found) for each in ids]
        return [[] if each is None else [each] for each in documents]

    def _by_field(self, keys: Sequence[Row]) -> list[list[Hit]]:
        import msgspec

        client = self._opened()
        known = self._mapping(client)
        encode = msgspec.json.encode
        lines: list[bytes] = []
        for key in keys:
            query = {"bool": {"filter": [self._term(known, *each) for each in zip(self._names, key)]}}
            body = {"query": query, "size": MOST_HITS, "_source": list(self._fields), "track_total_hits": MOST_HITS + 1}
            lines += [encode({"index": self._index, "allow_partial_search_results": False}), encode(body)]
        answer = client.request("POST", "/_msearch", b"\n".join([*lines, b""]), lines=True)
        pages = pages_of(answer or b"")
        for page, key in zip(pages, keys):
            if page.error is not None:
                kind, reason = error_and_reason(page.error)
                raise SearchError(f"{self._place.where}, index '{self._index}': {kind}: {reason}", 400, kind)
            if page.failed:
                raise SearchError(f"{self._place.where}, index '{self._index}': {page.failed} shards failed", 503)
            if page.total > MOST_HITS:
                said = dict(zip(self._names, key))
                raise SearchError(
                    f"{self._place.where}, index '{self._index}': more than {MOST_HITS} documents have {said}", 400
                )
        return [list(page.hits) for page in pages]

    def _mapping(self, client: SearchClient) -> Mapping[str, Field]:
        """How the index keeps the fields of the key: asked for until it knows all of them, for that stays."""
        if not all(name in self._known for name in self._names):
            self._known = fields_of(client, self._index)
        return self._known

    def _term(self, known: Mapping[str, Field], name: str, value: Any) -> Any:
        """:raises SearchError: the index cannot find exact values of the field."""
        field = known.get(name)
        fits = field is not None and (
            (field.kind == "keyword" and isinstance(value, str))
            or (field.kind in WHOLE and isinstance(value, int) and not isinstance(value, bool))
            or (field.kind == "boolean" and isinstance(value, bool))
        )
        if field is None or not fits:
            raise SearchError(
                f"{self._place.where}, index '{self._index}': rows cannot be looked up by '{name}': that needs whole "
                f"numbers, Booleans, or texts that the index keeps as keyword, or the PRIMARY KEY as a whole",
                400,
            )
        if field.longest is not None and isinstance(value, str) and len(value) > field.longest:
            raise SearchError(
                f"{self._place.where}, index '{self._index}': texts of '{name}' with more than {field.longest} "
                f"characters are not found (ignore_above)",
                400,
            )
        return {"term": {field.path: {"value": value}}}
