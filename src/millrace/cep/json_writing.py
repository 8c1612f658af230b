"""From a pattern to nodes and edges."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from millrace.cep.json_conditions import Json, Named, Writer
from millrace.cep.pattern import GroupPattern, Pattern
from millrace.runtime.cep.description import Contiguity, Quantifier, WithinType

VERSION = 1
"""of the form"""
UNITS = {"DAYS": 86_400_000, "HOURS": 3_600_000, "MINUTES": 60_000, "SECONDS": 1_000, "MILLISECONDS": 1}


def graph_of(pattern: Pattern, named: Named) -> Json:
    """A whole pattern."""
    graph = _graph(pattern, Writer(named))
    return {**graph, "version": VERSION}


def _graph(pattern: Pattern, writer: Writer) -> Json:
    steps = [pattern]
    while (before := steps[-1].get_previous()) is not None:
        steps.append(before)
    steps.reverse()
    skip = pattern.get_after_match_skip_strategy()._skip
    strategy: Json = {"type": skip.kind.value, "patternName": skip.name}
    if skip.throw_on_miss:
        strategy["throwExceptionOnMiss"] = True
    return {
        "name": node_name(pattern),
        "type": "COMPOSITE",
        "quantifier": _quantifier(Quantifier(), None),
        "condition": None,
        "nodes": [_node(step, writer, last=step is pattern) for step in steps],
        "edges": [
            {
                "source": node_name(before),
                "target": node_name(step),
                "type": step.get_quantifier().consuming_strategy.value,
            }
            for before, step in pairwise(steps)
        ],
        "window": _window(pattern),
        "afterMatchStrategy": strategy,
    }


def node_name(pattern: Pattern) -> str:
    """Groups have no names of their own: they go by that of their last pattern."""
    return node_name(pattern.get_raw_pattern()) if isinstance(pattern, GroupPattern) else pattern.get_name()


def _node(step: Pattern, writer: Writer, last: bool) -> Json:
    where = f"pattern {step.get_name()!r}"
    until, condition = step.get_until_condition(), step.get_condition()
    quantifier = _quantifier(
        step.get_quantifier().described, None if until is None else writer.condition(until, f"until() of {where}")
    )
    if isinstance(step, GroupPattern):
        node = {**_graph(step.get_raw_pattern(), writer), "quantifier": quantifier}
    else:
        node = {
            "name": step.get_name(),
            "type": "ATOMIC",
            "quantifier": quantifier,
            "condition": None if condition is None else writer.condition(condition, f"where() of {where}"),
        }
    window = None if last else _window(step)
    if window is not None:
        # Flink's form has a window at the end of a pattern only. "window" of a group is that of the patterns in it.
        node["stepWindow" if isinstance(step, GroupPattern) else "window"] = window
    return node


def _quantifier(described: Quantifier, until: Json | None) -> Json:
    times = described.times
    kind = "SINGLE" if times is None else "LOOPING" if times.most is None else "TIMES"
    chosen = [("OPTIONAL", described.optional), ("GREEDY", described.greedy)]
    return {
        "consumingStrategy": described.inner.value if times is not None else Contiguity.RELAXED.value,
        "properties": [kind, *(name for name, is_so in chosen if is_so)],
        "times": None
        if times is None
        else {
            "from": times.least,
            "to": times.least if times.most is None else times.most,
            "windowTime": None if times.window is None else time_of(times.window),
        },
        "untilCondition": until,
    }


def _window(step: Pattern) -> Any:
    """The window that is set at a step; where there are two, both in a list."""
    found = [
        {"type": kind.value, "time": time_of(millis)}
        for kind in (WithinType.FIRST_AND_LAST, WithinType.PREVIOUS_AND_CURRENT)
        if (millis := step.get_window_size(kind)) is not None
    ]
    return None if not found else found[0] if len(found) == 1 else found


def time_of(millis: int) -> Json:
    """Milliseconds in the largest unit that they are whole in."""
    unit = next(unit for unit, size in UNITS.items() if millis % size == 0 and (millis or size == 1))
    return {"unit": unit, "size": millis // UNITS[unit]}
