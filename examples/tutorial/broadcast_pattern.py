"""Broadcast state: which users did two things one after the other, by a pattern that may change while the job runs.

The state holds one pattern; a newer one takes its place. Within an epoch the broadcast side comes first, so both
patterns are known before the first action, and only Bob's match the second one. (In Flink it depends on which element
is faster: Alice may match as well.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from millrace.common import Types
from millrace.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import MapStateDescriptor, ValueStateDescriptor


class Action(NamedTuple):
    user: str
    what: str


class Pattern(NamedTuple):
    first: str
    then: str


ACTIONS = [Action("Alice", "login"), Action("Alice", "pay"), Action("Bob", "login"), Action("Bob", "buy")]
PATTERNS = [Pattern("login", "pay"), Pattern("login", "buy")]

CURRENT = MapStateDescriptor("patterns", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())


class Detect(KeyedBroadcastProcessFunction[str, Action, Pattern, tuple[str, tuple[str, ...]]]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.before = runtime_context.get_state(ValueStateDescriptor("before", Types.STRING()))

    def process_element(
        self, value: Action, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        pattern = ctx.get_broadcast_state(CURRENT).get(None)
        if pattern is not None and (self.before.value(), value.what) == pattern:
            yield ctx.get_current_key(), tuple(pattern)
        self.before.update(value.what)

    def process_broadcast_element(self, value: Pattern, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(CURRENT).put(None, value)


def build(env: StreamExecutionEnvironment, patterns: Sequence[Pattern] = PATTERNS) -> DataStream:
    actions = env.from_collection(ACTIONS).key_by(lambda action: action.user)
    # One subtask reads the patterns: from several, the newest one could arrive first.
    rules = env.from_collection(list(patterns)).set_parallelism(1).broadcast(CURRENT)
    return actions.connect(rules).process(Detect())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("broadcast pattern")


if __name__ == "__main__":
    main()
