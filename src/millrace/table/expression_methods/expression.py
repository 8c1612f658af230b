"""``Expression``: an expression of the Table API, from which columns of a table are computed.

Here are its methods for arrays, maps, rows, bitmaps, JSON and aggregates, expressions with a known type, the variables
of a pattern in ``Table.match_recognize``, and Flink's names of function definitions that differ from SQL's
(``call("equals", a, b)`` is ``a == b``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from inspect import signature
from typing import Any, Generic, TypeVar

from millrace.relational.types import DataType, string
from millrace.table.expression_methods.expression_base import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    Unary,
    _Handle,
    _Numbers,
    _Rows,
    _Strings,
    _Times,
    node_of,
    present,
)
from millrace.table.sql import nodes
from millrace.table.sql.program_text import shown
from millrace.table.values.program_errors import problem

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
]

# Collections and JSON


class _Collections(_Handle):
    cardinality = Unary("CARDINALITY", "cardinality", doc="The number of elements.")
    element = Unary("ELEMENT", "element", doc="The only element of an array.")
    map_keys = Unary("MAP_KEYS")
    map_values = Unary("MAP_VALUES")
    map_entries = Unary("MAP_ENTRIES")

    def get(self, name_or_index: str | int) -> Expression[Any]:
        """A field of a row by name or position."""
        key = nodes.Identifier(name_or_index) if isinstance(name_or_index, str) else nodes.Literal.number(name_or_index)
        return self._new(nodes.Dot(self._node, key))

    @property
    def flatten(self) -> Expression[Any]:
        """The fields of a row as columns."""
        return self._new(nodes.Dot(self._node, nodes.Star()))

    def at(self, index: Any) -> Expression[Any]:
        """An element of an array by position from 1, or of a map by key.

        >>> next(orders.select(array("a", "b").at(2)).execute().collect())
        <Row('b')>
        """
        return self._apply("ITEM", "at", index)

    def array_append(self, addition: Any) -> Expression[Any]:
        """With one more element at the end."""
        return self._apply("ARRAY_APPEND", "ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Expression[Any]:
        """Whether the array has the value."""
        return self._apply("ARRAY_CONTAINS", "ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Expression[Any]:
        """Without elements that were there before."""
        return self._apply("ARRAY_DISTINCT", "ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Expression[Any]:
        """The first position of a value, counted from 1; 0: nowhere."""
        return self._apply("ARRAY_POSITION", "ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Expression[Any]:
        """With one more element at the beginning."""
        return self._apply("ARRAY_PREPEND", "ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Expression[Any]:
        """Without a value."""
        return self._apply("ARRAY_REMOVE", "ARRAY_REMOVE", needle)

    def array_reverse(self) -> Expression[Any]:
        """From the end to the beginning."""
        return self._apply("ARRAY_REVERSE", "ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Expression[Any]:
        """From one position to another, both within; negative ones count from the end."""
        return self._apply("ARRAY_SLICE", "ARRAY_SLICE", start_offset, *present(end_offset))

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Expression[Any]:
        """In order, upwards unless said otherwise."""
        return self._apply("ARRAY_SORT", "ARRAY_SORT", *present(ascending_order, null_first))

    def array_union(self, array: Any) -> Expression[Any]:
        """What is in either array, once."""
        return self._apply("ARRAY_UNION", "ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Expression[Any]:
        """This array and others behind it."""
        return self._apply("ARRAY_CONCAT", "ARRAY_CONCAT", *arrays)

    def array_except(self, array: Any) -> Expression[Any]:
        """What is in this array only."""
        return self._apply("ARRAY_EXCEPT", "ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Expression[Any]:
        """What is in both arrays, once."""
        return self._apply("ARRAY_INTERSECT", "ARRAY_INTERSECT", array)

    def array_max(self) -> Expression[Any]:
        """The largest element."""
        return self._apply("ARRAY_MAX", "ARRAY_MAX")

    def array_min(self) -> Expression[Any]:
        """The smallest element."""
        return self._apply("ARRAY_MIN", "ARRAY_MIN")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Expression[Any]:
        """The texts of the array as one, with something between."""
        return self._apply("ARRAY_JOIN", "ARRAY_JOIN", delimiter, *present(null_replacement))

    def map_union(self, *maps: Any) -> Expression[Any]:
        """This map and others; the last value of a key counts."""
        return self._apply("MAP_UNION", "MAP_UNION", *maps)

    def object_update(self, *kv: Any) -> Expression[Any]:
        """A row with some fields replaced: names and values in turn."""
        return self._apply("OBJECT_UPDATE", "OBJECT_UPDATE", *kv)


class _Json(_Handle):
    def is_json(self, json_type: JsonType | None = None) -> Expression[Any]:
        """Whether the text is JSON, of some kind if one is given."""
        return self._apply("IS JSON", "IS_JSON", *([] if json_type is None else [nodes.Var(json_type.name)]))

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression[Any]:
        """Whether a path leads to something in the JSON text."""
        return self._new(nodes.JsonExists(self._node, node_of(path), on_error and on_error.name))

    def json_value(
        self,
        path: str,
        returning_type: DataType = string(),  # noqa: B008 - types are never changed
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Expression[Any]:
        """The simple value at a path of a JSON text."""
        default = JsonValueOnEmptyOrError.DEFAULT
        return self._new(
            nodes.JsonValue(
                self._node,
                node_of(path),
                nodes.TypeName(returning_type),
                on_empty.name,
                node_of(default_on_empty) if on_empty is default else None,
                on_error.name,
                node_of(default_on_error) if on_error is default else None,
            )
        )

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Expression[Any]:
        """The part at a path of a JSON text, as JSON."""
        # SQL's words: WITHOUT (ARRAY WRAPPER), EMPTY ARRAY.
        wrapper = wrapping_behavior.name.removesuffix("_ARRAY")
        behaviours = (behaviour.name.replace("_", " ") for behaviour in (on_empty, on_error))
        return self._new(nodes.JsonQuery(self._node, node_of(path), None, wrapper, *behaviours))

    def json_quote(self) -> Expression[Any]:
        """The text as a JSON string."""
        return self._apply("JSON_QUOTE", "JSON_QUOTE")

    def json_unquote(self) -> Expression[Any]:
        """The text of a JSON string."""
        return self._apply("JSON_UNQUOTE", "JSON_UNQUOTE")


class _Bitmaps(_Handle):
    def bitmap_and(self, bitmap2: Any) -> Expression[Any]:
        """The numbers in both bitmaps."""
        return self._apply("BITMAP_AND", "BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Expression[Any]:
        """The numbers in this bitmap only."""
        return self._apply("BITMAP_ANDNOT", "BITMAP_ANDNOT", bitmap2)

    def bitmap_or(self, bitmap2: Any) -> Expression[Any]:
        """The numbers in either bitmap."""
        return self._apply("BITMAP_OR", "BITMAP_OR", bitmap2)

    def bitmap_xor(self, bitmap2: Any) -> Expression[Any]:
        """The numbers in one of the bitmaps only."""
        return self._apply("BITMAP_XOR", "BITMAP_XOR", bitmap2)

    def bitmap_build(self) -> Expression[Any]:
        """A bitmap of an array of whole numbers."""
        return self._apply("BITMAP_BUILD", "BITMAP_BUILD")

    def bitmap_cardinality(self) -> Expression[Any]:
        """How many numbers the bitmap has."""
        return self._apply("BITMAP_CARDINALITY", "BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Expression[Any]:
        """A bitmap of the portable format of Roaring bitmaps."""
        return self._apply("BITMAP_FROM_BYTES", "BITMAP_FROM_BYTES")

    def bitmap_to_array(self) -> Expression[Any]:
        """The numbers of the bitmap, in order."""
        return self._apply("BITMAP_TO_ARRAY", "BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Expression[Any]:
        """The portable format of Roaring bitmaps."""
        return self._apply("BITMAP_TO_BYTES", "BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Expression[Any]:
        """The numbers of the bitmap, as text."""
        return self._apply("BITMAP_TO_STRING", "BITMAP_TO_STRING")

    def bitmap_and_agg(self) -> Expression[Any]:
        """The numbers in all bitmaps of a group."""
        return self._apply("BITMAP_AND_AGG", "BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Expression[Any]:
        """How many numbers are in all bitmaps of a group."""
        return self._apply("BITMAP_AND_CARDINALITY_AGG", "BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build_agg(self) -> Expression[Any]:
        """A bitmap of the numbers of a group."""
        return self._apply("BITMAP_BUILD_AGG", "BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Expression[Any]:
        """How many different numbers a group has."""
        return self._apply("BITMAP_BUILD_CARDINALITY_AGG", "BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_or_agg(self) -> Expression[Any]:
        """The numbers in any bitmap of a group."""
        return self._apply("BITMAP_OR_AGG", "BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Expression[Any]:
        """How many numbers are in any bitmap of a group."""
        return self._apply("BITMAP_OR_CARDINALITY_AGG", "BITMAP_OR_CARDINALITY_AGG")

    def bitmap_xor_agg(self) -> Expression[Any]:
        """The numbers in an odd number of bitmaps of a group."""
        return self._apply("BITMAP_XOR_AGG", "BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Expression[Any]:
        """How many numbers are in an odd number of bitmaps of a group."""
        return self._apply("BITMAP_XOR_CARDINALITY_AGG", "BITMAP_XOR_CARDINALITY_AGG")


# Aggregates


class _Aggregates(_Handle):
    sum = Unary("SUM", "sum", doc="The sum; NULL of nothing.")
    sum0 = Unary("$SUM0", "sum0", doc="The sum; 0 of nothing.")
    min = Unary("MIN", "min")
    max = Unary("MAX", "max")
    count = Unary("COUNT", "count", doc="The number of values that are not NULL.")
    avg = Unary("AVG", "avg")
    first_value = Unary("FIRST_VALUE", "first_value")
    last_value = Unary("LAST_VALUE", "last_value")
    stddev_pop = Unary("STDDEV_POP", "stddevPop")
    stddev_samp = Unary("STDDEV_SAMP", "stddevSamp")
    var_pop = Unary("VAR_POP", "varPop")
    var_samp = Unary("VAR_SAMP", "varSamp")
    collect = Unary("COLLECT", "collect", doc="All values as a MULTISET.")
    array_agg = Unary("ARRAY_AGG", "ARRAY_AGG", doc="All values as an ARRAY.")

    def list_agg(self, separator: str | Expression[Any] | None = None) -> Expression[Any]:
        """All values as one text."""
        return self._apply("LISTAGG", "listAgg", *present(separator))

    @property
    def distinct(self) -> Expression[Any]:
        """This aggregate over different values only: ``col("a").sum.distinct``.

        >>> list(orders.select(col("name").count.distinct).execute().collect())
        [<Row(2)>]
        """
        node = self._node
        if isinstance(node, nodes.Dot):
            return self._new(replace(node, expression=_distinct(node.expression)))
        return self._new(_distinct(node))


def _distinct(call: nodes.Node) -> nodes.Node:
    if not isinstance(call, nodes.Call):
        return nodes.Distinct((call,))
    return replace(call, expressions=(nodes.Distinct(call.expressions),))


# Expression

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

    def _new(self, node: nodes.Node) -> Expression[Any]:
        return Expression(node)

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
        """Pass this expression as the argument with this name."""
        return Expression(nodes.Kwarg(nodes.Identifier(name), self._node))

    def cast(self, data_type: DataType) -> Expression[Any]:
        """The value as another type; an error where it is none.

            >>> next(orders.select(col("amount").cast(DataTypes.STRING())).execute().collect())
            <Row('1')>

        :raises TableException: what is given is no ``DataType``.
        """
        return Expression(nodes.Cast(self._node, _type_name("cast", data_type)))

    def try_cast(self, data_type: DataType) -> Expression[Any]:
        """Cast to another type, as ``cast`` does, but give NULL for values that cannot be cast."""
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


# Expressions of a known type


class ResolvedExpression(Expression[Any]):
    """An expression that was checked against the columns it reads, e.g. a computed column of a schema."""

    def __init__(self, node: nodes.Node, data_type: DataType, sql: str | None = None) -> None:
        super().__init__(node)
        self._data_type = data_type
        self._sql = sql

    def __repr__(self) -> str:
        return self.as_summary_string()

    def as_summary_string(self) -> str:
        """The expression for logs."""
        return self._sql if self._sql is not None else shown(self._node)

    def as_serializable_string(self) -> str:
        """The expression in SQL.

        :raises TableException: it was not written in SQL.
        """
        from millrace.util.exceptions import TableException

        if isinstance(self._node, nodes.Column):
            return f"`{self._node.name}`"
        if self._sql is None:
            raise TableException(f"{self} was made in Python and has no SQL text: write the expression in SQL")
        return self._sql

    def get_output_data_type(self) -> DataType:
        return self._data_type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """The columns that it reads; their types are not kept, so those of nested calls are not given."""
        return []


# Variables of a pattern


class MatchVariable:
    """A variable of a pattern, or a subset: its columns are expressions.

    ``A = MatchVariable("A")``: ``A.price`` is the price of its last row so far, ``A.first("price")`` that of its first
    one; aggregates are those of all expressions: ``A.price.sum``.

        >>> variable = MatchVariable("A")
        >>> condition = variable.amount > variable.prev("amount")
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"MatchVariable({self._name!r})"

    def __getattr__(self, column: str) -> Expression[Any]:
        if column.startswith("_"):
            raise AttributeError(column)
        return self[column]

    def __getitem__(self, column: str) -> Expression[Any]:
        """A column whose name is no name of Python's, or that of a method."""
        return Expression(nodes.Column(nodes.Identifier(column), nodes.Identifier(self._name)))

    def first(self, column: str, offset: int = 0) -> Expression[Any]:
        """FIRST: the column's value in the first row of the variable, or in the row ``offset`` rows of the variable
        after it."""
        return self._call("FIRST", column, offset)

    def last(self, column: str, offset: int = 0) -> Expression[Any]:
        """LAST: the column's value in the last row of the variable, or in the row ``offset`` rows of the variable
        before it."""
        return self._call("LAST", column, offset)

    def prev(self, column: str, rows: int = 1) -> Expression[Any]:
        """PREV: the column's value ``rows`` rows of the partition before the last row of the variable."""
        return self._call("PREV", column, rows)

    def next(self, column: str, rows: int = 1) -> Expression[Any]:
        """NEXT: the column's value ``rows`` rows of the partition after the last row of the variable."""
        return self._call("NEXT", column, rows)

    def _call(self, function: str, column: str, number: int) -> Expression[Any]:
        return Expression(nodes.Call(function, (node_of(self[column]), nodes.Constant(number))))


