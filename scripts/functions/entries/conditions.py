"""Comparisons, logic, conditions."""

from __future__ import annotations

from .entry import Entry

TOPICS = {
    "Comparison": (
        Entry("equals", "1 = 1.0", "the two are the same; NULL if one of them is NULL", ("=", "==")),
        Entry("notEquals", "1 <> 2", "the two differ; NULL if one of them is NULL", ("<>", "!=")),
        Entry("greaterThan", "2 > 1", "the left one is the larger", (">",)),
        Entry("greaterThanOrEqual", "2 >= 2", "the left one is not the smaller", (">=",)),
        Entry("lessThan", "'a' < 'b'", "the left one is the smaller; texts by their characters' numbers", ("<",)),
        Entry("lessThanOrEqual", "1 <= 2", "the left one is not the larger", ("<=",)),
        Entry("isNull", "NULLIF(1, 1) IS NULL", "there is no value; never NULL itself", ("IS NULL",)),
        Entry("isNotNull", "1 IS NOT NULL", "there is a value", ("IS NOT NULL",)),
        Entry("IS DISTINCT FROM", "1 IS DISTINCT FROM NULLIF(1, 1)", "as `<>`, with NULL as a value like others"),
        Entry("IS NOT DISTINCT FROM", "1 IS NOT DISTINCT FROM 1", "as `=`, with NULL as a value like others"),
        Entry("between", "2 BETWEEN 1 AND 3", "within the bounds, which belong to it; `SYMMETRIC` takes them in any order"),
        Entry("notBetween", "2 NOT BETWEEN SYMMETRIC 9 AND 3", "outside of the bounds"),
        Entry("in", "2 IN (1, 2)", "one of the list, or of a query's rows"),
        Entry("LIKE", "'a%b' LIKE 'a!%_' ESCAPE '!'", "fits the pattern: `%` any text, `_` one character"),
        Entry("similar", "'abab' SIMILAR TO '(ab)+'", "fits a regular expression of SQL as a whole", ("SIMILAR TO",)),
        Entry(
            "temporalOverlaps",
            "(DATE '2026-03-01', DATE '2026-03-10') OVERLAPS (DATE '2026-03-05', INTERVAL '9' DAY)",
            "two spans, each of a start and an end or a length, have a moment in common",
            ("OVERLAPS",),
        ),
    ),
    "Logic": (
        Entry("and", "TRUE AND FALSE", "both; FALSE if one is FALSE, whatever the other"),
        Entry("or", "TRUE OR FALSE", "at least one; TRUE if one is TRUE, whatever the other"),
        Entry("not", "NOT TRUE", "the opposite; NULL of NULL"),
        Entry("isTrue", "(1 = 1) IS TRUE", "TRUE, not FALSE or NULL", ("IS TRUE",)),
        Entry("isNotTrue", "(1 = 1) IS NOT TRUE", "FALSE or NULL", ("IS NOT TRUE",)),
        Entry("isFalse", "(1 = 2) IS FALSE", "FALSE, not TRUE or NULL", ("IS FALSE",)),
        Entry("isNotFalse", "(1 = NULLIF(1, 1)) IS NOT FALSE", "TRUE or NULL", ("IS NOT FALSE",)),
        Entry("IS UNKNOWN", "(1 = NULLIF(1, 1)) IS UNKNOWN", "a condition that is NULL"),
        Entry("IS NOT UNKNOWN", "(1 = 1) IS NOT UNKNOWN", "a condition that is TRUE or FALSE"),
    ),
    "Conditions": (
        Entry("ifThenElse", "CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END", "the result of the first condition that holds", ("CASE",)),
        Entry("IF", "IF(1 > 2, 'a', 'b')", "the second argument if the first is TRUE, else the third"),
        Entry("COALESCE", "COALESCE(NULLIF(1, 1), 2, 3)", "the first argument that is not NULL"),
        Entry("IFNULL", "IFNULL(NULLIF(1, 1), 2)", "the second argument where the first is NULL"),
        Entry("NULLIF", "NULLIF(3, 4)", "NULL where the two are equal, else the first"),
        Entry("GREATEST", "GREATEST(1, 3, 2)", "the largest argument; NULL if one is NULL"),
        Entry("LEAST", "LEAST(1, 3, 2)", "the smallest argument; NULL if one is NULL"),
        Entry("IS_ALPHA", "IS_ALPHA('abc')", "letters only, and one at least"),
        Entry("IS_DECIMAL", "IS_DECIMAL('-1.5')", "text that is a number"),
        Entry("IS_DIGIT", "IS_DIGIT('12')", "digits only, and one at least"),
    ),
}  # fmt: skip
