"""Random expressions of a type, over columns whose types are known. None of them fails for any value."""

from __future__ import annotations

import random
from collections.abc import Sequence

Column = tuple[str, str]
"""(how it is written, type)"""

LITERALS = {
    "BOOLEAN": ("TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"),
    "TINYINT": ("CAST(3 AS TINYINT)", "CAST(-128 AS TINYINT)"),
    "INT": ("0", "1", "-7", "2147483647", "CAST(NULL AS INT)"),
    "SMALLINT": ("CAST(3 AS SMALLINT)", "CAST(-32768 AS SMALLINT)"),
    "DECIMAL(38, 10)": ("CAST(1.25 AS DECIMAL(38, 10))", "CAST(NULL AS DECIMAL(38, 10))"),
    "VARCHAR(4)": ("CAST('ab' AS VARCHAR(4))", "CAST(NULL AS VARCHAR(4))"),
    "CHAR(3)": ("CAST('abc' AS CHAR(3))", "CAST(NULL AS CHAR(3))"),
    "TIMESTAMP(0)": ("TIMESTAMP '2021-03-14 02:30:00'", "CAST(NULL AS TIMESTAMP(0))"),
    "TIMESTAMP(6)": ("TIMESTAMP '2021-03-14 02:30:00.123456'", "CAST(NULL AS TIMESTAMP(6))"),
    "TIMESTAMP_LTZ(6)": ("CAST(TIMESTAMP '2021-11-07 01:30:00.5' AS TIMESTAMP_LTZ(6))",),
    "ARRAY<STRING>": ("ARRAY['a', 'b']", "CAST(NULL AS ARRAY<STRING>)"),
    "ARRAY<ROW<x INT, y STRING>>": ("ARRAY[CAST(ROW(1, 'a') AS ROW<x INT, y STRING>)]",),
    "BIGINT": ("CAST(5 AS BIGINT)", "9223372036854775807", "CAST(NULL AS BIGINT)"),
    "FLOAT": ("CAST(1.5 AS FLOAT)", "CAST(NULL AS FLOAT)"),
    "DOUBLE": ("0.5e0", "-2e0", "CAST(NULL AS DOUBLE)"),
    "DECIMAL(10, 2)": ("CAST(1.25 AS DECIMAL(10, 2))", "CAST(NULL AS DECIMAL(10, 2))"),
    "STRING": ("'a'", "''", "'ab c'", "'✓'", "CAST(NULL AS STRING)"),
    "BYTES": ("x'00ff'", "CAST(NULL AS BYTES)"),
    "DATE": ("DATE '2024-02-29'", "DATE '1969-12-31'", "CAST(NULL AS DATE)"),
    "TIME": ("TIME '10:11:12'", "CAST(NULL AS TIME)"),
    "TIMESTAMP(3)": ("TIMESTAMP '2021-03-14 02:30:00.000'", "CAST(NULL AS TIMESTAMP(3))"),
    "TIMESTAMP_LTZ(3)": ("TO_TIMESTAMP_LTZ(0, 3)", "TO_TIMESTAMP_LTZ(1615703400000, 3)"),
    "ARRAY<INT>": ("ARRAY[1, 2, 2]", "CAST(NULL AS ARRAY<INT>)"),
    "MAP<STRING, INT>": ("MAP['a', 1]", "CAST(NULL AS MAP<STRING, INT>)"),
    "ROW<x INT, y STRING>": ("CAST(ROW(1, 'a') AS ROW<x INT, y STRING>)",),
}

_T, _I, _L, _D, _N, _S, _B = "TINYINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(10, 2)", "STRING", "BOOLEAN"
_DATE, _TS, _LTZ = "DATE", "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)"
_A, _M, _R = "ARRAY<INT>", "MAP<STRING, INT>", "ROW<x INT, y STRING>"
_ANY = "?"
"""a type that is drawn, the same at all places"""