# Flink's function definitions

_METHODS = {
    "equals": "__eq__",
    "notequals": "__ne__",
    "greaterthan": "__gt__",
    "greaterthanorequal": "__ge__",
    "lessthan": "__lt__",
    "lessthanorequal": "__le__",
    "plus": "__add__",
    "minus": "__sub__",
    "times": "__mul__",
    "divide": "__truediv__",
    "minusprefix": "__neg__",
    "isnull": "is_null",
    "isnotnull": "is_not_null",
    "istrue": "is_true",
    "isfalse": "is_false",
    "isnottrue": "is_not_true",
    "isnotfalse": "is_not_false",
    "notbetween": "not_between",
    "charlength": "char_length",
    "lowercase": "lower_case",
    "uppercase": "upper_case",
    "similar": "similar",
    "regexpextract": "regexp_extract",
    "regexpreplace": "regexp_replace",
    "frombase64": "from_base64",
    "tobase64": "to_base64",
    "parseurl": "parse_url",
    "splitindex": "split_index",
    "strtomap": "str_to_map",
    "floor": "floor",
    "ceil": "ceil",
}
"""definition's name -> method of ``Expression`` that is called on the first argument"""
_AS_WRITTEN = {
    "stddevpop": "stddev_pop",
    "stddevsamp": "stddev_samp",
    "varpop": "var_pop",
    "varsamp": "var_samp",
    "distinct": "distinct",
    "flatten": "flatten",
    "get": "get",
    "start": "start",
    "end": "end",
    "rowtime": "rowtime",
    "asc": "asc",
    "desc": "desc",
    "as": "alias",
    "cast": "cast",
    "try_cast": "try_cast",
}
"""definition's name -> method that is called on the first argument, and gets the other arguments as they were
written: because they need not be expressions, or the method's result is not an expression on its own"""


