"""Mistakes in functions, which show when the job runs."""

from __future__ import annotations

from tests.front_door.mistakes.mistake import program

TITLE = "Functions of streams"

COUNTING = """\
class Counting(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor('count', Types.INT()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()

"""

MISTAKES = (
    program(
        "A function that raises",
        "env.from_collection([2, 0]).map(lambda x: 1 / x).print()  # <-\nenv.execute()\n",
        ("element: 0", "ZeroDivisionError"),
        "",
        "",
    ),
    program(
        "A key that an element does not have",
        "words = env.from_collection([{'word': 'a'}, {'text': 'b'}])\n"
        "words.key_by(lambda each: each['word']).reduce(lambda a, b: a).print()  # <-\nenv.execute()\n",
        ("key_by()", "KeyError: 'word'", "{'text': 'b'}"),
        "",
        "",
    ),
    program(
        "A list as a key",
        "env.from_collection([(1, 2)]).key_by(lambda pair: list(pair)).reduce(lambda a, b: a).print()  # <-\nenv.execute()\n",
        ("list", "tuple"),
        "",
        "",
    ),
    program(
        "A result of another type than declared",
        "env.from_collection([1]).map(lambda x: str(x), Types.INT()).print()  # <-\nenv.execute()\n",
        ("Integer", "str '1'"),
        "",
        "",
    ),
    program(
        "A function of the wrong number of arguments",
        "env.from_collection([(1, 2)]).map(lambda a, b: a + b).print()  # <-\nenv.execute()\n",
        ("one argument",),
        "",
        "",
    ),
    program(
        "flat_map() of a function that returns no list",
        "env.from_collection([1]).flat_map(lambda x: x).print()  # <-\nenv.execute()\n",
        ("iterable",),
        "",
        "",
    ),
    program(
        "map() of a generator",
        "def twice(value):\n    yield value\n    yield value\n\n"
        "env.from_collection([1]).map(twice).print()  # <-\nenv.execute()\n",
        ("flat_map()",),
        "",
        "",
    ),
    program(
        "sum() over texts without a declared type",
        "env.from_collection([('a', 'b'), ('a', 3)]).key_by(lambda x: x[0]).sum(1).print()  # <-\nenv.execute()\n",
        ("sum",),
        "",
        "",
    ),
    program(
        "sum() of a field that is not there",
        "env.from_collection([('a', 1), ('a', 2)], Types.TUPLE([Types.STRING(), Types.INT()])).key_by(lambda x: x[0]).sum(2).print()  # <-\nenv.execute()\n",
        ("2",),
        "",
        "",
    ),
    program(
        "Keyed state on a stream that has no keys",
        "class Remember(MapFunction):\n"
        "    def open(self, runtime_context):\n"
        "        self.seen = runtime_context.get_state(ValueStateDescriptor('seen', Types.INT()))\n\n"
        "    def map(self, value):\n        return value\n\n"
        "env.from_collection([1]).map(Remember()).print()  # <-\nenv.execute()\n",
        ("'seen'", "key_by()"),
        "",
        "",
    ),
    program(
        "Keyed state used in open()",
        COUNTING.replace("Types.INT()))", "Types.INT()))\n        self.count.update(0)")
        + "env.from_collection([1]).key_by(abs).process(Counting()).print()  # <-\nenv.execute()\n",
        ("open()", "key"),
        "",
        "",
    ),
    program(
        "One name for two states",
        COUNTING.replace("Types.INT()))", "Types.INT()))\n        self.list = runtime_context.get_list_state(ListStateDescriptor('count', Types.INT()))")
        + "env.from_collection([1]).key_by(abs).process(Counting()).print()  # <-\nenv.execute()\n",
        ("'count'",),
        "",
        "",
    ),
    program(
        "Timers on a stream that has no keys",
        "class Wait(ProcessFunction):\n"
        "    def process_element(self, value, ctx):\n"
        "        ctx.timer_service().register_event_time_timer(1)\n\n"
        "env.from_collection([1]).process(Wait()).print()  # <-\nenv.execute()\n",
        ("keyed", "key_by()"),
        "",
        "",
    ),
    program(
        "A window of event time without timestamps",
        "pairs = env.from_collection([('a', 1)], Types.TUPLE([Types.STRING(), Types.INT()]))\n"
        "pairs.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(lambda a, b: a).print()  # <-\nenv.execute()\n",
        ("timestamp", "assign_timestamps_and_watermarks"),
        "",
        "",
    ),
    program(
        "A timestamp that is no number of milliseconds",
        "class At(TimestampAssigner):\n"
        "    def extract_timestamp(self, value, record_timestamp):\n"
        "        return value\n\n"
        "strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())\n"
        "times = env.from_collection([datetime.datetime(2024, 5, 6)])\n"
        "times.assign_timestamps_and_watermarks(strategy).print()  # <-\nenv.execute()\n",
        ("milliseconds", "datetime"),
        "",
        "",
    ),
    program(
        "A timer in the past of a datetime",
        COUNTING.replace("        yield", "        ctx.timer_service().register_event_time_timer(datetime.datetime(2024, 5, 6))\n        yield")
        + "env.from_collection([1]).key_by(abs).process(Counting()).print()  # <-\nenv.execute()\n",
        ("milliseconds", "datetime"),
        "",
        "",
    ),
    program(
        "A reduce() that returns None",
        "env.from_collection([('a', 1), ('a', 2), ('a', 3)]).key_by(lambda x: x[0]).reduce(lambda a, b: None).print()  # <-\nenv.execute()\n",
        ("reduce",),
        "",
        "",
    ),
    program(
        "An aggregate function that forgets its accumulator",
        "class Sum(AggregateFunction):\n"
        "    def create_accumulator(self):\n        return 0\n\n"
        "    def add(self, value, accumulator):\n        accumulator += value\n\n"
        "    def get_result(self, accumulator):\n        return accumulator\n\n"
        "    def merge(self, a, b):\n        return a + b\n\n"
        "numbers = env.from_collection([1, 2]).key_by(abs)\n"
        "numbers.key_by(lambda x: 0).window(TumblingProcessingTimeWindows.of(Time.seconds(5))).aggregate(Sum()).print()  # <-\nenv.execute()\n",
        ("add", "accumulator"),
        "",
        "",
    ),
)
