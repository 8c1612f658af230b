"""The kept cases: sets of expressions over one row, with the values and types that Flink's tests expect."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.flink.plain import plain_time

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.values import to_arrow, to_internal
from millrace.table.sql.grammar.parser import parse_type

CASES = Path(__file__).with_name("cases")
LONGEST = 180
"""characters of a key"""
EXACT = Context(prec=80)
"""for DECIMALs of any precision"""
TIME = re.compile(r"[+-]?\d{4,}-\d\d-\d\d(T.*)?|\d\d:\d\d(:.*)?")


@dataclass(frozen=True)
class Case:
    """Expressions of one select list, in SQL or as trees of the Table API."""

    key: str
    found: dict[str, Any] = field(compare=False)

    @property
    def sql(self) -> str | None:
        text: str | None = self.found.get("sql", self.found.get("written"))
        return text

    @property
    def trees(self) -> list[dict[str, Any]]:
        trees: list[dict[str, Any]] = self.found.get("api", [])
        return trees

    @property
    def fails(self) -> str | None:
        """When Flink refuses it: "plan", "run" or "any"; None: it does not."""
        when: str | None = self.found.get("fails")
        return when


@dataclass(frozen=True)
class CaseSet:
    """Cases over one row of some columns."""

    name: str
    config: dict[str, str]
    functions: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    row: tuple[Any, ...]
    cases: tuple[Case, ...]


@cache
def sets(part: str) -> tuple[CaseSet, ...]:
    """The kept sets of a part, whose keys are unique: a suite, a set, a way to ask and a text."""
    seen: dict[str, int] = {}
    return tuple(_set(found, seen) for found in lines(part) if "cases" in found)


@cache
def lines(part: str) -> tuple[dict[str, Any], ...]:
    """What the recorder wrote of a part."""
    with lzma.open(CASES / f"{part}.jsonl.xz", "rt", encoding="utf-8") as file:
        return tuple(map(json.loads, file))


def _set(found: dict[str, Any], seen: dict[str, int]) -> CaseSet:
    name = f"{found['suite']}/{found['set'].strip()}"
    cases = []
    for case in found["cases"]:
        key = short(f"{name}: {text_of(case)}")
        seen[key] = seen.get(key, 0) + 1
        cases.append(Case(key if seen[key] == 1 else f"{key} #{seen[key]}", case))
    return CaseSet(
        name,
        found.get("config", {}),
        tuple(found.get("functions", ())),
        tuple((name, kind) for name, kind in found.get("columns", ())),
        tuple(found.get("row", ())),
        tuple(cases),
    )


def short(text: str) -> str:
    """In one line, and not too long a one."""
    line = "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in " ".join(text.split()))
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}.. {hashlib.md5(line.encode()).hexdigest()[:6]}"


def text_of(case: dict[str, Any]) -> str:
    """A case in one line: what is asked, and how."""
    if "sql" in case:
        return str(case["sql"])
    return f"{case['written']} (written)" if "written" in case else ", ".join(map(_shown, case["api"])) + " (api)"


def _shown(tree: dict[str, Any]) -> str:
    if "col" in tree:
        return str(tree["col"])
    if "symbol" in tree:
        return str(tree["symbol"]).split(".")[1]
    if "lit" in tree:
        value = tree["lit"]
        return str(next(iter(value.values())) if isinstance(value, dict) else value)
    name = tree.get("call") or tree.get("lookup")
    return f"{name}({', '.join(map(_shown, tree['args']))})" if name else str(next(iter(tree.values())))


# -- values -----------------------------------------------------------------------------------------------------------


def plain(found: Any) -> Any:
    """What the recorder wrote of a value, in the form that answers are compared in (``tests.flink.plain``)."""
    if isinstance(found, list):
        return [plain(each) for each in found]
    if not isinstance(found, dict):
        return _number(found) if isinstance(found, str) else found
    ((kind, value),) = found.items()
    if kind == "map":
        return sorted(([plain(key), plain(each)] for key, each in value), key=json.dumps)
    return plain_time(value) if kind == "text" and TIME.fullmatch(value) else value


def _number(text: str) -> Any:
    return {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}.get(text, text)


def python_value(found: Any, kind: t.DataType) -> Any:
    """A recorded value as the Python value of a type; times to the microsecond."""
    if found is None:
        return None
    if isinstance(kind, (t.ArrayType,)):
        return [python_value(each, kind.element_type) for each in found]
    if isinstance(kind, t.MapType):
        return {python_value(k, kind.key_type): python_value(v, kind.value_type) for k, v in found["map"]}
    if isinstance(kind, t.MultisetType):
        return {python_value(k, kind.element_type): v for k, v in found["map"]}
    if isinstance(kind, t.RowType):
        return Row(*(python_value(each, part.data_type) for each, part in zip(found, kind.fields)))
    if isinstance(kind, t.DecimalType):
        return Decimal(str(found)).quantize(Decimal(1).scaleb(-kind.scale), context=EXACT)
    if isinstance(kind, (t.BinaryType, t.VarBinaryType, t.BitmapType)):
        return bytes.fromhex(found)
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return float(_number(found) if isinstance(found, str) else found)
    if isinstance(kind, (t.DayTimeIntervalType, t.YearMonthIntervalType)):
        return _interval(found, kind)
    return _time(found["text"], kind) if isinstance(found, dict) and "text" in found else found


def _interval(found: Any, kind: t.DataType) -> Any:
    amount = next(iter(found.values())) if isinstance(found, dict) else found
    return dt.timedelta(milliseconds=amount) if isinstance(kind, t.DayTimeIntervalType) else amount


def _time(text: str, kind: t.DataType) -> Any:
    text = re.sub(r"(\.\d{6})\d+", r"\1", text)
    if isinstance(kind, t.DateType):
        return dt.date.fromisoformat(text)
    if isinstance(kind, t.TimeType):
        return dt.time.fromisoformat(text)
    if isinstance(kind, t.TimestampType):
        return dt.datetime.fromisoformat(_six(text))
    if isinstance(kind, t.LocalZonedTimestampType):
        return dt.datetime.fromisoformat(_six(text).replace("Z", "+00:00"))
    return text


def _six(text: str) -> str:
    """With six digits after the second, if any: what Python 3.10 reads."""
    return re.sub(r"\.(\d{1,6})", lambda found: "." + found[1].ljust(6, "0"), text)


@cache
def type_of(text: str) -> t.DataType | None:
    """None: a type that there is none of here."""
    try:
        return parse_type(text)
    except Exception:
        return None


def columns_of(cases: CaseSet) -> Iterator[tuple[str, t.DataType, Any] | tuple[str, str]]:
    """The columns with their types and values; one that cannot be had with the reason."""
    for (name, text), value in zip(cases.columns, cases.row):
        kind = type_of(text)
        if kind is None:
            yield name, "values of Java's classes"
            continue
        try:
            given = python_value(value, kind)
            to_arrow([to_internal(given, kind)], kind)
        except pa.ArrowInvalid as error:
            yield name, "a key of a MAP cannot be NULL in Arrow" if "key field" in str(error) else str(error)
        except (ValueError, TypeError, ArithmeticError, KeyError, AttributeError):
            yield name, "values of Java's classes"
        else:
            yield name, kind, given
