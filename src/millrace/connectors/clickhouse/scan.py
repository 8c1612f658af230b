"""``ClickHouseRowsSource``: the rows of a table, read once, in one part or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from millrace.connectors.clickhouse.connection import ClickHouseTable
from millrace.connectors.clickhouse.pushed import pushed
from millrace.connectors.clickhouse.reading import read_columns, selected
from millrace.connectors.dbapi.names import quoted
from millrace.connectors.jdbc.scan import Partitions
from millrace.connectors.stores.parts import PartsSource
from millrace.relational.fields import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.values import to_arrow


@dataclass(frozen=True)
class ClickHousePart:
    """A part of a table that is still to be read."""

    split_id: str
    condition: str | None = None


class ClickHouseRowsSource(PartsSource[Rows, ClickHousePart]):
    """Reads columns of the rows that pass those filters that ClickHouse understands.

    :param places: which of the columns are wanted.
    """

    def __init__(
        self,
        table: ClickHouseTable,
        columns: Schema,
        places: Sequence[int],
        filters: Sequence[Rex],
        partitions: Partitions | None,
    ) -> None:
        self._table = table
        self._columns = columns
        self._places = tuple(places)
        self._filters = tuple(filters)
        self._partitions = partitions

    def parts(self) -> list[ClickHousePart]:
        if self._partitions is None:
            return [ClickHousePart("0")]
        conditions = self._partitions.conditions(quoted(self._partitions.column, "`"))
        return [ClickHousePart(str(number), condition) for number, condition in enumerate(conditions)]

    def elements(self, part: ClickHousePart) -> Iterator[Rows]:
        wanted = tuple(self._columns[place] for place in self._places)
        with self._table.told(), closing(self._table()) as connection:
            everything = connection.wanted([column.name for column in self._columns])
            there = [everything[place] for place in self._places]
            names = ", ".join(selected(each, column.type) for each, column in zip(there, wanted)) or "1"
            conditions = [*pushed(self._filters, self._columns, everything), *filter(None, [part.condition])]
            where = f" WHERE {' AND '.join(f'({each})' for each in conditions)}" if conditions else ""
            query = f"SELECT {names} FROM {self._table.quoted}{where} FORMAT TabSeparated"
            for answer in connection.stream(query):
                if not wanted:
                    yield Rows(record_batch([], answer.count(b"\n")))
                    continue
                values = read_columns(answer, wanted, there)
                columns = [to_arrow(each, column.type) for each, column in zip(values, wanted)]
                yield Rows(record_batch(columns, len(values[0])))
