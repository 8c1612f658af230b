"""ML013: keyed functions that count in attributes instead of state."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from millrace.common.functions import CheckpointedFunction
from millrace.lint.code.owners import functions_of
from millrace.lint.code.reach import Piece, pieces
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.runtime.jobs import specs

_KEYED = (specs.KeyedProcess, specs.KeyedCoProcess, specs.KeyedBroadcastProcess)


def check(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes:
        for code in functions_of(node) if isinstance(node.spec, _KEYED) else ():
            if not isinstance(code.value, CheckpointedFunction):
                for piece in pieces(code):
                    for place, name in _counted(piece):
                        what = f"{code.described} counts in self.{name}"
                        yield Hit(piece.origin(place), f"{what}, which all keys of a task share and a restart loses")


def _counted(piece: Piece) -> Iterator[tuple[ast.AST, str]]:
    for each in ast.walk(piece.tree):
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Attribute):
            if isinstance(each.target.value, ast.Name) and each.target.value.id == "self":
                yield each, each.target.attr


RULE = Rule(
    code="ML013",
    name="attribute-state",
    meaning="Attributes of a function belong to a task: all its keys share them, no checkpoint has them, and after a "
    "restart or with another parallelism they begin anew.",
    cure="use a ValueState from runtime_context.get_state(), or a metric if it is only to be shown",
    bad='''\
class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = 0

    def process_element(self, value, ctx):
        self.count += 1
        yield value, self.count


words.key_by(lambda word: word).process(Count()).print()
env.execute()
''',
    good='''\
class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        count = ValueStateDescriptor("count", Types.LONG())
        count.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.count = runtime_context.get_state(count)

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


words.key_by(lambda word: word).process(Count()).print()
env.execute()
''',
    check=check,
)
