"""ML011: streams whose elements go nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.graph.cache import Cache
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    readers = subject.graph.outputs()
    for node in subject.graph.nodes:
        if not readers[node.id] and not node.is_sink and not isinstance(node.spec, Cache):
            yield Hit(node.origin, f"nothing reads what {node.name!r} gives")


RULE = Rule(
    code="ML011",
    name="lost-results",
    meaning="The operator runs and its results are dropped: a sink was forgotten, or the result of a method was "
    "(streams are not changed by their methods, which give new ones).",
    cure="end the stream with sink_to(), print() or execute_and_collect(); what a function writes itself belongs "
    "in a sink",
    bad='''\
shouted = words.map(str.upper)
words.print()
env.execute()
''',
    good='''\
shouted = words.map(str.upper)
shouted.print()
env.execute()
''',
    check=check,
)
