"""``SearchLookup``: the documents of many keys by one request, by their ids or by fields."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from millrace.connectors.search.client import SearchClient, SearchError, told
from millrace.connectors.search.hits import Hit, documents_of, pages_of
from millrace.connectors.search.mapping import WHOLE, Field, fields_of
from millrace.connectors.search.place import Place
from millrace.relational.sources import LookupTableSource

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
                kind, reason = told(page.error)
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
