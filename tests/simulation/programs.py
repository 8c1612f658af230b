"""The programs that are simulated: each on the API, and once more in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.simulation import functions as f
from tests.simulation.numbered import IN_ORDER, STEP, NumberedSource, Record
from tests.simulation.sinks import LedgerSink, PartSink, PlainSink

from millrace.common import Time
from millrace.datastream import DataStream, EmbeddedRocksDBStateBackend, StreamExecutionEnvironment
from millrace.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from millrace.graph.serialize import serialize
from millrace.runtime.operators.job_graph import JobGraph

COUNT = 20
FEW = 5
SPLITS = 2
TUMBLING, SLIDE, GAP = 8 * STEP, 5 * STEP, 5 * STEP + 1
MAX_PARALLELISM = 8

Results = Counter[Hashable]


@dataclass(frozen=True)
class Program:
    """``build`` makes the job; ``expected`` is what its two-phase sinks must have seen at the end, ``plain`` what the
    others have seen at least once. ``seen``: how many records the accumulator must have counted."""

    name: str
    build: Callable[[StreamExecutionEnvironment], None]
    expected: Results
    seen: int
    plain: frozenset[Hashable] = frozenset()


@dataclass(frozen=True)
class Template:
    """A program as a job of some parallelism; jobs are made by giving it an id."""

    job: JobGraph
    payload: bytes


@cache
def template(name: str, parallelism: int, on_disk: bool) -> Template:
    env = StreamExecutionEnvironment()
    if on_disk:
        env.set_state_backend(EmbeddedRocksDBStateBackend())
    env.set_parallelism(parallelism)
    env.set_max_parallelism(MAX_PARALLELISM)
    PROGRAMS[name].build(env)
    job = env.job_graph()
    return Template(job, serialize(job.for_tasks()))


def many(env: StreamExecutionEnvironment, slowly: bool = False, named: bool = True, apart: bool = False) -> DataStream:
    source = NumberedSource("many", COUNT, SPLITS, slowly, named, apart)
    return env.from_source(source, IN_ORDER, "Many").uid("many")


def few(env: StreamExecutionEnvironment) -> DataStream:
    """A source that ends early."""
    return env.from_source(NumberedSource("few", FEW, 1), IN_ORDER, "Few").uid("few")


MANY = [Record("many", n) for n in range(COUNT)]
ALL = MANY + [Record("few", n) for n in range(FEW)]


def by_key(records: Iterable[Record]) -> dict[int, list[Record]]:
    groups: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        groups[f.key_of(record)].append(record)
    return groups


# -- keyed state and timers -------------------------------------------------------------------------------------------


def build_keeping(env: StreamExecutionEnvironment) -> None:
    records = many(env).union(few(env)).map(f.Shaky()).uid("shaky")
    records.key_by(f.key_of).process(f.Keeping()).uid("keeping").sink_to(LedgerSink()).uid("ledger")


def expect_keeping() -> Results:
    found: Results = Counter(("waited", *record) for record in ALL)
    for key, records in by_key(ALL).items():
        found.update(("nth", key, n + 1) for n in range(len(records)))
        found["total", key, len(records)] += 1
        buckets: Counter[int] = Counter()
        for record in records:
            buckets[f.bucket_of(record.number * STEP)] += record.number
        found.update(("bucket", key, end, total) for end, total in buckets.items())
    return found


# -- timers that go on by themselves ----------------------------------------------------------------------------------


def build_ticking(env: StreamExecutionEnvironment) -> None:
    ticks = many(env).map(f.Shaky()).uid("shaky").key_by(f.key_of).process(f.Ticking()).uid("ticking")
    ticks.sink_to(LedgerSink()).uid("ledger")
    ticks.map(tagged_tick).sink_to(PartSink()).uid("parts")


def tagged_tick(tick: tuple[Any, ...]) -> Any:
    return ("part", *tick)


def expect_ticking() -> Results:
    ticks = [("tick", key, number) for key in by_key(MANY) for number in range(1, f.TICKS + 1)]
    return Counter([*ticks, *map(tagged_tick, ticks)])


# -- windows ----------------------------------------------------------------------------------------------------------


def build_windows(env: StreamExecutionEnvironment) -> None:
    records = many(env).map(f.Shaky()).uid("shaky").union(few(env))
    keyed = records.key_by(f.key_of)
    tumbling = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(TUMBLING)))
    sliding = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(2 * SLIDE), Time.milliseconds(SLIDE)))
    sessions = records.key_by(session_key).window(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP)))
    results = [
        tumbling.aggregate(f.CountAndSum(), f.Named("tumbling")).uid("tumbling"),
        sliding.aggregate(f.CountAndSum(), f.Named("sliding")).uid("sliding"),
        sessions.aggregate(f.CountAndSum(), f.Named("session")).uid("sessions"),
    ]
    results[0].union(*results[1:]).sink_to(LedgerSink()).uid("ledger")
    results[0].sink_to(PlainSink()).uid("plain")


def session_key(record: Record) -> int:
    """Neighbours now and then: some gaps between records of a key end a session, some don't."""
    return record.number * record.number % 7


