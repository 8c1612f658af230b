"""Mistakes in functions, which show when the job runs."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import program

TITLE = "Functions of streams"

COUNTING = """\
class Counting(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor('count', Types.INT())){more}

    def process_element(self, value, ctx):
        yield value{within}

env.from_collection([1]).key_by(abs).process(Counting()).print()  # <-
env.execute()
"""

MISTAKES = (
    program(
        "A function that raises",
        "env.from_collection([2, 0]).map(lambda x: 1 / x).print()  # <-\nenv.execute()\n",
        ("element: 0", "ZeroDivisionError", "operator 'Map'"),
        "The function fails for the element that is shown.",
        "Handle such elements, or filter them out before. `--verbose` shows the whole traceback.",
    ),
    program(
        "A key that an element does not have",
        "words = env.from_collection([{'word': 'a'}, {'text': 'b'}])\n"
        "words.key_by(lambda each: each['word']).reduce(lambda a, b: a).print()  # <-\nenv.execute()\n",
        ("key_by()", "KeyError: 'word'", "{'text': 'b'}"),
        "The key function fails for the element that is shown.",
        "Give such elements a key, or filter them out before `key_by()`.",
    ),
    program(
        "A set as a key",
        "env.from_collection([(1, 2)]).key_by(frozenset).reduce(lambda a, b: a).print()  # <-\nenv.execute()\n",
        ("frozenset", "tuple"),
        "Keys are hashed, alike in every process.",
        "Make a tuple of its elements in order: `key_by(lambda each: tuple(sorted(each)))`.",
    ),
    program(
        "A result of another type than declared",
        "env.from_collection([1]).map(lambda x: str(x), Types.INT()).print()  # <-\nenv.execute()\n",
        ("expected Integer, got str '1'",),
        "The function returned what `output_type` does not say.",
        "Declare the type that the function returns, or convert the result.",
    ),
    program(
        "A function of two arguments in map()",
        "env.from_collection([(1, 2)]).map(lambda a, b: a + b).print()  # <-\nenv.execute()\n",
        ("(1, 2)", "call their function with the element"),
        "A tuple is one element: it is not taken apart.",
        "Take it apart in the function: `lambda pair: pair[0] + pair[1]`.",
    ),
    program(
        "A function in flat_map() that returns no list",
        "env.from_collection([1]).flat_map(lambda x: x).print()  # <-\nenv.execute()\n",
        ("'int' object is not iterable", "yield"),
        "`flat_map()` sends on the elements of what the function returns.",
        "Return a list, or `yield` results, or use `map()`.",
    ),
    program(
        "Texts and numbers in one sum",
        "pairs = env.from_collection([('a', 'b'), ('a', 3)])\n"
        "pairs.key_by(lambda pair: pair[0]).sum(1).print()  # <-\nenv.execute()\n",
        ("('a', 3)", "TypeError"),
        "The elements of a key have values of different types at that position.",
        "Convert them before, and declare the type of the stream: then the first wrong element is an error.",
    ),
    program(
        "A field that a tuple does not have",
        "pairs = env.from_collection([('a', 1), ('a', 2)])\n"
        "pairs.key_by(lambda pair: pair[0]).sum(2).print()  # <-\nenv.execute()\n",
        ("('a', 2)", "IndexError"),
        "Positions count from 0.",
        "`sum(1)` is the second field.",
    ),
    program(
        "Keyed state on a stream without keys",
        "class Remember(MapFunction):\n"
        "    def open(self, runtime_context):\n"
        "        self.seen = runtime_context.get_state(ValueStateDescriptor('seen', Types.INT()))\n\n"
        "    def map(self, value):\n        return value\n\n"
        "env.from_collection([1]).map(Remember()).print()  # <-\nenv.execute()\n",
        ("'seen'", "key_by()"),
        "Each key has a state of its own, and this stream has no keys.",
        "Call `key_by()` before `map()`; for state of the subtask write a `CheckpointedFunction`.",
    ),
    program(
        "Keyed state used in open()",
        COUNTING.format(more="\n        self.count.update(0)", within=""),
        ("in open()", "no key"),
        "When a function is opened there is no element yet, so no key whose state it could be.",
        "Ask for the state object in `open()`, and read and write it when there is an element.",
    ),
    program(
        "One name for two states",
        COUNTING.format(
            more="\n        self.list = runtime_context.get_list_state(ListStateDescriptor('count', Types.INT()))",
            within="",
        ),
        ("state 'count' is a value state already",),
        "States of a function are told apart by their names.",
        "Give each state a name of its own.",
    ),
    program(
        "Timers on a stream without keys",
        "class Wait(ProcessFunction):\n"
        "    def process_element(self, value, ctx):\n"
        "        ctx.timer_service().register_event_time_timer(1)\n\n"
        "env.from_collection([1]).process(Wait()).print()  # <-\nenv.execute()\n",
        ("keyed stream", "key_by()"),
        "A timer belongs to a key.",
        "Call `key_by()` and write a `KeyedProcessFunction`.",
    ),
    program(
        "A timer at a datetime",
        COUNTING.format(
            more="",
            within="\n        ctx.timer_service().register_event_time_timer(datetime.datetime(2024, 5, 6))",
        ),
        ("milliseconds", "int(t.timestamp() * 1000)"),
        "Times are numbers of milliseconds since 1970.",
        "Convert it: `int(t.timestamp() * 1000)`.",
    ),
    program(
        "A window of event time without timestamps",
        "pairs = env.from_collection([('a', 1)]).key_by(lambda pair: pair[0])\n"
        "pairs.window(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(max).print()  # <-\nenv.execute()\n",
        ("has no timestamp", "assign_timestamps_and_watermarks"),
        "Nobody has said which time an element is of, nor how far time has come.",
        "Assign timestamps and watermarks to the stream, or use windows of processing time.",
    ),
    program(
        "A timestamp that is no number of milliseconds",
        "class At(TimestampAssigner):\n"
        "    def extract_timestamp(self, value, record_timestamp):\n"
        "        return value\n\n"
        "strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())\n"
        "times = env.from_collection([datetime.datetime(2024, 5, 6)])\n"
        "times.assign_timestamps_and_watermarks(strategy).print()  # <-\nenv.execute()\n",
        ("int (ms)", "datetime"),
        "Timestamps are numbers of milliseconds since 1970.",
        "Return `int(value.timestamp() * 1000)`.",
    ),
    program(
        "An aggregate function that returns no accumulator",
        "class Sum(AggregateFunction):\n"
        "    def create_accumulator(self):\n        return 0\n\n"
        "    def add(self, value, accumulator):\n        accumulator += value\n\n"
        "    def get_result(self, accumulator):\n        return accumulator\n\n"
        "    def merge(self, a, b):\n        return a + b\n\n"
        "windows = TumblingProcessingTimeWindows.of(Time.seconds(5))\n"
        "keyed = env.from_collection([1, 2]).key_by(lambda x: 0)\n"
        "keyed.window(windows).aggregate(Sum()).print()  # <-\nenv.execute()\n",
        ("in add", "NoneType"),
        "`add()` returns None, which the next element finds as the accumulator.",
        "End `add()` with `return accumulator`.",
    ),
)
