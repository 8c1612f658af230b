"""Patterns that are exchanged while a job runs: each as if it were the only one, and what becomes of old versions."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.cep import (
    CEP,
    AfterMatchSkipStrategy,
    DynamicPatternStream,
    JDBCPeriodicPatternProcessorDiscoverer,
    Pattern,
    PatternProcessFunction,
    PatternProcessor,
    PeriodicPatternProcessorDiscoverer,
    TimedOutPartialMatchHandler,
)
from millrace.cep.pattern_stream import DiscoveringSource, all_patterns
from millrace.common.output_tag import OutputTag
from millrace.common.time import Duration, Time
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.runtime.failure import OperatorError
from millrace.runtime.state.restoring.saved import EarlierState
from millrace.testing import Element, OperatorHarness, Step, WatermarkStep, check_variants, run_locally
from millrace.testing.patterns import dynamic_pattern_harness, pattern_harness

REFUSED, TIMEOUTS = OutputTag("refused"), OutputTag("time-outs")
EVENT = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
MAX = 2**63 - 1
Event = tuple[str, str, int]
"""(key, name, time)"""


class Told(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Says of which pattern a match is."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def process_match(self, match: dict[str, list[Event]], ctx: Any) -> Iterator[str]:
        yield f"{self._prefix}{ctx.pattern_id()}.{ctx.pattern_version()} {text(match)}"

    def process_timed_out_match(self, match: dict[str, list[Event]], ctx: Any) -> None:
        ctx.output(TIMEOUTS, f"{ctx.pattern_id()}.{ctx.pattern_version()} {text(match)}")


def text(match: dict[str, list[Event]]) -> str:
    return " ".join(f"{event[1]}@{event[2]}" for events in match.values() for event in events)


def then(first: str, second: str, skip: AfterMatchSkipStrategy | None = None) -> Pattern:
    begin = Pattern.begin("first", skip).where(f"f1 = '{first}'")
    return begin.followed_by_any("second").where(f"f1 = '{second}'").within(Time(100))


def processor(id: str, version: int, *names: str, **settings: Any) -> PatternProcessor:
    return PatternProcessor(id, version, then(*names) if names else None, **settings)


def stream(**settings: Any) -> DynamicPatternStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    events = env.from_collection([("k", "a", 1)], EVENT)
    return CEP.dynamic_patterns(events, env.from_collection([1]), **settings)


def harness(of: DynamicPatternStream | None = None, functions: Any = None, **settings: Any) -> OperatorHarness:
    return dynamic_pattern_harness(of or stream(), functions or Told(), lambda event: event[0], **settings)


def events(given: str, start: int = 1) -> list[Step]:
    """Words like ``xa``: key and name; a millisecond each, with a watermark behind."""
    found: list[Step] = []
    for time, (key, name) in enumerate(given.split(), start):
        found += [Element((key, name, time), time), WatermarkStep(time)]
    return found


def message(*processors: Any) -> list[Step]:
    return [Element(each, input=1) for each in processors]


NEVER_WAITS = [WatermarkStep(MAX - 1, input=1)]


def test_several_patterns_at_once_find_what_each_finds_alone() -> None:
    given = events("xa ya xb xa yc xb yb xc xc ya")
    ab, ac = processor("ab", 1, "a", "b"), processor("ac", 3, "a", "c")
    alone = []
    for each in (ab, ac):
        function = Told()
        pattern = then(*each.get_id())
        with pattern_harness(_bound(pattern), function, lambda event: event[0]) as tested:
            for step in [*given, WatermarkStep(MAX)]:
                if isinstance(step, Element):
                    tested.process_element(step.value, step.timestamp)
                elif isinstance(step, WatermarkStep):
                    tested.process_watermark(step.timestamp)
            alone += [each.get_id() + value[len("None.None") :].replace(" ", f".{each.get_version()} ", 1)
                      for value in tested.values]  # fmt: skip
    assert len(alone) == 9
    script = [*NEVER_WAITS, *message(ab, ac), *given, WatermarkStep(MAX)]
    found = check_variants(harness, script, seed=3)
    assert sorted(found.values) == sorted(alone)


def _bound(pattern: Pattern) -> Any:
    """A pattern with its conditions over the events."""
    from millrace.cep.expressions import bound

    class _Bound:
        def describe(self) -> Any:
            return bound(pattern.describe(), EVENT)

    return _Bound()


def test_a_new_version_begins_anew() -> None:
    first, second = processor("p", 1, "a", "b"), processor("p", 2, "a", "c")
    script = [*NEVER_WAITS, *message(first), *events("xa xb xa"), *message(second), *events("xb xc xa xb xc", 4)]
    found = check_variants(harness, script, ["p.1 a@1 b@2", "p.2 a@6 c@8"])
    assert found.measured["metric numPartialMatchesDropped"].count == 2


def test_an_old_version_may_finish() -> None:
    first, second = processor("p", 1, "a", "b"), processor("p", 2, "a", "c")
    script = [*NEVER_WAITS, *message(first), *events("xa xb xa"), *message(second), *events("xb xc xa xb xc", 4)]
    wanted = ["p.1 a@1 b@2", "p.1 a@1 b@4", "p.1 a@3 b@4", "p.1 a@1 b@7", "p.1 a@3 b@7", "p.2 a@6 c@8"]
    late = [WatermarkStep(150), *events("xb", 151)]
    found = check_variants(
        lambda: harness(stream().finish_old_versions()),
        [*script, *late],
        wanted,
        sides={"time-outs": ["p.1 a@1", "p.1 a@3", "p.2 a@6"]},
    )
    assert found.measured["metric numPartialMatchesDropped"].count == 0


def test_finished_versions_are_forgotten() -> None:
    with harness(stream().finish_old_versions()) as tested:
        operator: Any = tested.operator
        run(tested, [*NEVER_WAITS, *message(processor("p", 1, "a", "b")), *events("xa ya")])
        run(tested, message(processor("p", 2, "a", "c")))
        assert tested.metrics()["numPatterns"].value == 2
        tested.end_epoch()
        assert [item[1] for item in tested.operator_state_of("ending-patterns")] == [1]
        run(tested, [WatermarkStep(200)])
        tested.end_epoch()
        assert tested.metrics()["numPatterns"].value == 1
        assert not any(table.rows for name, table in operator.backend._tables.items() if "version 1" in name)
        assert tested.operator_state_of("ending-patterns") == []


def run(tested: OperatorHarness, script: list[Step]) -> None:
    for step in script:
        if isinstance(step, Element):
            tested.process_element(step.value, step.timestamp, step.input)
        elif isinstance(step, WatermarkStep):
            tested.process_watermark(step.timestamp, step.input)


def test_a_pattern_ends_with_a_message_or_by_not_being_among_all() -> None:
    ab, ac = processor("ab", 1, "a", "b"), processor("ac", 1, "a", "c")
    script = [*NEVER_WAITS, *message(all_patterns(ab, ac)), *events("xa xb xc"), *message(all_patterns(ac))]
    script += [*events("xb xc", 4), *message(processor("ac", 1)), *events("xc xa xc", 6)]
    check_variants(harness, script, ["ab.1 a@1 b@2", "ac.1 a@1 c@3", "ac.1 a@1 c@5"])


def test_only_all_patterns_together_go_back_to_an_older_version() -> None:
    old, new = processor("p", 1, "a", "b"), processor("p", 2, "a", "c")
    script = [*NEVER_WAITS, *message(new, old), *events("xa xb xc"), *message(all_patterns(old)), *events("xa xb", 4)]
    found = check_variants(harness, script, ["p.2 a@1 c@3", "p.1 a@4 b@5"])
    assert found.measured["metric numPatternUpdatesIgnored"].count == 1


def test_the_same_again_changes_nothing() -> None:
    same = processor("p", 1, "a", "b")
    script = [*NEVER_WAITS, *message(same), *events("xa"), *message(same, all_patterns(same)), *events("xb", 2)]
    check_variants(harness, script, ["p.1 a@1 b@2"])


BROKEN: dict[str, tuple[Any, str]] = {
    "no json": ("{", "a message about patterns|JSON"),
    "fields": ({"id": "p"}, "'version' is missing"),
    "a version twice": (processor("known", 1, "a", "c"), "a change needs another version"),
    "a field": (PatternProcessor("p", 1, Pattern.begin("a").where("price > 3")), "price"),
    "chance": (PatternProcessor("p", 1, Pattern.begin("a").where("RAND() > 0.5")), r"RAND may be another value"),
    "the clock": (PatternProcessor("p", 1, Pattern.begin("a").where("NOW() > LOCALTIMESTAMP")), "may be another value"),
    "a condition": (
        PatternProcessor("p", 1, Pattern.begin("a").where(len), conditions={"no": len}),
        "no condition with the name 'no'",
    ),
    "a rule": (PatternProcessor("p", 1, Pattern.begin("a").not_followed_by("b")), "needs within"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_used_goes_to_a_side_output_and_the_rest_goes_on(name: str) -> None:
    given, reason = BROKEN[name]
    with harness(stream().side_output_refused_patterns(REFUSED)) as tested:
        known = processor("known", 1, "a", "b")
        run(tested, [*NEVER_WAITS, *message(known), *events("xa"), *message(given), *events("xb", 2)])
        assert tested.values == ["known.1 a@1 b@2"]
        (refused,) = tested.side_output(REFUSED)
    with harness() as tested:
        run(tested, message(known))
        with pytest.raises(OperatorError, match=reason):
            run(tested, message(given))
    import re

    assert re.search(reason, refused.value[2])


def test_functions_go_by_names() -> None:
    functions = {"loud": Told("!"), "quiet": Told("")}
    ab, ac = processor("ab", 1, "a", "b", function="loud"), processor("ac", 1, "a", "c", function="quiet")
    of = stream().side_output_refused_patterns(REFUSED)
    with harness(of, functions) as tested:
        run(tested, [*NEVER_WAITS, *message(ab, ac, processor("x", 1, "a", "b", function="no")), *events("xa xb xc")])
        assert tested.values == ["!ab.1 a@1 b@2", "ac.1 a@1 c@3"]
        assert "it has loud, quiet" in tested.side_output(REFUSED)[0].value[2]


def test_named_conditions_are_those_of_the_program() -> None:
    early = lambda event: event[2] < 3
    pattern = Pattern.begin("a").where(early)
    given = PatternProcessor("p", 1, pattern, conditions={"early": early})
    with harness(stream(conditions={"early": early})) as tested:
        run(tested, [*NEVER_WAITS, *message(given), *events("xa xa xa")])
        assert tested.values == ["p.1 a@1", "p.1 a@2"]


def test_all_subtasks_of_a_new_number_go_on_with_old_versions() -> None:
    """Only the first of two subtasks has matches to finish; after a rescale its keys are with another one."""
    of = stream().finish_old_versions()
    smalls, shared, pieces = [], {}, []
    for given in ("xa", "yc"):
        with harness(of) as tested:
            run(tested, [*NEVER_WAITS, *message(processor("p", 1, "a", "b")), *events(given)])
            run(tested, message(processor("p", 2, "a", "c")))
            tested.end_epoch()
            tested.operator.before_snapshot(1)
            pieces += list(tested.operator.keyed_state().full_pieces())
            smalls.append(tested.operator.snapshot())
            shared[given] = tested.operator.operator_state().full()
    together = {**shared["yc"], **{name: entry for name, entry in shared["xa"].items() if name == "ending-patterns"}}
    second = harness(of)
    second.operator.take_over(EarlierState((), together, tuple(smalls), 1))
    with second:
        second.operator.take_over_keyed(pieces)
        run(second, [*NEVER_WAITS, *events("xb", 5)])
        assert second.values == ["p.1 a@1 b@5"]


class Times(TimestampAssigner):
    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        return value[2]


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
@pytest.mark.parametrize("keyed", [True, False])
def test_a_whole_job(mode: RuntimeExecutionMode, keyed: bool) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.set_runtime_mode(mode)
    given: list[Event] = [("x", "a", 1), ("y", "a", 2), ("x", "b", 3), ("y", "b", 4)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Times())
    source = env.from_collection(given, EVENT).assign_timestamps_and_watermarks(strategy)
    patterns = env.from_collection([processor("ab", 1, "a", "b")])
    found = CEP.dynamic_patterns(source.key_by(lambda event: event[0]) if keyed else source, patterns)
    pairs = ["ab.1 a@1 b@3", "ab.1 a@2 b@4"]
    wanted = pairs if keyed else ["ab.1 a@1 b@3", "ab.1 a@1 b@4", "ab.1 a@2 b@3", "ab.1 a@2 b@4"]
    assert sorted(run_locally(found.process(Told(), Types.STRING())).collected) == wanted


class Heard:
    """A source context that keeps what it is given, until there is enough."""

    def __init__(self) -> None:
        self.found: list[Any] = []
        self._more = threading.Condition()

    def get_checkpoint_lock(self) -> threading.Lock:
        return threading.Lock()

    def collect(self, value: Any) -> None:
        with self._more:
            self.found.append({update.id: update.version for update in value.updates})
            self._more.notify()

    def wait(self, count: int) -> None:
        with self._more:
            assert self._more.wait_for(lambda: len(self.found) >= count, 60)


def test_a_table_of_a_database_is_watched(tmp_path: Path) -> None:
    path = tmp_path / "rules.db"
    with sqlite3.connect(path) as rules:
        rules.execute("CREATE TABLE rules (id TEXT, version INTEGER, pattern TEXT, function TEXT)")
        add = "INSERT INTO rules VALUES (?, ?, ?, NULL)"
        rules.execute(add, ("ab", 1, then("a", "b").to_json()))
    discoverer = JDBCPeriodicPatternProcessorDiscoverer(f"jdbc:sqlite:{path}", "rules", interval=Duration.of_millis(5))
    heard = watch(discoverer)
    heard.wait(1)
    with sqlite3.connect(path) as rules:
        rules.execute(add, ("ac", 2, then("a", "c").to_json()))
    heard.wait(2)
    with sqlite3.connect(path) as rules:
        rules.execute("DELETE FROM rules WHERE id = 'ab'")
    heard.wait(3)
    stop(heard)
    assert heard.found == [{"ab": 1}, {"ab": 1, "ac": 2}, {"ac": 2}]


def watch(discoverer: Any) -> Any:
    heard: Any = Heard()
    heard.source = DiscoveringSource(discoverer)
    heard.source.open(None)
    heard.failure = None

    def run() -> None:
        try:
            heard.source.run(heard)
        except Exception as error:
            heard.failure = error

    heard.thread = threading.Thread(target=run)
    heard.thread.start()
    return heard


def stop(heard: Any) -> None:
    heard.source.cancel()
    heard.thread.join(60)
    assert not heard.thread.is_alive()


def test_a_discoverer_may_fail_for_a_while() -> None:
    answers = iter([ValueError, ValueError, [processor("p", 1, "a", "b")], ValueError, ValueError, ValueError])

    def discover() -> Any:
        answer = next(answers)
        if answer is ValueError:
            raise ValueError("not now")
        return answer

    heard = watch(PeriodicPatternProcessorDiscoverer(discover, Duration.of_millis(1), failures=2))
    heard.thread.join(60)
    assert heard.found == [{"p": 1}]
    assert str(heard.failure) == "not now"