def window(name: str, key: int, start: int, end: int, records: list[Record]) -> Hashable:
    return (name, key, start, end, len(records), sum(record.number for record in records))


def tumbling_and_sliding(name: str, size: int, slide: int) -> Iterable[Hashable]:
    for key, records in by_key(ALL).items():
        for start in range(-size + slide, COUNT * STEP, slide):
            inside = [record for record in records if start <= record.number * STEP < start + size]
            if inside:
                yield window(name, key, start, start + size, inside)


def sessions() -> Iterable[Hashable]:
    groups: dict[int, list[Record]] = defaultdict(list)
    for record in sorted(ALL, key=lambda record: record.number):
        groups[session_key(record)].append(record)
    for key, records in groups.items():
        session = records[:1]
        for record in [*records[1:], None]:
            if record is None or (record.number - session[-1].number) * STEP >= GAP:
                yield window("session", key, session[0].number * STEP, session[-1].number * STEP + GAP, session)
                session = []
            if record is not None:
                session.append(record)


# -- broadcast state, a sink whose writers have state -----------------------------------------------------------------


def build_rules(env: StreamExecutionEnvironment) -> None:
    records = many(env).map(f.Shaky()).uid("shaky")
    ruled = records.key_by(f.key_of).connect(few(env).broadcast(f.RULES)).process(f.Ruled()).uid("ruled")
    ruled.union(records.rebalance()).sink_to(PartSink()).uid("parts")


def expect_rules() -> Results:
    found: Results = Counter(MANY)
    found.update(("rules", key, FEW, sum(range(FEW))) for key in by_key(MANY))
    return found


# -- operator state ---------------------------------------------------------------------------------------------------


def build_operators(env: StreamExecutionEnvironment) -> None:
    records = many(env, apart=True)
    numbered = records.map(f.Numbering(SPLITS)).uid("numbering")
    records = records.map(f.Shaky()).uid("shaky")
    buffered = records.key_by(f.key_of).process(f.Buffering()).uid("buffering")
    numbered.union(buffered).sink_to(LedgerSink()).uid("ledger")


def expect_operators() -> Results:
    found: Results = Counter(("buffered", *record) for record in MANY)
    found.update(("numbered", n % SPLITS, n // SPLITS + 1) for n in range(COUNT))
    return found


# -- a loop -----------------------------------------------------------------------------------------------------------


def build_loop(env: StreamExecutionEnvironment) -> None:
    loop = few(env).map(rounds).iterate()
    passes = loop.map(f.Shaky()).uid("shaky")
    loop.close_with(passes.map(one_less).filter(is_left))
    counted = passes.key_by(number_of).process(f.CountPasses()).uid("passes")
    passes.union(counted).sink_to(LedgerSink()).uid("ledger")


def rounds(record: Record) -> tuple[int, int]:
    return (record.number, record.number % 4 + 1)


def one_less(pair: tuple[int, int]) -> tuple[int, int]:
    return (pair[0], pair[1] - 1)


def is_left(pair: tuple[int, int]) -> bool:
    return pair[1] > 0


def number_of(pair: tuple[int, int]) -> int:
    return pair[0]


def expect_loop() -> Results:
    passes = [(n, left) for n in range(FEW) for left in range(1, n % 4 + 2)]
    found: Results = Counter(passes)
    found.update(("passes", n, n % 4 + 1) for n in range(FEW))
    return found


# -- sinks only, splits that are found slowly -------------------------------------------------------------------------


def build_slow(env: StreamExecutionEnvironment) -> None:
    records = many(env, slowly=True, named=False).map(f.Shaky()).uid("shaky").rebalance()
    records.sink_to(LedgerSink()).uid("ledger")
    records.map(tagged).sink_to(PartSink()).uid("parts")
    records.sink_to(PlainSink()).uid("plain")


def tagged(record: Record) -> Any:
    return ("part", *record)


def expect_slow() -> Results:
    return Counter([*MANY, *map(tagged, MANY)])


PROGRAMS = {
    program.name: program
    for program in (
        Program("keeping", build_keeping, expect_keeping(), COUNT + FEW),
        Program("ticking", build_ticking, expect_ticking(), COUNT),
        Program(
            "windows",
            build_windows,
            Counter(
                [
                    *tumbling_and_sliding("tumbling", TUMBLING, TUMBLING),
                    *tumbling_and_sliding("sliding", 2 * SLIDE, SLIDE),
                    *sessions(),
                ]
            ),
            COUNT,
            frozenset(tumbling_and_sliding("tumbling", TUMBLING, TUMBLING)),
        ),
        Program("rules", build_rules, expect_rules(), COUNT),
        Program("operators", build_operators, expect_operators(), COUNT),
        Program("loop", build_loop, expect_loop(), sum(n % 4 + 1 for n in range(FEW))),
        Program("slow", build_slow, expect_slow(), COUNT, frozenset(MANY)),
    )
}
