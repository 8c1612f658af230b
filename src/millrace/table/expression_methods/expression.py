"""``Expression``: what a column of a table is computed by."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from millrace.relational.types import DataType
from millrace.table.expression_methods.aggregates import _Aggregates
from millrace.table.expression_methods.base import _Rows, node_of
from millrace.table.expression_methods.collections import _Bitmaps, _Collections, _Json
from millrace.table.expression_methods.numbers import _Numbers
from millrace.table.expression_methods.strings import _Strings
from millrace.table.expression_methods.times import _Times
from millrace.table.expression_methods.units import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from millrace.table.sql import nodes
from millrace.table.sql.writing.programs import shown
from millrace.table.values.problems import problem

__all__ = [
    "Expression",
    "TimeIntervalUnit",
    "TimePointUnit",
    "JsonType",
    "JsonExistsOnError",
    "JsonValueOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonQueryOnEmptyOrError",
    "JsonOnNull",
]

T = TypeVar("T")


class Expression(_Numbers, _Strings, _Times, _Collections, _Json, _Bitmaps, _Aggregates, Generic[T]):
    """What a column is computed by, from columns, constants and functions: ``col("a") + 1``.

    Expressions are never changed; every method gives a new one. ``==`` and its like make expressions, too: combine
    them with ``&``, ``|`` and ``not_``. A name that is no method is a field of a row: ``col("r").name``.

        >>> twice = (col("amount") * 2).alias("twice")
        >>> list(orders.select(col("name"), twice).execute().collect())
        [<Row('Ann', 2)>, <Row('Bob', 4)>, <Row('Ann', 6)>]
    """

    __iter__ = None

    def __init__(self, node: nodes.Node) -> None:
        self._node = node

    def __str__(self) -> str:
        return shown(self._node)

    __repr__ = __str__

    def __bool__(self) -> bool:
        """:raises TypeError: an expression has values only in rows."""
        raise TypeError(f"{self} is neither true nor false: combine expressions with &, | and not_(), not and, or, not")

    def __getattr__(self, name: str) -> Expression[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get(name)

    def __getitem__(self, index: Any) -> Expression[Any]:
        return self.at(index)

    def alias(self, name: str, *extra_names: str) -> Expression[T]:
        """With a name, or several for a function that gives several columns.

            >>> orders.select((col("amount") + 1).alias("more")).get_schema().get_field_names()
            ['more']
        """
        return Expression(nodes.Alias(self._node, nodes.Identifier(name), tuple(map(nodes.Identifier, extra_names))))

    def as_argument(self, name: str) -> Expression[Any]:
        """As the argument of that name."""
        return Expression(nodes.Kwarg(nodes.Identifier(name), self._node))

    def cast(self, data_type: DataType) -> Expression[Any]:
        """The value as another type; an error where it is none.

            >>> next(orders.select(col("amount").cast(DataTypes.STRING())).execute().collect())
            <Row('1')>

        :raises TableException: what is given is no ``DataType``.
        """
        return Expression(nodes.Cast(self._node, _type_name("cast", data_type)))

    def try_cast(self, data_type: DataType) -> Expression[Any]:
        """As ``cast``, with NULL for what cannot be cast."""
        return Expression(nodes.TryCast(self._node, _type_name("try_cast", data_type)))

    @property
    def asc(self) -> Expression[Any]:
        """Ascending, for ``order_by``."""
        return Expression(nodes.Ordered(self._node, False))

    @property
    def desc(self) -> Expression[Any]:
        """Descending, for ``order_by``.

            >>> list(orders.order_by(col("amount").desc).fetch(2).select(col("amount")).execute().collect())
            [<Row(3)>, <Row(2)>]
        """
        return Expression(nodes.Ordered(self._node, True))

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression[bool]:
        """Whether the value is one of these, or in a table of one column.

            >>> list(orders.filter(col("amount").in_(1, 3)).select(col("product")).execute().collect())
            [<Row('ink')>, <Row('pen')>]
        """
        if isinstance(first_element_or_table, _Rows):
            return Expression(nodes.In(self._node, query=nodes.ResolvedQuery(first_element_or_table._plan)))
        elements = map(node_of, (first_element_or_table, *remaining_elements))
        return Expression(nodes.In(self._node, tuple(elements)))

    def over(self, alias: Any) -> Expression[Any]:
        """This aggregate over the over window of that alias."""
        window = node_of(alias)
        if not isinstance(window, nodes.Column) and not isinstance(alias, str):
            raise problem(f"over(...) takes the alias of a window, as in over(col('w')), not {shown(window)}")
        name = window.name if isinstance(window, nodes.Column) else alias
        return Expression(nodes.Window(self._node, alias=nodes.Identifier(name, isinstance(alias, str))))


def _type_name(method: str, data_type: DataType) -> nodes.TypeName:
    if not isinstance(data_type, DataType):
        raise problem(f"{method}(...) takes a DataType, as DataTypes.STRING() makes one, not {data_type!r}")
    return nodes.TypeName(data_type)
