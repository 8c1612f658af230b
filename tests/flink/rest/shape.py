"""The shape of an answer: keys, JSON types, values that are the same for every Flink. Neither ids nor numbers.

A text of a shape names a type ("str", "int", "num", "bool", "null", "long", "<id>", "<uuid>") or, after "=", the value
itself; after "==", a value as JSON. Several types are joined by "|". A list is the shapes of its elements put together
in one (but for ROWS); a key that only some of them have ends in "?". A map whose keys are data has the one key "*".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tests.flink.rest.texts import LONGEST, constant, message, names_ids

UNBOUNDED = 2**63 - 1
FIXED = {
    "status", "state", "mode", "type", "className", "class", "backpressureLevel", "backpressure-level", "state_backend",
    "checkpoint_storage", "restart-strategy", "savepointFormat", "schedulerType", "jobType", "job-type", "resultType",
    "resultKind", "rowFormat", "kind", "productName", "ship_strategy", "exchange", "operator", "operator_strategy",
    "application-status", "flink-version", "nextResultUri", "exceptionName", "application_status", "logicalType",
    "externalization", "changelog_storage",
}  # fmt: skip
"""keys whose texts are one of a few, the same for every Flink"""
WHOLE = {"fields", "versions", "candidates"}
"""keys of lists that are kept as they are: values of queries that always give the same"""
ROWS = {"columns": 100, "data": 4}
"""keys of lists of which so many elements are kept one by one: those of a query's result"""
OPEN = {"user-config", "properties", "failureLabels", "extendedResources", "accumulator-results", "status-duration"}
"""keys of maps whose keys are data"""


def shape(body: Any, key: str = "") -> Any:
    if isinstance(body, dict):
        return _object(body, key)
    if isinstance(body, list):
        if key == "errors":
            return [message(each) for each in body if isinstance(each, str)]
        if key in WHOLE:
            return [_whole(json.dumps(each, ensure_ascii=False)) for each in body]
        if key in ROWS:
            return [shape(each) for each in body[: ROWS[key]]]
        return [merged(shape(each, key) for each in body)] if body else []
    if isinstance(body, str):
        return _text(body, key)
    if body is None:
        return "null"
    if isinstance(body, bool):
        return "bool"
    if not isinstance(body, int):
        return "num"
    return f"={body}" if body in (-1, UNBOUNDED) else "int"


def _whole(text: str) -> str:
    return f"=={constant(text)}" if len(text) <= LONGEST else "long"


def _object(body: dict[str, Any], key: str) -> Any:
    if key in OPEN:
        return {"*": merged(shape(each) for each in body.values())} if body else {}
    found: dict[str, Any] = {}
    for name, each in body.items():
        called = names_ids(name)
        inner = shape(each, name)
        found[called] = merged((found[called], inner)) if called in found else inner
    return dict(sorted(found.items()))


def _text(text: str, key: str) -> str:
    if text in ("NaN", ""):
        return f"={text}"
    called = names_ids(text)
    if called != text:
        return called
    if key in FIXED or re.fullmatch(r"[A-Z][A-Z_]+", text):
        return f"={constant(text)}"
    return "str"


def merged(shapes: Iterable[Any]) -> Any:
    """One shape for all of several."""
    found: Any = None
    for each in shapes:
        found = each if found is None else _two(found, each)
    return found


def _two(one: Any, other: Any) -> Any:
    if one == other:
        return one
    if isinstance(one, dict) and isinstance(other, dict):
        return _two_objects(one, other)
    if isinstance(one, list) and isinstance(other, list):
        if not one or not other:
            return one or other
        return [_two(one[0], other[0])] if len(one) == len(other) == 1 else one
    if isinstance(one, str) and isinstance(other, str):
        return "|".join(sorted({*one.split("|"), *other.split("|")}))
    # Null beside a structure: what else there is tells more.
    return one if isinstance(other, str) else other


def _two_objects(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    plain, found = {name.removesuffix("?") for name in (*one, *other)}, {}
    for name in sorted(plain):
        inner = [each for side in (one, other) for called, each in side.items() if called.removesuffix("?") == name]
        always = len(inner) == 2 and name in one and name in other and not _null_or_more(inner)
        found[name if always else f"{name}?"] = merged(inner)
    return found


def _null_or_more(shapes: list[Any]) -> bool:
    """Is there null on one side and a structure on the other?"""
    return "null" in shapes and any(not isinstance(each, str) for each in shapes)


def metric_names(body: Any) -> list[str]:
    """Names of metrics in a list of them, without the subtask and the operator before them."""
    if not isinstance(body, list):
        return []
    found = {each["id"] for each in body if isinstance(each, dict) and isinstance(each.get("id"), str)}
    return sorted({_metric_name(name) for name in found})


def _metric_name(name: str) -> str:
    for begin in ("Status.", "Shuffle.", "taskSlots", "numRe"):
        if begin in name:
            return name[name.index(begin) :]
    return name.rpartition(".")[2]
