"""Arrays, maps, rows, bitmaps, JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.relational.types import DataType, string
from millrace.table.expression_methods.base import Unary, _Handle, node_of, present
from millrace.table.expression_methods.units import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from millrace.table.sql import nodes

if TYPE_CHECKING:
    from millrace.table.expression_methods.expression import Expression


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
