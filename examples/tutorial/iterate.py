"""Who belongs together: a loop (Flink's iterate, which PyFlink lacks) finds the groups of people that know each other.

Everybody tells their acquaintances the alphabetically first name that they have heard of. What they say goes back to
the head of the loop and is heard in the next round; when nobody has any news, the loop ends.
"""

from __future__ import annotations

from collections.abc import Iterator

from millrace.common import Types
from millrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor

ACQUAINTANCES = [("Mary", "Bob"), ("Cary", "Dave"), ("Bob", "Alice"), ("Eve", "Mary"), ("Frank", "Dave")]

Message = tuple[str, str, str]
"""("meets", person, acquaintance) or ("hears", person, name)"""

FIRST_NAMES = OutputTag("first names", Types.TUPLE([Types.STRING(), Types.STRING()]))


class Person(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.knows = runtime_context.get_list_state(ListStateDescriptor("knows", Types.STRING()))
        self.first = runtime_context.get_state(ValueStateDescriptor("first", Types.STRING()))

    def process_element(
        self, value: Message, ctx: KeyedProcessFunction.Context
    ) -> Iterator[Message | tuple[OutputTag, tuple[str, str]]]:
        kind, person, name = value
        first = self.first.value() or person
        if kind == "meets":
            self.knows.add(name)
            self.first.update(first)
            yield FIRST_NAMES, (person, first)
            yield "hears", name, first
        elif name < first:
            self.first.update(name)
            yield FIRST_NAMES, (person, name)
            for other in self.knows.get():
                yield "hears", other, name


def build(env: StreamExecutionEnvironment) -> DataStream:
    meetings = [("meets", *pair) for one, other in ACQUAINTANCES for pair in ((one, other), (other, one))]
    loop = env.from_collection(meetings).iterate()
    news = loop.key_by(lambda message: message[1]).process(Person())
    loop.close_with(news)
    return news.get_side_output(FIRST_NAMES).key_by(lambda found: found[0]).min(1)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)  # only the last word on everybody
    build(env).print()
    env.execute("who belongs together")


if __name__ == "__main__":
    main()
