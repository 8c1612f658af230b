"""``HBaseRowsSource``: the rows of a table, read once, region by region."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

from millrace.connectors.hbase.connection import Gateway, refused
from millrace.connectors.hbase.layout import Layout
from millrace.connectors.stores.parts import PartsSource
from millrace.relational.rows import Rows, record_batch
from millrace.relational.values import to_arrow

_AT_ONCE = 1_000


@dataclass(frozen=True)
class Region:
    """A range of row keys that is still to be read."""

    split_id: str
    start: bytes
    stop: bytes


class HBaseRowsSource(PartsSource[Rows, Region]):
    """Reads the rows that have one of the declared cells, whichever of them are wanted."""

    def __init__(self, gateway: Gateway, layout: Layout, wanted: Sequence[int]) -> None:
        self._gateway = gateway
        self._layout = layout
        self._wanted = tuple(wanted)

    def parts(self) -> list[Region]:
        """:raises RuntimeError: there is no such table, or no server."""
        try:
            with closing(self._gateway()) as connection:
                found = connection.table.regions()
        except Exception as error:
            if not refused(error):
                raise
            raise self._gateway.failed(error) from None
        if not found:
            raise RuntimeError(f"{self._gateway.place}: there is no such table")
        return [Region(str(number), each["start_key"], each["end_key"]) for number, each in enumerate(found)]

    def elements(self, part: Region) -> Iterator[Rows]:
        try:
            with closing(self._gateway()) as connection:
                names = [cell.name for cell in self._layout.cells]
                without_values = all(place == self._layout.key for place in self._wanted)
                found = connection.table.scan(
                    row_start=part.start,
                    row_stop=part.stop,
                    columns=names or None,
                    filter=b"KeyOnlyFilter()" if without_values else None,
                    batch_size=_AT_ONCE,
                )
                while some := list(islice(found, _AT_ONCE)):
                    yield self._rows(some)
        except ValueError as error:
            raise ValueError(f"{self._gateway.place}: {error}") from None
        except Exception as error:
            if not refused(error):
                raise
            raise self._gateway.failed(error) from None

    def _rows(self, found: Sequence[tuple[bytes, Any]]) -> Rows:
        columns = []
        for place in self._wanted:
            read = self._layout.reader(place)
            columns.append(to_arrow([read(key, cells) for key, cells in found], self._layout.columns[place].type))
        return Rows(record_batch(columns, len(found)))
