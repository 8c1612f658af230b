"""ML010: windows over everything, in one subtask."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.runtime.jobs import specs


def check(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        if isinstance(node.spec, specs.Window) and node.non_parallel and subject.is_endless(node):
            width = max(subject.nodes[edge.source].parallelism or 1 for edge in node.edges)
            if width > 1:
                yield Hit(node.origin, f"all elements of {width} subtasks go to a single one for this window")


RULE = Rule(
    code="ML010",
    name="one-subtask",
    meaning="window_all() and count_window_all() bring all elements to one subtask, which no parallelism makes "
    "faster.",
    cure="fold in a keyed window before, or only there, so that few elements are left for window_all()",
    bad='''\
pairs = words.map(lambda word: (word, 1))
pairs.window_all(TumblingProcessingTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
''',
    good='''\
pairs = words.map(lambda word: (word, 1))
pairs.key_by(lambda pair: pair[0]).window(TumblingProcessingTimeWindows.of(Time.minutes(1))).sum(1).print()
env.execute()
''',
    check=check,
)
