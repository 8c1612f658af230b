"""``RedisLookup``: the rows of keys, by one round trip for many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from millrace.connectors.redis.places import RedisPlace
from millrace.connectors.redis.retrying import Retrying
from millrace.connectors.tables.redis.asking import Found, Shape, ask
from millrace.connectors.tables.redis.words import SEPARATOR, column_of, words_of
from millrace.relational.sources import LookupTableSource
from millrace.relational.type_table import Family, family_of
from millrace.relational.values import to_arrow, to_python

MOST_KEYS = 1_000
"""that are asked for together"""

Row = tuple[Any, ...]


class RedisLookup(LookupTableSource):
    """
    :param key: the columns that a join compares; the key of Redis is among them.
    :ivar options: of the table: those of its cache are read from here.
    """

    def __init__(
        self,
        place: RedisPlace,
        shape: Shape,
        key: Sequence[int],
        retries: int,
        options: Mapping[str, str],
        what: str,
    ) -> None:
        self._place, self._shape, self._key = place, shape, tuple(key)
        self._retries, self._what = retries, what
        self.options = {name: value for name, value in options.items() if name.startswith("lookup.")}
        self._retrying: Retrying | None = None

    def open(self) -> None:
        self._retrying = Retrying(self._place, self._retries, self._what)

    def close(self) -> None:
        if self._retrying is not None:
            self._retrying.close()

    def lookup(self, keys: Sequence[Row]) -> Iterable[Sequence[Row]]:
        found: list[Sequence[Row]] = []
        for begin in range(0, len(keys), MOST_KEYS):
            found += self._lookup(keys[begin : begin + MOST_KEYS])
        return found

    def _lookup(self, keys: Sequence[Row]) -> list[list[Row]]:
        assert self._retrying is not None, "open() comes first"
        columns = self._shape.columns
        typed = [to_arrow(list(each), columns[place].type) for place, each in zip(self._key, zip(*keys))]
        asked = dict(zip(self._key, (words_of(each, columns[place].type) for place, each in zip(self._key, typed))))
        one_server = self._place.transactions
        found = self._retrying.run(partial(ask, shape=self._shape, asked=asked, one_server=one_server))
        rows = self._rows(found)
        return [[row for row in each if self._fits(row, key)] for each, key in zip(rows, keys)]

    def _fits(self, row: Row, key: Row) -> bool:
        return all(row[place] == value for place, value in zip(self._key, key))

    # -- rows of what was found -----------------------------------------------------------------------------------

    def _rows(self, found: Found) -> list[list[Row]]:
        flat = [row for each in found for row in each]
        if not flat:
            return [[] for _ in found]
        columns, counts = self._columns(flat)
        made = iter(list(zip(*(to_python(column, field.type) for column, field in zip(columns, self._shape.columns)))))
        taken = iter(counts)
        return [[row for _ in each for row in [next(made) for _ in range(next(taken))]] for each in found]

    def _columns(self, flat: list[Row]) -> tuple[list[pa.Array], Sequence[int]]:
        """(the columns of all rows; how many rows each of those found makes)."""
        shape = self._shape
        numbers: Sequence[int] = range(len(flat))
        content: list[pa.Array] = []
        if shape.format is not None:
            decoded = shape.format.decode(pa.array([row[-1] for row in flat], pa.binary()))
            content = decoded.rows.columns
            numbers = numbers if decoded.messages is None else decoded.messages.tolist()
        elif shape.whole:
            content = self._of_parts([row[-1].split(SEPARATOR) for row in flat])
        # What is a key of Redis comes from there, also if the value has it, too, or does not.
        own = len(shape.layout.columns) - 1 if content else len(shape.columns)
        columns = [
            column_of([flat[number][place] for number in numbers], field.type, field.name)
            for place, field in enumerate(shape.columns[:own])
        ]
        counts = [0] * len(flat)
        for number in numbers:
            counts[number] += 1
        return [*columns, *content[own:]], counts

    def _of_parts(self, parts: list[list[bytes]]) -> list[pa.Array]:
        """Columns of rows whose values lie one after the other."""
        fields = self._shape.columns
        wrong = next((each for each in parts if len(each) != len(fields)), None)
        if wrong is not None:
            raise ValueError(f"a value has {len(wrong)} columns and the table has {len(fields)}: {wrong}")
        return [
            column_of([_present(each[place], field) for each in parts], field.type, field.name)
            for place, field in enumerate(fields)
        ]


def _present(word: bytes, field: Any) -> bytes | None:
    """An empty text is NULL where a column has no empty value."""
    return word if word or family_of(field.type) in (Family.TEXT, Family.BYTES) else None
