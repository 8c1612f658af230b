"""Which texts go through Flink's formats: by door, type and options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

Group = dict[str, Any]


def _words(text: str) -> list[str]:
    return text.split(" ")


_WHOLE = _words(
    "0 1 -1 +1 007 -0 +0 127 128 -128 -129 32767 32768 -32768 -32769 2147483647 2147483648 -2147483648 -2147483649 "
    "9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 1.0 1.5 1e3 1E2 0x10 1_000 1L "
    "1f -- +-1 NaN true abc \u0661\u0662 \uff11 1,000 99999999999999999999999999 - + . 1. 0b1 1d null NULL"
)
_NUMBERS = _words(
    "0 -0 0.0 -0.0 1 -1 +1 1.5 -1.5 +1.5 .5 5. 0.1 0.10 1e3 1E3 1e+3 1e-3 1e400 -1e400 1e-400 1.7976931348623157e308 "
    "3.4028235e38 3.5e38 1e39 1.4e-45 1e-46 4.9e-324 NaN nan NAN -NaN Infinity -Infinity +Infinity inf -inf infinity "
    "Inf 1d 1D 1f 1F 1L 0x10 0x1p3 0x1.8p1 1_000 1,5 abc -- e5 1e . + - true 123456789.123456789 "
    "0.30000000000000004 16777217 1e7 1.0E10 12345678 0.001 0.0001 100 1e2 1E+2 99.994 99.995 999.99 1234.5 0.005 "
    "-0.005 1e-7 12345678901234567890.123456789 null NULL \u0661 1e9999999999"
)
_BOOLEANS = _words("true false TRUE False tRuE t f 1 0 yes no Y on truee null NULL")
_DATES = [
    *_words(
        "2024-02-29 2023-02-29 2024-2-9 2024-02-9 2024-2-09 24-02-29 0024-02-29 02024-02-29 12024-02-29 0001-01-01 "
        "0000-01-01 -0001-01-01 9999-12-31 10000-01-01 2024-13-01 2024-00-01 2024-01-00 2024-01-32 2024-02-30 "
        "2024-02-31 2024-04-31 1582-10-10 1582-10-04 1582-10-15 1900-02-29 1500-02-29 20240229 2024/02/29 2024-02-29Z "
        "2024-02-29T00:00:00 2024-060 2024-W09-4 2024-02 today 2024-02-29x +2024-02-29 0 19782 2024--02-29 "
        "2024-002-29 1970-01-01 null"
    ),
    "2024-02-29 00:00:00",
    "2024 -02-29",
    "2024- 02-29",
]
_TIMES = _words(
    "12:34:56 12:34 12 1:2:3 01:02:03 12:34:5 24:00:00 23:59:60 23:59:59 25:00:00 12:60:00 12:34:60 12:34:56.7 "
    "12:34:56.78 12:34:56.789 12:34:56.7891 12:34:56.789123 12:34:56.789123456 12:34:56.7891234567 12:34:56. "
    "12:34:56Z 12:34:56.789Z 12:34:56+01:00 12:34:56+00:00 12:34Z T12:34:56 123456 12:34:56,7 -1:00:00 00:00:00 "
    "00:00 0:0:0 12-34-56 12:34:56AM null 100:00:00 12:34:56.000 012:34:56 -12:34:56"
)
_CLOCKS = _words(
    "12:34:56 12:34 12 1:2:3 12:34:5 24:00:00 23:59:60 25:00:00 12:60:00 12:34:56.7 12:34:56.789 12:34:56.789123 "
    "12:34:56.789123456 12:34:56.7891234567 12:34:56. 12:34:56Z 12:34:56.789Z 12:34:56+01:00 12:34Z 00:00:00 "
    "12:34:56.000 12:34:56.100 12:34:56+0100 12:34:56+01 12:34:56.789+01:00 00:00:00.000000001 23:59:59.999999999 "
    "12:34:56z 12:34:56.789z"
)
_DAYS = _words(
    "2024-02-29 2023-02-29 2024-2-9 0001-01-01 0000-01-01 -0001-01-01 9999-12-31 10000-01-01 +10000-01-01 2024-13-01 "
    "2024-02-30 1582-10-10 1500-02-29 24-02-29"
)


def _moments() -> list[str]:
    found = [f"2024-02-29{mark}{clock}" for mark in " T" for clock in _CLOCKS]
    found += [f"{day}{mark}12:34:56" for day in _DAYS for mark in " T"]
    found += [f"{day}{mark}12:34:56Z" for day in _DAYS for mark in " T"]
    return [
        *found,
        *_DAYS,
        "2024-02-29t12:34:56z",
        "2024-02-29t12:34:56",
        "2024-02-29  12:34:56",
        "2024-02-29_12:34:56",
        "1709209800",
        "1709209800000",
        "now",
        "null",
        "2024-02-29 12:34:56 Z",
        "2024-02-29 1:02:03",
        "2024-2-9 1:2:3",
        "2024-2-9 1:2:3.4",
        "1677-01-01 00:00:00",
        "2262-12-31 00:00:00",
        "2024-02-29T12:34:56.123456789Z",
    ]


_BYTES = [
    *_words("AQID AQI= AQI AQ== AQ A A=== AQID= AQ=D AQID==== _-8= +/8= -_8 YWJj not! \u00e9 0102 null AQIDBA== ////"),
    "AQ ID",
    "AQID\r\nAQID",
]
_TEXTS = _words(
    "a abc \u00e9 \u4e2d\u6587 \U0001f600 null NULL \\N n/a 'q' a\"b a\\b a;b # #a 1 true a\tb a\u00a0b \\a \\\\"
)
_ARRAYS = [*_words("1 1;2 1;;2 ; ;1 1; a a;b 1|2 1.5;2 null null;1 n/a n/a;1 ;; 1,2"), "1; 2", " 1 ; 2 ", " ", " ;1"]
_ROWS = [*_words("1;a 1 1;a;b ; ;a 1; x;a null;null n/a;n/a a;1"), "1 ;a", " 1; a ", " "]
_QUOTED = [
    '"a"',
    '"a,b"',
    '"a""b"',
    '"a"b',
    '"a',
    'a"b"',
    '""',
    '" "',
    '"a" ',
    ' "a"',
    '"a\nb"',
    "'a'",
    "'a,b'",
    "a\\,b",
    '"a\\"b"',
    "a\\nb",
    '"1"',
    '" 1 "',
    '"null"',
    '"n/a"',
    "a\nb",
    "a\r\nb",
    "a\rb",
    "#a",
    "# a",
    " #a",
    '"#a"',
    "\ufeffa",
]

_NUMBER_TYPES = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_TABLE: dict[str, Sequence[str]] = {
    **dict.fromkeys(_NUMBER_TYPES, _WHOLE),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL(4, 2)", "DECIMAL(38, 18)", "DECIMAL(5, 0)"), _NUMBERS),
    "BOOLEAN": _BOOLEANS,
    "DATE": _DATES,
    **dict.fromkeys(("TIME(0)", "TIME(3)"), _TIMES),
    **dict.fromkeys(
        ("TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)"), _moments()
    ),
    "BYTES": _BYTES,
    "STRING": _TEXTS,
}
_ROW: dict[str, Sequence[str]] = {
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), _WHOLE),
    **dict.fromkeys(("FLOAT", "DOUBLE", "BIG_DEC"), _NUMBERS),
    "BOOLEAN": _BOOLEANS,
    **dict.fromkeys(("SQL_DATE", "LOCAL_DATE"), _DATES),
    **dict.fromkeys(("SQL_TIME", "LOCAL_TIME"), _TIMES),
    **dict.fromkeys(("SQL_TIMESTAMP", "LOCAL_DATE_TIME", "INSTANT"), _moments()),
    "BYTES": _BYTES,
    "STRING": _TEXTS,
}
_CSV_TABLE = {
    **_TABLE,
    "ARRAY<INT>": _ARRAYS,
    "ARRAY<STRING>": _ARRAYS,
    "ARRAY<DOUBLE>": _ARRAYS,
    "ROW<a INT, b STRING>": _ROWS,
}
_CSV_ROW = {**_ROW, "ARRAY<INT>": _ARRAYS, "ARRAY<STRING>": _ARRAYS, "ARRAY<DOUBLE>": _ARRAYS, "ROW<INT STRING>": _ROWS}
_READER = (
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(4, 2)",
    "DECIMAL(38, 18)",
    "DECIMAL(5, 0)",
    "BOOLEAN",
    "STRING",
    "ARRAY<INT>",
    "ARRAY<STRING>",
    "ARRAY<DOUBLE>",
)
_OPTIONS: tuple[dict[str, Any], ...] = (
    {"null": "n/a"},
    {"null": ""},
    {"elements": "|"},
    {"comments": True},
    {"separator": "|"},
    {"escape": "\\"},
    {"quote": "'"},
    {"unquoted": True},
)


def groups() -> Iterator[Group]:
    """What is sent: ``door``, ``type``, ``options`` and ``texts`` each."""
    for door, types in (("csv", _CSV_TABLE), ("csv-file", _CSV_TABLE), ("csv-row", _CSV_ROW)):
        yield from _of_csv(door, types)
    yield from _of_csv("csv-reader", {kind: _CSV_TABLE[kind] for kind in _READER})
    for door, types in (("json", _TABLE), ("json-tree", _TABLE), ("json-row", _ROW)):
        for kind, texts in types.items():
            for options in _json_options(door, kind):
                yield _group(door, kind, options, _json_texts(texts))
    for door, kind in (("json", "INT"), ("json-tree", "INT"), ("json-row", "INT")):
        for options in ({}, {"lenient": True}, {"strict": True}):
            yield _group(door, kind, {"whole": True, **options}, _JSON_MESSAGES)
    for door, nested in (("json", _JSON_TABLE), ("json-tree", _JSON_TABLE), ("json-row", _JSON_ROW)):
        for kind in nested:
            for options in ({}, {"lenient": True}, {"strict": True}):
                yield _group(door, kind, options, _JSON_NESTED)


def _json_options(door: str, kind: str) -> Iterator[dict[str, Any]]:
    yield {}
    yield {"lenient": True}
    if door != "json-row" and kind.startswith("TIMESTAMP"):
        yield {"iso": True}


def _of_csv(door: str, types: dict[str, Sequence[str]]) -> Iterator[Group]:
    for kind, texts in types.items():
        yield _group(door, kind, {}, [*_padded(texts), ""])
        yield _group(door, kind, {"lenient": True}, [*texts, "", " ", '""'])
        if kind.startswith("DECIMAL") and door == "csv":
            yield _group(door, kind, {"plain": True}, texts)
        short = [*texts[:3], "", " ", "n/a", " n/a ", '"n/a"', "NULL", '""']
        for options in _OPTIONS:
            if not ("unquoted" in options and door == "csv-row"):
                yield _group(door, kind, options, short)
        for options in ({"whole": True}, {"whole": True, "lenient": True}):
            yield _group(
                door, kind, options, [texts[0], "", ",", f"{texts[0]},", f"{texts[0]},a,b", f"{texts[0]},a,", ",,"]
            )
    some = [kind for kind in types if kind in ("STRING", "INT", "DOUBLE", "ARRAY<STRING>")]
    for kind in some:
        for options in ({}, *_OPTIONS):
            if not ("unquoted" in options and door == "csv-row"):
                yield _group(door, kind, options, _QUOTED)


def _padded(texts: Sequence[str]) -> list[str]:
    first = texts[0]
    return [
        *texts,
        f" {first}",
        f"{first} ",
        f" {first} ",
        f"\t{first}",
        f"\u00a0{first}",
        f"\u2003{first}",
        " ",
        '""',
        '" "',
    ]


def _json_texts(texts: Sequence[str]) -> list[str]:
    """As JSON strings, and as they are."""
    more = [
        "null",
        "true",
        "false",
        "{}",
        "[]",
        "[1]",
        '{"a":1}',
        "1",
        "1.5",
        "1.0",
        "1e3",
        "1E400",
        "-1",
        "0",
        '""',
        '" "',
    ]
    more += [
        "12345678901234567890",
        "1e-7",
        "100000000000000000000.5",
        "0.1",
        "1.50",
        "01",
        "+1",
        ".5",
        "NaN",
        "Infinity",
    ]
    return [*(json.dumps(text) for text in _padded(texts)), *more]


_JSON_TABLE = (
    "ARRAY<INT>", "ARRAY<STRING>", "MAP<STRING, INT>", "MAP<STRING, STRING>", "ROW<a INT, b STRING>",
    "ROW<a ARRAY<INT>>", "ARRAY<ROW<a INT, b STRING>>", "STRING",
)  # fmt: skip
_JSON_ROW = (
    "ARRAY<INT>",
    "ARRAY<STRING>",
    "MAP<INT>",
    "MAP<STRING>",
    "ROW<INT STRING>",
    "ARRAY<ROW<INT STRING>>",
    "STRING",
)
_JSON_NESTED = [
    "[]", "[1]", "[1,2]", "[1,null]", '["1"]', '["a"]', "[[1]]", "[1.5]", "[true]", "{}", '{"a":1}', '{"a":1,"b":"x"}',
    '{"a":"1"}', '{"a":null}', '{"b":2}', '{"a":"x","b":"y"}', '{"a":1,"a":2}', '{"a":1,"c":3}', '{"A":1}', '{"a":[1]}',
    '{"a":{"b":1}}', "1", '"a"', "null", "true", '[{"a":1}]', '[{"a":1,"b":null}]', "[null]", '[{}]', '{"a":[null]}',
    '{"a":1.5}', '{"a": 1 , "b" : [ 1, 2 ] }', '{"a":1e3}', '{"b":{"x":1.50}}', '{"b":1.50}', '{"b":true}', '[1,"a"]',
    '{"a":true}', '{"b":"\\u00e9"}', '{"":1}',
]  # fmt: skip

_JSON_MESSAGES = [
    "", " ", "{}", "[]", "null", "1", "true", '"a"', '{"f":1}', '{"f":1,"last":"z"}', '{"f":1}{"f":2}', '{"f":1} x',
    '{"f":1', '[{"f":1},{"f":2}]', '[{"f":1},2]', '{"F":1}', '{"f":1,"f":2}', '{"f":1,"other":[1,{"a":2}]}',
    "{'f':1}", "{f:1}", '{"f":1,}', '// a\n{"f":1}', '{"last":"a\nb"}', '{"last":"a\tb"}', '{"last":"\\u00e9"}',
    '{"last":"\\x"}', '\ufeff{"f":1}', '{"last":1}', '{"last":1.50}', '{"last":1e3}',
    '{"last":true}', '{"last":null}', '{"last":{"a" : 1}}', '{"last":[1, 2]}',
]  # fmt: skip


def _group(door: str, kind: str, options: dict[str, Any], texts: Sequence[str]) -> Group:
    return {"door": door, "type": kind, "options": options, "texts": list(dict.fromkeys(texts))}