# Result, text with {0}, {1}, ... for arguments, and their types.
FORMS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    *((_B, f"({{0}} {sign} {{1}})", (_ANY, _ANY)) for sign in ("=", "<>", "<", ">=", "IS DISTINCT FROM")),
    *((_B, f"({{0}} {sign} {{1}})", (_B, _B)) for sign in ("AND", "OR")),
    (_B, "(NOT {0})", (_B,)),
    (_B, "({0} IS NULL)", (_ANY,)),
    (_B, "({0} IS NOT TRUE)", (_B,)),
    (_B, "({0} BETWEEN {1} AND {2})", (_I, _I, _I)),
    (_B, "({0} IN ({1}, {2}))", (_S, _S, _S)),
    (_B, "({0} NOT IN ({1}, 1))", (_I, _I)),
    (_B, "({0} LIKE 'a%')", (_S,)),
    (_B, "({0} LIKE '%\\_%' ESCAPE '\\')", (_S,)),
    (_B, "STARTSWITH({0}, {1})", (_S, _S)),
    (_B, "ARRAY_CONTAINS({0}, {1})", (_A, _I)),
    (_B, "({0} IS JSON)", (_S,)),
    *((_I, f"({{0}} {sign} {{1}})", (_I, _I)) for sign in "+-*"),
    *((_L, f"({{0}} {sign} {{1}})", (_L, _I)) for sign in "+-*"),
    *((_D, f"({{0}} {sign} {{1}})", (_D, _D)) for sign in "+-*"),
    (_N, "CAST({0} + {1} AS DECIMAL(10, 2))", (_N, _N)),
    (_N, "CAST({0} * {1} AS DECIMAL(10, 2))", (_N, _N)),
    (_I, "(- {0})", (_I,)),
    (_I, "({0} / NULLIF({1}, 0))", (_I, _I)),
    (_I, "MOD({0}, 7)", (_I,)),
    (_D, "({0} / 4e0)", (_D,)),
    (_D, "FLOOR({0})", (_D,)),
    (_D, "ROUND({0}, 1)", (_D,)),
    (_N, "ROUND({0}, 1)", (_N,)),
    (_N, "CEIL({0})", (_N,)),
    ("SMALLINT", "CAST({0} AS SMALLINT)", (_I,)),
    (_I, "({0} + {1})", ("SMALLINT", _T)),
    ("DECIMAL(38, 10)", "CAST({0} + {1} AS DECIMAL(38, 10))", ("DECIMAL(38, 10)", _N)),
    ("DECIMAL(38, 10)", "CAST({0} * {1} AS DECIMAL(38, 10))", ("DECIMAL(38, 10)", _N)),
    ("DECIMAL(38, 10)", "CAST({0} / NULLIF({1}, 0) AS DECIMAL(38, 10))", ("DECIMAL(38, 10)", _N)),
    ("VARCHAR(4)", "CAST({0} AS VARCHAR(4))", (_S,)),
    ("CHAR(3)", "CAST({0} AS CHAR(3))", (_S,)),
    (_S, "({0} || {1})", ("VARCHAR(4)", "CHAR(3)")),
    ("TIMESTAMP(0)", "CAST({0} AS TIMESTAMP(0))", ("TIMESTAMP(6)",)),
    ("TIMESTAMP(6)", "CAST({0} AS TIMESTAMP(6))", ("TIMESTAMP_LTZ(6)",)),
    ("ARRAY<STRING>", "SPLIT({0}, ' ')", (_S,)),
    ("ARRAY<STRING>", "ARRAY_CONCAT({0}, {1})", ("ARRAY<STRING>", "ARRAY<STRING>")),
    (_S, "{0}[1].y", ("ARRAY<ROW<x INT, y STRING>>",)),
    (_S, "{0}[2]", ("ARRAY<STRING>",)),
    (_D, "CAST('NaN' AS DOUBLE)", ()),
    (_D, "CAST('Infinity' AS DOUBLE)", ()),
    (_N, "ABS({0})", (_N,)),
    (_D, "SQRT(ABS({0}))", (_D,)),
    (_I, "CHAR_LENGTH({0})", (_S,)),
    (_I, "POSITION({0} IN {1})", (_S, _S)),
    (_I, "CARDINALITY({0})", (_A,)),
    (_I, "{0}[1]", (_A,)),
    (_I, "{0}['a']", (_M,)),
    (_I, "ARRAY_MAX({0})", (_A,)),
    (_I, "ASCII({0})", (_S,)),
    (_I, "TRY_CAST({0} AS INT)", (_S,)),
    (_I, "CAST({0} AS INT)", (_L,)),
    (_I, "CAST({0} AS INT)", (_N,)),
    (_I, "CAST({0} AS INT)", (_B,)),
    (_T, "CAST({0} AS TINYINT)", (_I,)),
    (_L, "CAST({0} AS BIGINT)", (_D,)),
    (_D, "CAST({0} AS DOUBLE)", (_N,)),
    (_D, "CAST({0} AS DOUBLE)", (_L,)),
    ("FLOAT", "CAST({0} AS FLOAT)", (_I,)),
    (_N, "CAST({0} AS DECIMAL(10, 2))", (_I,)),
    (_N, "TRY_CAST({0} AS DECIMAL(10, 2))", (_S,)),
    (_S, "({0} || {1})", (_S, _S)),
    (_S, "UPPER({0})", (_S,)),
    (_S, "LOWER({0})", (_S,)),
    (_S, "TRIM({0})", (_S,)),
    (_S, "SUBSTRING({0}, 2)", (_S,)),
    (_S, "SUBSTRING({0}, {1}, 2)", (_S, _T)),
    (_S, "REPLACE({0}, 'a', {1})", (_S, _S)),
    (_S, "LPAD({0}, 4, '*')", (_S,)),
    (_S, "REVERSE({0})", (_S,)),
    (_S, "CONCAT_WS('-', {0}, {1})", (_S, _S)),
    (_S, "REGEXP_REPLACE({0}, '[a-c]+', '#')", (_S,)),
    (_S, "SPLIT_INDEX({0}, ',', 1)", (_S,)),
    (_S, "MD5({0})", (_S,)),
    (_S, "ARRAY_JOIN(SPLIT({0}, ','), '+')", (_S,)),
    *((_S, "CAST({0} AS STRING)", (kind,)) for kind in LITERALS if kind not in ("BYTES", _M)),
    (_S, "DATE_FORMAT({0}, 'yyyy-MM-dd HH:mm')", (_TS,)),
    (_S, "JSON_OBJECT('k' VALUE {0}, 'n' VALUE {1})", (_S, _I)),
    (_S, "JSON_VALUE({0}, '$.k')", (_S,)),
    (_S, "{0}.y", (_R,)),
    (_I, "{0}.x", (_R,)),
    (_L, "EXTRACT(YEAR FROM {0})", (_DATE,)),
    (_L, "EXTRACT(HOUR FROM {0})", (_TS,)),
    (_L, "EXTRACT(DAY FROM {0})", (_LTZ,)),
    (_I, "TIMESTAMPDIFF(DAY, {0}, {1})", (_TS, _TS)),
    (_TS, "FLOOR({0} TO HOUR)", (_TS,)),
    (_TS, "({0} + INTERVAL '1' DAY)", (_TS,)),
    (_TS, "({0} - INTERVAL '1' MONTH)", (_TS,)),
    (_TS, "CAST({0} AS TIMESTAMP(3))", (_LTZ,)),
    (_LTZ, "CAST({0} AS TIMESTAMP_LTZ(3))", (_TS,)),
    (_DATE, "CAST({0} AS DATE)", (_TS,)),
    (_DATE, "TO_DATE({0})", (_S,)),
    (_TS, "TRY_CAST({0} AS TIMESTAMP(3))", (_S,)),
    ("TIME", "CAST({0} AS TIME)", (_TS,)),
    ("BYTES", "ENCODE({0}, 'UTF-8')", (_S,)),
    (_A, "ARRAY[{0}, {1}]", (_I, _I)),
    (_A, "ARRAY_DISTINCT({0})", (_A,)),
    (_A, "ARRAY_SORT({0})", (_A,)),
    (_M, "MAP[COALESCE({0}, 'none'), {1}]", (_S, _I)),
    (_R, "CAST(ROW({0}, {1}) AS ROW<x INT, y STRING>)", (_I, _S)),
    (_ANY, "COALESCE({0}, {1})", (_ANY, _ANY)),
    (_ANY, "CASE WHEN {0} THEN {1} ELSE {2} END", (_B, _ANY, _ANY)),
    (_ANY, "NULLIF({0}, {1})", (_ANY, _ANY)),
    (_I, "GREATEST({0}, {1})", (_I, _I)),
)  # fmt: skip
WITHOUT_ORDER = tuple(kind for kind in LITERALS if kind.startswith(("ARRAY", "MAP", "ROW")))


class Expressions:
    """Draws expressions."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def of(self, kind: str, columns: Sequence[Column], depth: int = 3) -> str:
        fitting = [text for text, each in columns if each == kind]
        if depth == 0 or self.draw.random() < 0.2:
            return self.draw.choice(fitting) if fitting and self.draw.random() < 0.85 else self._literal(kind)
        forms = [form for form in FORMS if form[0] in (kind, _ANY)]
        result, text, arguments = self.draw.choice(forms)
        drawn = kind if result == _ANY else self.draw.choice(self._comparable(text))
        made = [self.of(drawn if each == _ANY else each, columns, depth - 1) for each in arguments]
        return text.format(*made) if "{0}" in text else text

    def _literal(self, kind: str) -> str:
        return self.draw.choice(LITERALS[kind])

    @staticmethod
    def _comparable(text: str) -> list[str]:
        """The types that values may have that are compared."""
        ordered = "<" in text.replace("<>", "") or ">" in text.replace("<>", "")
        return [kind for kind in LITERALS if not (ordered and kind in WITHOUT_ORDER)]
