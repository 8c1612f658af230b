"""ML014: a job for every turn of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from millrace.lint.code.trees import tree_of_file
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def check(subject: Subject) -> Iterator[Hit]:
    tree = tree_of_file(subject.program) if subject.program else None
    for loop in ast.walk(tree) if tree is not None else ():
        for statement in loop.body if isinstance(loop, _LOOPS) else ():
            for call in ast.walk(statement):
                if isinstance(call, ast.Call) and _collects(call):
                    line = call.end_lineno or call.lineno
                    yield Hit(f"{subject.program}:{line}", "every turn of the loop starts a job to collect its results")


def _collects(call: ast.Call) -> bool:
    """``stream.execute_and_collect()`` or ``table.execute().collect()``."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "execute_and_collect":
        return True
    inner = call.func.value
    executed = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "execute"
    return call.func.attr == "collect" and executed


RULE = Rule(
    code="ML014",
    name="job-in-loop",
    meaning="Collecting runs a job, with everything above it computed once more: a second or more for every turn.",
    cure="make one stream or table of all turns (union, a column that tells them apart) and collect once",
    bad='''\
for number in range(3):
    for word in words.filter(lambda word: len(word) == number).execute_and_collect():
        print(number, word)
''',
    good='''\
for word in words.map(lambda word: (len(word), word)).execute_and_collect():
    print(*word)
''',
    check=check,
)
