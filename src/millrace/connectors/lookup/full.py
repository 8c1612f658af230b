"""``FullLookup``: a table that is read as a whole, and found in memory by its key."""

from __future__ import annotations

import datetime as dt
import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from millrace.connectors.lookup.index import Index
from millrace.connectors.lookup.reading import read_all
from millrace.connectors.lookup.reload import Reload
from millrace.relational.fields import Field
from millrace.relational.rows import concat
from millrace.relational.sources import LookupTableSource, TableContext, TableSource

logger = logging.getLogger(__name__)

QUIET_SECONDS = 300.0
"""without a row, after which reading has failed"""
CLOSING_SECONDS = 10.0


class FullLookup(LookupTableSource):
    """Reads the table in ``open``, in each task, and again as ``reload`` says, beside the look-ups: these find the rows
    of the last reading. A reading that fails fails the next look-up.

    :param key: which of the columns are the key.
    """

    def __init__(self, source: TableSource, table: TableContext, key: Sequence[int], reload: Reload) -> None:
        self._source = source
        self._summary = table.summary
        self._columns = (*table.columns, *(_field(each) for each in table.metadata))
        self._key = tuple(key)
        self._reload = reload
        self._index = Index([], [], self._key)
        self._failure: Exception | None = None
        self._closed: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def __getstate__(self) -> dict[str, Any]:
        kept = {"_closed": None, "_thread": None, "_index": Index([], [], self._key), "_failure": None}
        return {**self.__dict__, **kept}

    def open(self) -> None:
        began = _now()
        self._load()
        self._closed = threading.Event()
        wait = self._reload.wait(began, _now())
        if wait is not None:
            name = f"reloads of {self._summary}"
            self._thread = threading.Thread(target=self._again, args=(wait, self._closed), name=name, daemon=True)
            self._thread.start()

    def _load(self) -> None:
        source = self._source.stream(range(len(self._columns)))
        parts = [rows for rows in read_all(source, f"table {self._summary}", QUIET_SECONDS) if len(rows)]
        columns = concat(parts).columns if parts else []
        self._index = Index(columns, [column.type for column in self._columns], self._key)

    def _again(self, wait: float | None, closed: threading.Event) -> None:
        while wait is not None and not closed.wait(wait):
            began = _now()
            try:
                self._load()
            except Exception as error:
                logger.exception("table %s cannot be read again", self._summary)
                self._failure = error
                return
            wait = self._reload.wait(began, _now())

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        if self._failure is not None:
            raise RuntimeError(f"table {self._summary} cannot be read again: {self._failure}") from self._failure
        return self._index.find(keys)

    def close(self) -> None:
        if self._closed is not None:
            self._closed.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(CLOSING_SECONDS)


def _now() -> dt.datetime:
    return dt.datetime.now().astimezone()


def _field(metadata: tuple[str, str, Any]) -> Field:
    name, _, kind = metadata
    return Field(name, kind)
