"""Patterns as JSON and back, in the form of Flink's dynamic CEP: nodes, edges, window, strategy after a match."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from millrace.cep.json_conditions import Json, Named, Reader, Writer, fields
from millrace.cep.pattern_parts import AfterMatchSkipStrategy
from millrace.common.time import Time
from millrace.runtime.cep.description import (
    Contiguity,
    MalformedPatternException,
    Quantifier,
    Skip,
    SkipKind,
    WithinType,
)

if TYPE_CHECKING:
    from millrace.cep.pattern import Pattern

__all__ = ["pattern_from_json", "pattern_to_json"]

# Writing

VERSION = 1
"""Version number of the JSON form."""
UNITS = {"DAYS": 86_400_000, "HOURS": 3_600_000, "MINUTES": 60_000, "SECONDS": 1_000, "MILLISECONDS": 1}


def graph_of(pattern: Pattern, named: Named) -> Json:
    """The JSON graph of a whole pattern."""
    graph = _graph_json(pattern, Writer(named))
    return {**graph, "version": VERSION}


def _graph_json(pattern: Pattern, writer: Writer) -> Json:
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
        "nodes": [_node_json(step, writer, last=step is pattern) for step in steps],
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
    """The name of a node; a group, which has none, has that of its last pattern."""
    return pattern.get_name() if pattern._group is None else node_name(pattern._group)


def _node_json(step: Pattern, writer: Writer, last: bool) -> Json:
    where = f"pattern {step.get_name()!r}"
    until, condition = step.get_until_condition(), step.get_condition()
    quantifier = _quantifier(
        step.get_quantifier().described, None if until is None else writer.condition(until, f"until() of {where}")
    )
    if step._group is not None:
        node = {**_graph_json(step._group, writer), "quantifier": quantifier}
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
        node["window" if step._group is None else "stepWindow"] = window
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
    """The windows of a step; two windows become a list."""
    found = [
        {"type": kind.value, "time": time_of(millis)}
        for kind in (WithinType.FIRST_AND_LAST, WithinType.PREVIOUS_AND_CURRENT)
        if (millis := step.get_window_size(kind)) is not None
    ]
    return None if not found else found[0] if len(found) == 1 else found


def time_of(millis: int) -> Json:
    """A time in the largest unit in which its milliseconds are a whole number."""
    unit = next(unit for unit, size in UNITS.items() if millis % size == 0 and (millis or size == 1))
    return {"unit": unit, "size": millis // UNITS[unit]}


# Reading

_NODE = ("name", "type", "quantifier", "condition", "window")
_GRAPH = (
    "name", "type", "quantifier", "condition", "nodes", "edges", "window", "stepWindow", "afterMatchStrategy",
    "version",
)  # fmt: skip
_QUANTIFIER = ("consumingStrategy", "properties", "times", "untilCondition", "details")
_PROPERTIES = ("SINGLE", "LOOPING", "TIMES", "OPTIONAL", "GREEDY")
DEPTH = 32
"""Largest depth of nested groups."""


Begin = Callable[[Any, AfterMatchSkipStrategy], "Pattern"]
"""``Pattern.begin``: (a name, or the pattern of a group), the strategy after a match -> a pattern of one step"""


def pattern_of(given: Any, named: Named, begin: Begin) -> Pattern:
    """:raises MalformedPatternException: what is given describes no pattern."""
    if fields(given, "the pattern", _GRAPH).get("version", VERSION) != VERSION:
        raise MalformedPatternException(f"the form has the version {given['version']!r}; known is {VERSION}")
    return _pattern_of_graph(given, Reader(named), begin, DEPTH)


def _pattern_of_graph(graph: Json, reader: Reader, begin: Begin, depth: int) -> Pattern:
    where = f"pattern {graph.get('name')!r}"
    if depth == 0:
        raise MalformedPatternException(f"{where}: groups are nested more than {DEPTH} times")
    if graph.get("type", "COMPOSITE") != "COMPOSITE":
        raise MalformedPatternException(f"{where}: a pattern with nodes has the type COMPOSITE")
    if graph.get("condition") is not None:
        raise MalformedPatternException(f"{where}: a pattern with nodes has no condition of its own")
    strategy = _strategy(graph.get("afterMatchStrategy"), where)
    pattern: Pattern | None = None
    for node, contiguity in _in_order(graph, where):
        pattern = _step_of_node(node, pattern, contiguity, strategy, reader, begin, depth)
    assert pattern is not None
    _within(pattern, graph.get("window"), where)
    return pattern


def _in_order(graph: Json, where: str) -> list[tuple[Json, Contiguity]]:
    """The nodes from the first one on, each with the contiguity before it."""
    nodes: dict[str, Json] = {}
    for node in _list(graph, "nodes", where):
        name = node.get("name") if isinstance(node, dict) else None
        if not isinstance(name, str) or not name:
            raise MalformedPatternException(f"{where}: a node has no name")
        if name in nodes:
            raise MalformedPatternException(f"{where}: two nodes have the name {name!r}")
        nodes[name] = node
    onward: dict[str, tuple[str, Contiguity]] = {}
    for edge in _list(graph, "edges", where) if graph.get("edges") is not None else []:
        known = fields(edge, f"an edge of {where}", ("source", "target", "type"))
        source, target = str(known.get("source")), str(known.get("target"))
        for end in (source, target):
            if end not in nodes:
                raise MalformedPatternException(f"{where}: an edge has an end {end!r}, but there is no such node")
        if source in onward:
            raise MalformedPatternException(f"{where}: two edges begin at {source!r}")
        onward[source] = target, _one_of(Contiguity, edge.get("type"), f"the edge to {target!r}")
    begins = set(nodes) - {target for target, _ in onward.values()}
    if len(begins) != 1:
        raise MalformedPatternException(f"{where}: one node must come first, not {sorted(begins) or 'none'}")
    name, contiguity, found = begins.pop(), Contiguity.STRICT, []
    while True:
        found.append((nodes[name], contiguity))
        if name not in onward:
            break
        name, contiguity = onward[name]
    if len(found) != len(nodes):
        left = sorted(set(nodes) - {node["name"] for node, _ in found})
        raise MalformedPatternException(f"{where}: no edges lead to {', '.join(left)}")
    return found


def _step_of_node(
    node: Json,
    before: Pattern | None,
    contiguity: Contiguity,
    strategy: AfterMatchSkipStrategy,
    reader: Reader,
    begin: Begin,
    depth: int,
) -> Pattern:
    name = node["name"]
    where = f"pattern {name!r}"
    of_graph = "nodes" in node
    fields(node, where, _GRAPH if of_graph else _NODE)
    step: Any = _pattern_of_graph(node, reader, begin, depth - 1) if of_graph else name
    if not of_graph and node.get("type", "ATOMIC") != "ATOMIC":
        raise MalformedPatternException(f"{where}: a pattern without nodes has the type ATOMIC, not {node['type']!r}")
    pattern: Pattern
    if before is None:
        pattern = begin(step, strategy)
    elif contiguity.is_not:
        if of_graph:
            raise MalformedPatternException(f"{where}: a group can't be excluded ({contiguity.value})")
        pattern = before.not_next(name) if contiguity is Contiguity.NOT_NEXT else before.not_followed_by(name)
    else:
        methods: dict[Contiguity, Callable[[Any], Pattern]] = {
            Contiguity.STRICT: before.next,
            Contiguity.RELAXED: before.followed_by,
            Contiguity.RELAXED_ANY: before.followed_by_any,
        }
        pattern = methods[contiguity](step)
    condition = node.get("condition")
    if condition is not None and not of_graph:
        pattern.where(reader.condition(condition, f"where() of {where}"))
    _quantify(pattern, node.get("quantifier"), reader, where)
    _within(pattern, node.get("stepWindow" if of_graph else "window"), where)
    return pattern


def _quantify(pattern: Pattern, given: Any, reader: Reader, where: str) -> None:
    if given is None:
        return
    quantifier = fields(given, f"the quantifier of {where}", _QUANTIFIER)
    properties = quantifier.get("properties") or ["SINGLE"]
    unknown = [each for each in properties if each not in _PROPERTIES]
    if unknown:
        raise MalformedPatternException(f"{where}: unknown properties {unknown}; known are {', '.join(_PROPERTIES)}")
    kinds = [each for each in ("SINGLE", "LOOPING", "TIMES") if each in properties]
    if len(kinds) > 1:
        raise MalformedPatternException(f"{where}: a quantifier is one of SINGLE, LOOPING and TIMES, not {kinds}")
    kind = kinds[0] if kinds else "SINGLE"
    if kind != "SINGLE":
        _repeat(pattern, kind, quantifier.get("times"), where)
        inner = _one_of(Contiguity, quantifier.get("consumingStrategy", "SKIP_TILL_NEXT"), f"the quantifier of {where}")
        if inner.is_not:
            raise MalformedPatternException(f"{where}: {inner.value} does not stand between repetitions")
        if inner is Contiguity.STRICT:
            pattern.consecutive()
        elif inner is Contiguity.RELAXED_ANY:
            pattern.allow_combinations()
    if "OPTIONAL" in properties:
        pattern.optional()
    if "GREEDY" in properties:
        pattern.greedy()
    until = quantifier.get("untilCondition")
    if until is not None:
        pattern.until(reader.condition(until, f"until() of {where}"))


def _repeat(pattern: Pattern, kind: str, given: Any, where: str) -> None:
    times = fields(given or {"from": 1}, f"times of {where}", ("from", "to", "windowTime"))
    if kind == "TIMES" and given is None:
        raise MalformedPatternException(f"{where}: TIMES without times")
    window = None if times.get("windowTime") is None else Time(_millis(times["windowTime"], f"times of {where}"))
    try:
        least = times.get("from")
        if kind == "LOOPING":
            pattern.times_or_more(least, window)  # type: ignore[arg-type]
        else:
            pattern.times(least, times.get("to", least), window)  # type: ignore[arg-type]
    except TypeError as error:
        raise MalformedPatternException(str(error)) from None


def _within(pattern: Pattern, given: Any, where: str) -> None:
    for each in given if isinstance(given, list) else [] if given is None else [given]:
        window = fields(each, f"the window of {where}", ("type", "time"))
        kind = _one_of(WithinType, window.get("type", "FIRST_AND_LAST"), f"the window of {where}")
        pattern.within(Time(_millis(window.get("time"), f"the window of {where}")), kind)


def _strategy(given: Any, where: str) -> AfterMatchSkipStrategy:
    if given is None:
        return AfterMatchSkipStrategy.no_skip()
    of = f"afterMatchStrategy of {where}"
    found = fields(given, of, ("type", "patternName", "throwExceptionOnMiss"))
    kind = _one_of(SkipKind, found.get("type", "NO_SKIP"), of)
    name = found.get("patternName")
    if (kind in (SkipKind.SKIP_TO_FIRST, SkipKind.SKIP_TO_LAST)) != isinstance(name, str):
        raise MalformedPatternException(f"{of}: {kind.value} with the patternName {name!r}")
    return AfterMatchSkipStrategy(Skip(kind, name, bool(found.get("throwExceptionOnMiss", False))))


def _millis(given: Any, where: str) -> int:
    time = fields(given, f"the time in {where}", ("unit", "size"))
    unit, size = time.get("unit"), time.get("size")
    if unit not in UNITS:
        raise MalformedPatternException(f"{where}: the unit of a time is one of {', '.join(UNITS)}, not {unit!r}")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise MalformedPatternException(f"{where}: the size of a time is a whole number from 0 on, not {size!r}")
    return UNITS[unit] * size


def _list(graph: Json, name: str, where: str) -> list[Any]:
    found = graph.get(name)
    if not isinstance(found, list):
        raise MalformedPatternException(f"{where}: {name} must be a list, not {found!r}")
    return found


def _one_of(kind: Any, value: Any, where: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise MalformedPatternException(
            f"{where}: {value!r} is not known; one of {', '.join(each.value for each in kind)}"
        ) from None


def pattern_to_json(pattern: Pattern, conditions: Named | None = None, indent: int | None = None) -> str:
    """The pattern as text.

    :raises MalformedPatternException: a condition is a function that ``conditions`` gives no name to.
    """
    return json.dumps(graph_of(pattern, conditions or {}), indent=indent, ensure_ascii=False)


def pattern_from_json(given: str | Mapping[str, Any], conditions: Named | None, begin: Begin) -> Pattern:
    """The pattern that a text (or what it was parsed to) describes.

    :param begin: makes a pattern of its first step.
    :raises MalformedPatternException: it is no pattern; what is wrong has its place with it.
    """
    if isinstance(given, str):
        try:
            given = json.loads(given, parse_constant=_refuse, object_pairs_hook=_once)
        except RecursionError:
            raise MalformedPatternException("the text of the pattern is nested too deeply") from None
        except ValueError as error:
            raise MalformedPatternException(f"the text of the pattern is no JSON: {error}") from None
    return pattern_of(given, conditions or {}, begin)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object with two fields of one name."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {next(name for name in names if names.count(name) > 1)!r} comes twice")
    return found
