"""Aggregates, over the rows of ``t``."""

from __future__ import annotations

from .entry import Entry

TOPICS = {
    "Aggregates": (
        Entry("count", "COUNT(DISTINCT b)", "how many values are not NULL; `COUNT(*)`: rows"),
        Entry("sum", "SUM(a)", "the sum; NULL of no rows"),
        Entry("sum0", "SUM0(a)", "the sum; 0 of no rows"),
        Entry("avg", "AVG(a)", "the mean, of the type of the numbers"),
        Entry("min", "MIN(a)", "the smallest value"),
        Entry("max", "MAX(s)", "the largest value"),
        Entry("distinct", "SUM(DISTINCT b)", "each value once"),
        Entry("first_value", "FIRST_VALUE(s)", "of the first row that came"),
        Entry("last_value", "LAST_VALUE(s)", "of the last row that came"),
        Entry("listAgg", "LISTAGG(s, ';')", "texts as one, with something between"),
        Entry("ARRAY_AGG", "ARRAY_AGG(a)", "the values as an array"),
        Entry("collect", "COLLECT(b)", "the values as a MULTISET: how often each is there"),
        Entry("stddevPop", "STDDEV_POP(a)", "the standard deviation, of all"),
        Entry("stddevSamp", "STDDEV_SAMP(a)", "the standard deviation, of a sample", ("STDDEV",)),
        Entry("varPop", "VAR_POP(a)", "the variance, of all"),
        Entry("varSamp", "VAR_SAMP(a)", "the variance, of a sample", ("VARIANCE",)),
        Entry("PERCENTILE", "PERCENTILE(a, 0.5)", "the value below which a share of the numbers lies, between two if need be"),
        Entry("JSON_OBJECTAGG_NULL_ON_NULL", "JSON_OBJECTAGG(KEY s VALUE a NULL ON NULL)", "an object as text; NULLs are in it", ("JSON_OBJECTAGG",)),
        Entry("JSON_OBJECTAGG_ABSENT_ON_NULL", "JSON_OBJECTAGG(KEY s VALUE a ABSENT ON NULL)", "the same without NULLs"),
        Entry("JSON_ARRAYAGG_NULL_ON_NULL", "JSON_ARRAYAGG(a NULL ON NULL)", "an array as text; NULLs are in it", ("JSON_ARRAYAGG",)),
        Entry("JSON_ARRAYAGG_ABSENT_ON_NULL", "JSON_ARRAYAGG(a ABSENT ON NULL)", "the same without NULLs"),
        Entry("BITMAP_BUILD_AGG", "BITMAP_TO_STRING(BITMAP_BUILD_AGG(a))", "a bitmap of the numbers"),
        Entry("BITMAP_BUILD_CARDINALITY_AGG", "BITMAP_BUILD_CARDINALITY_AGG(a)", "how many different numbers"),
        Entry("BITMAP_AND_AGG", "BITMAP_TO_STRING(BITMAP_AND_AGG(bm))", "the numbers in all bitmaps"),
        Entry("BITMAP_AND_CARDINALITY_AGG", "BITMAP_AND_CARDINALITY_AGG(bm)", "how many these are"),
        Entry("BITMAP_OR_AGG", "BITMAP_TO_STRING(BITMAP_OR_AGG(bm))", "the numbers in any bitmap"),
        Entry("BITMAP_OR_CARDINALITY_AGG", "BITMAP_OR_CARDINALITY_AGG(bm)", "how many these are"),
        Entry("BITMAP_XOR_AGG", "BITMAP_TO_STRING(BITMAP_XOR_AGG(bm))", "the numbers in an odd number of bitmaps"),
        Entry("BITMAP_XOR_CARDINALITY_AGG", "BITMAP_XOR_CARDINALITY_AGG(bm)", "how many these are"),
    ),
}  # fmt: skip
