"""What a case is about, read from its pattern: the tags by which tests choose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

AUTOMATON = frozenset({"greedy", "group-loop-relaxed", "quantifier-window"})
"""whose answers do not follow from enumeration"""
LOOPS = ("oneOrMore", "timesOrMore", "times")
OVER_MATCHED = ("last", "first", "avg", "count", "sum")


def tags(case: dict[str, Any]) -> list[str]:
    found = set(_of_calls(case["pattern"]))
    if case.get("skip") and case["skip"][0] != "noSkip":
        found.add(case["skip"][0])
    if case["time"] == "processing":
        found.add("processing")
    elif "delay" not in case:
        found.add("one-watermark")
    times = [row[3] for row in case["events"]]
    if times != sorted(times):
        found.add("unordered")
    if len(set(times)) < len(times):
        found.add("equal-times")
    found |= {word for word in ("keyed", "comparator") if case.get(word)}
    return sorted(found)


def _of_calls(calls: list[list[Any]]) -> Iterator[str]:
    for at, call in enumerate(calls):
        method = call[0]
        yield from _of_call(call)
        if isinstance(call[-1], dict):
            yield "quantifier-window"
        if method in LOOPS and isinstance(_stage_of(calls, at)[1], list):
            names = {each[0] for each in _quantifier_of(calls, at)}
            yield "group-loop-strict" if "consecutive" in names else "group-loop-relaxed"


def _of_call(call: list[Any]) -> Iterator[str]:
    method = call[0]
    if len(call) > 1 and isinstance(call[1], list) and method in ("begin", "next", "followedBy", "followedByAny"):
        yield "group"
        yield from _of_calls(call[1])
    elif method in ("where", "or", "until") and _iterative(call[1]):
        yield "iterative"
    if method == "within" and call[-1] == "PREVIOUS_AND_CURRENT":
        yield "within-step"
    elif method not in ("begin", "where"):
        yield method


def _iterative(condition: list[Any]) -> bool:
    return condition[0] in OVER_MATCHED or any(_iterative(part) for part in condition[1:] if isinstance(part, list))


def _stage_of(calls: list[list[Any]], at: int) -> list[Any]:
    ways = ("begin", "next", "followedBy", "followedByAny", "notNext", "notFollowedBy")
    return next(call for call in reversed(calls[: at + 1]) if call[0] in ways)


def _quantifier_of(calls: list[list[Any]], at: int) -> list[list[Any]]:
    ways = ("next", "followedBy", "followedByAny", "notNext", "notFollowedBy")
    end = next((n for n in range(at, len(calls)) if calls[n][0] in ways), len(calls))
    return calls[at:end]
