"""ML001: state of keys that nothing ever takes away."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from millrace.common.state.handles import StateDescriptor
from millrace.graph.nodes import Node
from millrace.lint.code.owners import functions_of
from millrace.lint.code.reach import Piece, pieces
from millrace.lint.facts.finding import Hit
from millrace.lint.facts.rule import Rule
from millrace.lint.facts.subject import Subject
from millrace.runtime.jobs import specs

_KEYED = (specs.KeyedProcess, specs.KeyedCoProcess, specs.KeyedBroadcastProcess)
_ENDS = frozenset({"clear", "remove", "pop", "enable_time_to_live"})
"""Names that say that state goes, whatever they are called on."""
_GETS = frozenset({"get_state", "get_list_state", "get_map_state", "get_reducing_state", "get_aggregating_state"})


def check(subject: Subject) -> Iterator[Hit]:
    for node in subject.graph.nodes if subject.streaming else ():
        if isinstance(node.spec, specs.Reduce) and subject.is_endless(node):
            yield Hit(node.origin, "this running result keeps a value for every key that has ever come")
        elif isinstance(node.spec, _KEYED) and subject.is_endless(node):
            yield from _of_functions(node)


def _of_functions(node: Node) -> Iterator[Hit]:
    for code in functions_of(node):
        found = list(pieces(code, code.all_methods()))
        if any(_is_taken_away(piece) for piece in found):
            continue
        if any(True for piece in found for _ in _states(piece)):
            yield Hit(node.origin, f"{code.described} keeps state for every key that has ever come")


def _is_taken_away(piece: Piece) -> bool:
    attributes = {each.attr for each in ast.walk(piece.tree) if isinstance(each, ast.Attribute)}
    return bool(attributes & _ENDS)


def _states(piece: Piece) -> Iterator[ast.Call]:
    """The calls that get a state which does not expire by its descriptor."""
    for call in ast.walk(piece.tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _GETS:
            known = piece.scope.value(call.args[0]) if call.args else None
            if not (isinstance(known, StateDescriptor) and known.get_ttl_config()):
                yield call


RULE = Rule(
    code="ML001",
    name="growing-state",
    meaning="State of a key stays until it is cleared. On a stream without end, whose keys are users, sessions or "
    "orders, it grows until memory or disk is full, and checkpoints with it.",
    cure="give the state a time to live (StateTtlConfig), clear it in a timer, or use a window",
    bad='''\
class Seen(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value, ctx):
        if self.seen.value() is None:
            self.seen.update(True)
            yield value


words.key_by(lambda word: word).process(Seen()).print()
env.execute()
''',
    good='''\
class Seen(KeyedProcessFunction):
    def open(self, runtime_context):
        seen = ValueStateDescriptor("seen", Types.BOOLEAN())
        seen.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.seen = runtime_context.get_state(seen)

    def process_element(self, value, ctx):
        if self.seen.value() is None:
            self.seen.update(True)
            yield value


words.key_by(lambda word: word).process(Seen()).print()
env.execute()
''',
    check=check,
)
