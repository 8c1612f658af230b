"""``Dialect``: all that the connector must know of one kind of database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from millrace.connectors.dbapi.names import quoted, quoted_table
from millrace.connectors.jdbc.dialects.target import TableShape, Target
from millrace.connectors.stores.problems import ConnectionFailed
from millrace.relational.fields import Schema
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType


class Dialect(ABC):
    """A kind of database. Has no state: instances travel with plans into the tasks."""

    title: str
    """its name, for people"""
    mark = '"'
    """what names are quoted with"""
    families: frozenset[Family]
    """the kinds of values that its columns can have; arrays are asked about their elements, too"""
    style = "format"
    """how the driver marks parameters: one of PEP 249's"""
    text_is_exact = True
    """whether ``=`` on texts tells small letters from capitals: then ``<>`` does as well"""

    aggregated: frozenset[Family] = frozenset()
    """the kinds of values whose sums, least and greatest ones are the same there as here"""
    grouped: frozenset[Family] = frozenset()
    """the kinds of values that are equal there when they are here"""
    sums_any = True
    """whether sums of whole numbers are exact, however large"""
    checks_types = True
    """whether a column has values of its type only"""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    # -- connections --------------------------------------------------------------------------------------------

    @abstractmethod
    def open(self, target: Target) -> Any:
        """A connection of the driver, whose transactions end with ``commit()``. Raises the driver's errors."""

    def connect(self, target: Target) -> Any:
        """:raises ConnectionFailed: with the place and the reason, and without the password.
        :raises ImportError: the driver is not installed.
        """
        try:
            return self.open(target)
        except ImportError:
            raise
        except Exception as error:
            user = f" as {target.user}" if target.user else ""
            message = f"{self.title} at {target.place}{user}: {target.masked(error) or type(error).__name__}"
            raise ConnectionFailed(message, self.is_passing(error)) from None

    @abstractmethod
    def is_passing(self, error: BaseException) -> bool:
        """Whether the same may work a moment later: the connection is lost, or two transactions met."""

    # -- names and types ----------------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        return quoted(name, self.mark)

    def compared(self, name: str, kind: DataType) -> str:
        """A column in an aggregate or in GROUP BY."""
        return self.name(name)

    def table(self, name: str) -> str:
        """``table`` or ``schema.table``."""
        return quoted_table(name, self.mark)

    def problem(self, columns: Schema) -> str | None:
        """What is wrong with columns of a table, None for nothing."""
        wrong = next((column for column in columns if not self._has(column.type)), None)
        return None if wrong is None else f"column '{wrong.name}': {self.title} has no columns of type {wrong.type}"

    def _has(self, kind: DataType) -> bool:
        family = family_of(kind)
        element = getattr(kind, "element_type", None) if family is Family.ARRAY else None
        return family in self.families and (element is None or self._has(element))

    @abstractmethod
    def literal(self, value: Any, kind: DataType) -> str | None:
        """A constant as the database compares its columns with; None: leave it to us."""

    def parameter(self, value: Any) -> Any:
        """A value as the driver takes it for a parameter."""
        return value

    # -- reading ------------------------------------------------------------------------------------------------

    def selected(self, name: str, kind: DataType) -> str:
        """A column in a SELECT, so that ``batches`` can make the type of it."""
        return self.name(name)

    @abstractmethod
    def batches(self, target: Target, query: str, kinds: Sequence[DataType], fetch: int) -> Iterator[pa.RecordBatch]:
        """The rows of a query in columns of these types, some at a time; nothing larger than that is held here.

        :param fetch: rows of a batch, 0 for what suits the driver.
        """

    @abstractmethod
    def find(
        self,
        connection: Any,
        wanted: str,
        table: str,
        keys: Sequence[tuple[str, DataType]],
        values: Sequence[pa.Array],
    ) -> list[tuple[int, tuple[Any, ...]]] | None:
        """Rows of a table with one of some keys, in one statement: (number of the key, row as the driver has it).

        :param wanted: what is behind SELECT, of the table's columns.
        :param table: its name, quoted.
        :param values: of the key columns, none NULL; a key may be asked for once only.
        :returns: None: it is not clear which key each row was found by; ask for them one by one.
        """

    @abstractmethod
    def columns_of(self, rows: Sequence[tuple[Any, ...]], kinds: Sequence[DataType]) -> list[list[Any]]:
        """What ``find`` gives as columns of values in the Python form of their types."""

    # -- writing ------------------------------------------------------------------------------------------------

    @abstractmethod
    def append(
        self, connection: Any, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        """Insert rows, within the transaction at hand."""

    @abstractmethod
    def upsert(
        self, connection: Any, shape: TableShape, columns: Sequence[pa.Array], kinds: Sequence[DataType]
    ) -> None:
        """Insert or replace rows, no two with the same key."""

    @abstractmethod
    def delete(self, connection: Any, shape: TableShape, keys: Sequence[pa.Array], kinds: Sequence[DataType]) -> None:
        """Delete the rows that have these keys."""
