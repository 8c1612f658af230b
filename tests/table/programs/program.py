"""A table program that is declared once: the rows that tables get, a query, and the table that comes out.

The same declaration is planned, run in batch mode on Spark, run as a stream whose epochs are drawn at random, and run
as a stream that is saved and restored on the way (``tests/table/programs/test_*.py``, ``tests/spark/tables``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

KINDS = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}
"""kind of a change as written in a program -> as in ``Rows``"""

STREAMING, BATCH = "streaming", "batch"


@dataclass(frozen=True)
class Source:
    """A table that a program reads.

    The rows of a table with time come to one reader in the order in which they are written here, so whether one is late
    does not depend on the epochs; other ones come from several readers.
    """

    name: str
    columns: str
    """as in CREATE TABLE: with computed columns, watermark and primary key"""
    rows: tuple[tuple[Any, ...], ...]
    """values of the physical columns; those of a changelog begin with its kind: +I, -U, +U, -D"""
    mode: str = "I"
    """I; I,UA,D for a changelog by key; I,UB,UA,D for one with old rows"""
    after: bool = False
    """whether its rows come after those of the program's other tables"""
    lookup: bool = False
    """whether it can only be looked up"""

    @property
    def timed(self) -> bool:
        return "WATERMARK" in self.columns

    @property
    def changes(self) -> bool:
        return self.mode != "I"

    @property
    def changelog(self) -> list[tuple[int, tuple[Any, ...]]]:
        """(kind, row) in order."""
        return [(KINDS[row[0]], tuple(row[1:])) if self.changes else (0, tuple(row)) for row in self.rows]

    def content(self, key: tuple[int, ...] = ()) -> list[tuple[Any, ...]]:
        """The rows that are left at the end.

        :param key: columns of the primary key.
        """
        left: list[tuple[Any, ...]] = []
        for kind, row in self.changelog:
            if self.mode == "I,UA,D":
                left = [each for each in left if [each[at] for at in key] != [row[at] for at in key]]
            elif kind in (1, 3):
                left.remove(row)
            if kind in (0, 2):
                left.append(row)
        return left


@dataclass(frozen=True)
class Program:
    """A query over tables and what must come out of it."""

    name: str
    sql: str
    tables: tuple[Source, ...]
    rows: tuple[tuple[Any, ...], ...] | None = None
    """the table at the end; None: what DuckDB says"""
    duckdb: str | None = None
    """the question for DuckDB, where Flink's own words are not SQL that everybody knows"""
    ordered: bool = False
    """whether the order of the rows is defined"""
    operators: tuple[str, ...] = ()
    """parts of names of operators that a streaming plan must have"""
    changes: str | None = None
    """the kinds of change of the result as EXPLAIN shows them; None: they are not looked at"""
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    functions: tuple[tuple[str, Any], ...] = ()
    """the user's: (name, function)"""
    only: str | None = None
    """STREAMING or BATCH for what has no meaning in the other mode"""
    why: str = ""
    """the reason for ``only``"""
    paced: bool = False
    """whether every row comes a second of processing time after the one before, in an epoch of its own: watermarks
    follow batches, so only this says which rows are late"""
    broken: str = ""
    """what is wrong with its result in streaming mode: its tests are expected to fail"""

    def __post_init__(self) -> None:
        assert (self.only is None) == (not self.why), f"{self.name}: 'only' and its reason go together"
        assert self.rows is None or self.duckdb is None, f"{self.name}: one oracle is enough"

    def __str__(self) -> str:
        return self.name

    def runs_in(self, mode: str) -> bool:
        return self.only in (None, mode)

    @property
    def tells_epochs_apart(self) -> bool:
        """Whether its result depends on which rows come in the same epoch."""
        return self.paced or any(table.after for table in self.tables)
