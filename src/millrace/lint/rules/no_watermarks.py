"""ML004: windows, joins, patterns and timers that wait for watermarks that never come."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from millrace.graph.nodes import Node
from millrace.lint.code.owners import functions_of
from millrace.lint.code.reach import pieces
from millrace.lint.facts.finding import Hit, place_of
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.lint.facts.times import sources_without_time
from millrace.runtime.jobs import specs

_TIMER = "register_event_time_timer"


def check(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes if subject.streaming else ():
        for origin, what in _waiting(subject, node):
            source = next(sources_without_time(subject, node), None)
            if source is not None:
                file, line = place_of(source.origin)
                yield Hit(origin, f"{what} for watermarks, and {source.name!r} ({file}:{line}) has none")


def _waiting(subject: Subject, node: Node) -> Iterator[tuple[str, str]]:
    """(file:line, what waits there)."""
    match node.spec:
        case specs.Window(strategy=strategy) if strategy.is_event_time:
            yield node.origin, f"{type(strategy.assigner).__name__} wait"
        case specs.IntervalJoin():
            yield node.origin, "the interval join waits"
        case specs.MatchPattern(event_time=True) | specs.MatchPatterns(event_time=True):
            yield node.origin, "the pattern goes by event time and waits"
        case specs.Process() | specs.KeyedProcess() | specs.KeyedCoProcess() | specs.KeyedBroadcastProcess():
            # At the end of an input timers fire, which some want.
            yield from _timers(node) if subject.is_endless(node) else ()


def _timers(node: Node) -> Iterator[tuple[str, str]]:
    for code in functions_of(node):
        for piece in pieces(code):
            for call in ast.walk(piece.tree):
                if isinstance(call, ast.Attribute) and call.attr == _TIMER:
                    yield piece.origin(call), "the timer waits"


RULE = Rule(
    code="ML004",
    name="no-watermarks",
    meaning="Event time moves with watermarks only. Where a source has no WatermarkStrategy, elements have no "
    "timestamps, windows never close and timers never fire: nothing comes out, or all of it at the end of the "
    "input.",
    cure="call assign_timestamps_and_watermarks() before, give from_source() a strategy, or use processing time",
    bad='''\
counted = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
counted.window(TumblingEventTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
''',
    good='''\
class At(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return int(value.split(",")[0])


strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).with_timestamp_assigner(At())
counted = words.assign_timestamps_and_watermarks(strategy).map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
counted.window(TumblingEventTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
''',
    check=check,
)
