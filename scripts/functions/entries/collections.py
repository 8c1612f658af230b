"""Arrays, maps, rows, objects, bitmaps."""

from __future__ import annotations

from .entry import Entry

TOPICS = {
    "Arrays": (
        Entry("array", "ARRAY[1, 2]", "an array of values of one type"),
        Entry("at", "ARRAY[1, 2][2]", "the element at a position, counted from 1, or of a key; NULL: there is none", ("ITEM", "AT")),
        Entry("cardinality", "CARDINALITY(ARRAY[1, 2])", "how many elements or entries"),
        Entry("element", "ELEMENT(ARRAY[7])", "the only element; an error if there are more"),
        Entry("ARRAY_APPEND", "ARRAY_APPEND(ARRAY[1, 2], 3)", "with one more at the end"),
        Entry("ARRAY_PREPEND", "ARRAY_PREPEND(ARRAY[1, 2], 3)", "with one more at the beginning"),
        Entry("ARRAY_CONCAT", "ARRAY_CONCAT(ARRAY[1], ARRAY[2, 2])", "behind each other"),
        Entry("ARRAY_CONTAINS", "ARRAY_CONTAINS(ARRAY[1, 2], 2)", "the value is in it"),
        Entry("ARRAY_DISTINCT", "ARRAY_DISTINCT(ARRAY[1, 2, 1])", "without what was there before"),
        Entry("ARRAY_EXCEPT", "ARRAY_EXCEPT(ARRAY[1, 2], ARRAY[2])", "what is in the first only"),
        Entry("ARRAY_INTERSECT", "ARRAY_INTERSECT(ARRAY[1, 2], ARRAY[2, 3])", "what is in both, once"),
        Entry("ARRAY_UNION", "ARRAY_UNION(ARRAY[1, 2], ARRAY[2, 3])", "what is in either, once"),
        Entry("ARRAY_JOIN", "ARRAY_JOIN(ARRAY['a', 'b'], ', ')", "texts as one, with something between"),
        Entry("ARRAY_MAX", "ARRAY_MAX(ARRAY[1, 3, 2])", "the largest element"),
        Entry("ARRAY_MIN", "ARRAY_MIN(ARRAY[1, 3, 2])", "the smallest element"),
        Entry("ARRAY_POSITION", "ARRAY_POSITION(ARRAY['a', 'b'], 'b')", "the first position, counted from 1; 0: nowhere"),
        Entry("ARRAY_REMOVE", "ARRAY_REMOVE(ARRAY[1, 2, 1], 1)", "without a value"),
        Entry("ARRAY_REVERSE", "ARRAY_REVERSE(ARRAY[1, 2, 3])", "from the end to the beginning"),
        Entry("ARRAY_SLICE", "ARRAY_SLICE(ARRAY[1, 2, 3], 2, 3)", "from one position to another, both within; negative ones count from the end"),
        Entry("ARRAY_SORT", "ARRAY_SORT(ARRAY[2, 3, 1], FALSE)", "in order: upwards, or (FALSE) downwards"),
    ),
    "Maps and rows": (
        Entry("map", "MAP['a', 1, 'b', 2]", "a map of keys and values in turn"),
        Entry("MAP_ENTRIES", "MAP_ENTRIES(MAP['a', 1])", "an array of rows of key and value"),
        Entry("MAP_FROM_ARRAYS", "MAP_FROM_ARRAYS(ARRAY['a', 'b'], ARRAY[1, 2])", "a map of keys and values in arrays"),
        Entry("MAP_KEYS", "MAP_KEYS(MAP['a', 1])", "the keys as an array"),
        Entry("MAP_VALUES", "MAP_VALUES(MAP['a', 1])", "the values as an array"),
        Entry("MAP_UNION", "MAP_UNION(MAP['a', 1], MAP['a', 2, 'b', 3])", "both; the last value of a key counts"),
        Entry("row", "ROW(1, 'a')", "a row of values"),
        Entry("get", "t.r.f", "a field of a row"),
        Entry("flatten", "SELECT t.r.* FROM t", "all fields of a row as columns"),
        Entry("OBJECT_OF", "OBJECT_OF('Point', 'x', 1, 'y', 2)", "an object of a structured type: its name, then fields and values in turn"),
        Entry("OBJECT_UPDATE", "OBJECT_UPDATE(OBJECT_OF('Point', 'x', 1), 'x', 2)", "an object with other values"),
    ),
    "Bitmaps": (
        Entry("BITMAP_BUILD", "BITMAP_TO_STRING(BITMAP_BUILD(ARRAY[1, 5]))", "a set of whole numbers (needs `millrace-streaming[bitmap]`)"),
        Entry("BITMAP_CARDINALITY", "BITMAP_CARDINALITY(BITMAP_BUILD(ARRAY[1, 5]))", "how many numbers"),
        Entry("BITMAP_AND", "BITMAP_TO_STRING(BITMAP_AND(BITMAP_BUILD(ARRAY[1, 2]), BITMAP_BUILD(ARRAY[2, 3])))", "those in both"),
        Entry("BITMAP_OR", "BITMAP_TO_STRING(BITMAP_OR(BITMAP_BUILD(ARRAY[1, 2]), BITMAP_BUILD(ARRAY[2, 3])))", "those in either"),
        Entry("BITMAP_XOR", "BITMAP_TO_STRING(BITMAP_XOR(BITMAP_BUILD(ARRAY[1, 2]), BITMAP_BUILD(ARRAY[2, 3])))", "those in one only"),
        Entry("BITMAP_ANDNOT", "BITMAP_TO_STRING(BITMAP_ANDNOT(BITMAP_BUILD(ARRAY[1, 2]), BITMAP_BUILD(ARRAY[2, 3])))", "those in the first only"),
        Entry("BITMAP_TO_ARRAY", "BITMAP_TO_ARRAY(BITMAP_BUILD(ARRAY[5, 1]))", "the numbers in order"),
        Entry("BITMAP_TO_STRING", "BITMAP_TO_STRING(BITMAP_BUILD(ARRAY[5, 1]))", "the numbers as text"),
        Entry("BITMAP_TO_BYTES", "BITMAP_TO_BYTES(BITMAP_BUILD(ARRAY[1]))", "the bytes of the portable format of Roaring bitmaps"),
        Entry("BITMAP_FROM_BYTES", "BITMAP_TO_STRING(BITMAP_FROM_BYTES(BITMAP_TO_BYTES(bm)))", "a bitmap of such bytes"),
    ),
}  # fmt: skip
