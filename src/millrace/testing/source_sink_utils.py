"""``pyflink.testing.source_sink_utils``: the connector ``test-sink``, and the rows that tables wrote to it.

Rows are stored in the process of the program. Importing this module registers the connector.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from millrace.common.sink import Committer, Sink
from millrace.connectors.tables.print_table import LinesSink
from millrace.relational.rows import Rows
from millrace.relational.sources import ALL_KINDS, TableContext, TableFactory, TableSink
from millrace.table.sessions.table_info import register_factory

__all__ = ["results", "retract_results", "upsert_results"]

_WRITTEN: list[str] = []
_ADDS = ("+I", "+U")


class _Keeper(Committer[list[str]]):
    """Stores rows, in the process of the program."""

    def commit(self, committables: Sequence[list[str]]) -> None:
        for lines in committables:
            _WRITTEN.extend(lines)


class _CollectedLines(LinesSink):
    def create_committer(self) -> Committer[Any]:
        return _Keeper()


class TestSink(TableSink):
    kinds = ALL_KINDS
    __test__ = False  # pytest takes its name for that of a test

    def __init__(self, table: TableContext) -> None:
        self._columns = table.columns

    def stream(self) -> Sink[Rows]:
        return _CollectedLines(self._columns, "", shows_subtask=False)


class TestSinkFactory(TableFactory):
    """The factory of ``test-sink``, which has no options."""

    identifier = "test-sink"
    __test__ = False

    def sink(self, table: TableContext) -> TableSink:
        return TestSink(table)


register_factory(TestSinkFactory)


def _written() -> list[str]:
    found = list(_WRITTEN)
    _WRITTEN.clear()
    return found


def results() -> list[str]:
    """The rows that tables have written to ``test-sink`` since the last call: ``+I[1, a]``. Retracted rows are left
    out."""
    return retract_results()


def retract_results() -> list[str]:
    """As ``results``."""
    lines = _written()
    taken = Counter(line[2:] for line in lines if not line.startswith(_ADDS))
    left = []
    for line in lines:
        if not line.startswith(_ADDS):
            continue
        if taken[line[2:]]:
            taken[line[2:]] -= 1
        else:
            left.append(line)
    return left


def upsert_results(keys: Sequence[int]) -> list[str]:
    """The last row of each key.

    :param keys: columns, by their places.
    """
    last: dict[tuple[str, ...], str] = {}
    for line in _written():
        values = line[3:-1].split(", ")
        key = tuple(values[place] for place in keys)
        last.pop(key, None)
        if line.startswith(_ADDS):
            last[key] = line
    return list(last.values())
