"""ML005: functions that carry much data to every task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millrace.graph.serialize import held
from millrace.lint.code.owners import functions_of, selectors_of
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.util.by_value import pickled_by_value

LIMIT = 1_000_000
"""Bytes of a pickled function that are still in order."""


def check(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        for code in (*functions_of(node), *selectors_of(node)):
            size = _size(code.value)
            if size > LIMIT:
                what = f"{code.described} takes {size / 1e6:.1f} MB to every task"
                yield Hit(code.origin, f"{what}{_largest(code.value)}")


def _largest(value: Any) -> str:
    sizes = [(_size(part), f"{what} {name}") for what, name, part in held(value)]
    size, name = max(sizes, default=(0, ""))
    return f": {name} has {size / 1e6:.1f} MB" if size > LIMIT / 2 else ""


def _size(value: Any) -> int:
    """Bytes; 0 for what can't be pickled, which is an error of its own when the job is submitted."""
    try:
        return len(pickled_by_value(value))
    except Exception:
        return 0


RULE = Rule(
    code="ML005",
    name="large-closure",
    meaning="What a function refers to is pickled with it and sent to every task, once more with every restart. "
    "Megabytes of it make jobs slow to start, and each task has a copy in memory.",
    cure="load it in open() from a file that workers have (register_cached_file), or read it as a stream and "
    "broadcast it",
    bad='''\
LEXICON = {f"word {number}": number for number in range(200_000)}

words.map(lambda word: LEXICON.get(word, 0)).print()
env.execute()
''',
    good='''\
class Lookup(MapFunction):
    def open(self, runtime_context):
        self.lexicon = {f"word {number}": number for number in range(200_000)}

    def map(self, value):
        return self.lexicon.get(value, 0)


words.map(Lookup()).print()
env.execute()
''',
    check=check,
)
