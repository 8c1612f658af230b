"""Imports every module that registers built-in functions."""

# ruff: noqa: F401  importing is all that happens here

from __future__ import annotations

from millrace.relational.functions import session
from millrace.relational.functions.casts import functions
from millrace.relational.functions.collections import arrays, arrays_as_sets, bitmaps, maps, objects, rows
from millrace.relational.functions.json import construction, query, values, variants
from millrace.relational.functions.logic import comparison, conditional, logical
from millrace.relational.functions.numbers import arithmetic, digits, mathematics, randoms
from millrace.relational.functions.numbers import rounding as _numbers
from millrace.relational.functions.strings import (
    encodings,
    hashes,
    like,
    padding,
    printf,
    regex,
    searching,
    strings,
    text_tests,
    urls,
)
from millrace.relational.functions.times import date_format, difference, extract, intervals, now, timestamps
from millrace.relational.functions.times import rounding as _times
