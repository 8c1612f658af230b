"""Where a rule could be mistaken: what it must find, and what it must leave."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lint.linting import found_in, written

from millrace.lint.facts import HEAD

KEYED = """\
DESCRIPTOR = ValueStateDescriptor("state", Types.LONG())
LIMITED = ValueStateDescriptor("limited", Types.LONG())
LIMITED.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
class F(KeyedProcessFunction):
    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("state", Types.LONG())
        {open}
    def process_element(self, value, ctx):
        {body}
        yield value
{stream}.key_by(lambda word: word).process(F()).print()
env.execute()
"""
STATE = "self.state = runtime_context.get_state(descriptor)"


def codes(folder: Path, text: str) -> list[str]:
    return [each["code"] for each in found_in(written(folder, HEAD + text), "-p", "2")]


@pytest.mark.parametrize(
    ("open", "body", "stream", "wanted"),
    [
        (STATE, "self.state.update(1)", "words", ["ML001"]),
        ("self.state = runtime_context.get_state(DESCRIPTOR)", "pass", "words", ["ML001"]),
        ("self.state = runtime_context.get_map_state(descriptor)", "self.state.remove(1)", "words", []),
        (STATE, "self.state.clear()", "words", []),
        (STATE, "self.forget()\n        yield 1\n    def forget(self):\n        self.state.clear()", "words", []),
        (STATE, "pass", "env.from_collection(['a'])", []),
        (STATE, "pass", "env.from_source(source, WatermarkStrategy.no_watermarks(), 'made up')", []),
        ("self.state = runtime_context.get_state(LIMITED)", "pass", "words", []),
        ("self.counter = runtime_context.get_metrics_group().counter('c')", "self.counter.inc()", "words", []),
        ("self.n = 0", "self.n = self.n + 1", "words", []),
        ("self.n = 0", "self.n += 1", "words", ["ML013"]),
    ],
)
def test_state(tmp_path: Path, open: str, body: str, stream: str, wanted: list[str]) -> None:
    text = KEYED.format(open=open, body=body, stream=stream)
    if "source" in stream:
        text = "from millrace.connectors.generated_sources import DataGeneratorSource\n" \
               "source = DataGeneratorSource(lambda number: number, 10**12)\n" + text  # fmt: skip
    assert codes(tmp_path, text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # Watermarks may come from a strategy further up, or from the source itself.
        ("words.assign_timestamps_and_watermarks(STRATEGY).map(len).key_by(abs).window(MINUTE).reduce(max).print()",
         []),
        ("words.key_by(len).window(MINUTE).reduce(max).print()", ["ML004"]),
        ("env.from_collection([1]).key_by(abs).window(MINUTE).reduce(max).print()", ["ML004"]),
        ("words.union(words.assign_timestamps_and_watermarks(STRATEGY)).key_by(len).window(MINUTE).reduce(max).print()",
         ["ML004"]),
        ("words.key_by(len).window(BY_CLOCK).reduce(max).print()", []),
        # One subtask each, or one at the end.
        ("words.rebalance().map(str.lower).print()", []),
        ("words.rebalance().map(str.lower).set_parallelism(1).print().set_parallelism(1)", ["ML008"]),
        ("words.rebalance().map(str.lower).map(str.strip).set_parallelism(1).map(str.upper).print()", ["ML008"]),
        ("words.rebalance().map(str.lower).map(str.strip).set_parallelism(4).map(str.upper).print()", []),
        ("words.rebalance().map(str.lower).print().set_parallelism(1)", []),
        # Keys are no values.
        ("words.key_by(lambda word: hash(word)).window(BY_CLOCK).reduce(max).print()", ["ML003"]),
        ("words.map(lambda word: (random.random(), word)).print()", []),
        ("env.from_collection([1]).key_by(lambda value: value).reduce(max).print()", []),
        # Without checkpoints nothing keeps state by a uid.
        ("env.enable_checkpointing(99)\nwords.uid('w').key_by(len).window(BY_CLOCK).reduce(max).print()", ["ML007"]),
        ("env.enable_checkpointing(99)\nwords.uid('words').map(str.lower).print()", []),
    ],
)  # fmt: skip
def test_streams(tmp_path: Path, text: str, wanted: list[str]) -> None:
    head = (
        "STRATEGY = WatermarkStrategy.for_monotonous_timestamps()\n"
        "MINUTE = TumblingEventTimeWindows.of(Time.minutes(1))\n"
        "BY_CLOCK = TumblingProcessingTimeWindows.of(Time.minutes(1))\n"
    )
    assert codes(tmp_path, f"{head}{text}\nenv.execute()\n") == wanted


TABLES = """\
t_env = StreamTableEnvironment.create(env)
t_env.create_temporary_view("words", words)
t_env.execute_sql("CREATE TABLE ends (word STRING) WITH ('connector' = 'filesystem', 'path' = '/in', 'format' = 'raw')")
t_env.execute_sql("CREATE TABLE made (word STRING) WITH ('connector' = 'datagen')")
t_env.execute_sql("CREATE TABLE out (word STRING) WITH ('connector' = 'print')")
t_env.execute_sql("INSERT INTO out {query}")
"""


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT DISTINCT f0 FROM words", ["ML002"]),
        ("SELECT w.f0 FROM words AS w JOIN words AS v ON w.f0 = v.f0", ["ML002"]),
        ("SELECT w.f0 FROM words AS w JOIN ends ON w.f0 = ends.word", ["ML002"]),
        ("SELECT /*+ STATE_TTL('w' = '1 d', 'v' = '1 d') */ w.f0 FROM words AS w JOIN words AS v ON w.f0 = v.f0", []),
        ("SELECT f0 FROM words WHERE f0 > 'a'", []),
        ("SELECT word FROM ends GROUP BY word", []),
        ("SELECT word FROM made GROUP BY word", []),
        ("SELECT CAST(COUNT(*) AS STRING) FROM words", []),
    ],
)
def test_tables(tmp_path: Path, query: str, wanted: list[str]) -> None:
    assert codes(tmp_path, TABLES.format(query=query)) == wanted