class Definitions:
    """Finds the method or function that a name of a definition stands for.

    :param functions: those of ``table.expressions`` by their definition's name in lower case.
    """

    def __init__(self, functions: dict[str, Callable[..., Expression[Any]]]) -> None:
        self._functions = functions

    def call(self, name: str, args: Sequence[Any]) -> Expression[Any] | None:
        """The expression; None: the name is that of a function in SQL, or none at all."""
        known = name.lower()
        if known in _AS_WRITTEN and args:
            return _method(_AS_WRITTEN[known], args)
        if known == "trim" and len(args) == len(signature(trimmed).parameters):
            return trimmed(*args)
        make = self._functions.get(known) or (partial(_on_first, _METHODS[known]) if known in _METHODS else None)
        if make is None:
            return None
        if _is_aggregate(known) or any(isinstance(each, (Enum, DataType)) for each in args):
            return make(*args)
        return Expression(nodes.DefinedCall(name, tuple(map(node_of, args)), partial(_node, make)))


def _is_aggregate(name: str) -> bool:
    return name.startswith(("json_objectagg", "json_arrayagg"))


def _on_first(method: str, *args: Any) -> Expression[Any]:
    return _method(method, args)


def _method(name: str, args: Sequence[Any]) -> Expression[Any]:
    found = getattr(Expression(node_of(args[0])), name)
    if isinstance(found, Expression):
        return found
    return found(*(_bare(each) if name == "get" else each for each in args[1:]))  # type: ignore[no-any-return]


def _bare(value: Any) -> Any:
    """A constant by itself."""
    if isinstance(value, Expression) and isinstance(value._node, nodes.Constant):
        return value._node.value
    return value


def trimmed(leading: Any, trailing: Any, characters: Any, text: Any) -> Expression[Any]:
    """``call("trim", True, False, " ", text)``."""
    both = _bare(leading) and _bare(trailing)
    word = "trim" if both else "trim_leading" if _bare(leading) else "trim_trailing"
    return _method(word, (text, characters))


def _node(make: Callable[..., Expression[Any]], args: Sequence[nodes.Node]) -> nodes.Node:
    return make(*map(Expression, args))._node
