"""Whether one machine got slower: this tree against an earlier commit, in processor time of all processes, in turn;
and the most memory that all of them take for a job of 128 subtasks. ``executors`` is ``keyed`` on three executors of
one core each (``local-cluster``), in flow; ``changes`` are operators on rows that are taken back, ``intervals`` are
interval joins and ``over`` and ``over_in_production`` OVER windows, all without Spark.

Each side runs in a process of its own, on its own code and its own programs; pairs alternate, so that a machine whose
speed changes hits both. Prints the median ratio (this tree / the commit) of each work with the 95 % interval of the
median, and fails if a whole interval lies beyond the limit, or the geometric mean of the medians does.

    python -m benchmarks.against_commit --commit 5f28f77
    python -m benchmarks.against_commit --work wide --pairs 3
    python -m benchmarks.against_commit --commit 5f28f77 --work executors
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT, MEMORY_LIMIT = 1.03, 1.5
NEXMARK = ("q0", "q1", "q5", "q7", "q8", "q11", "q16", "q18")

# -- one side ---------------------------------------------------------------------------------------------------------


def keyed(session: Any, directory: str) -> None:
    from benchmarks.programs import CountAndSum, keyed_process
    from millrace.common.configuration import Configuration
    from millrace.datastream import StreamExecutionEnvironment

    configuration = Configuration()
    configuration.set_integer("millrace.epoch.max-records", 50_000)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, session)
    env.set_parallelism(2)
    stream = keyed_process(env, directory, CountAndSum())
    with stream.execute_and_collect() as results:
        assert sum(count for _, count, _ in results) == 1_000_000


def windows(session: Any, directory: str) -> None:
    from millrace.common import Duration, TimestampAssigner, WatermarkStrategy
    from millrace.common.time import Time
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.datastream.connectors.file_system import FileSource
    from millrace.datastream.formats.parquet import ParquetColumnarRowInputFormat
    from millrace.datastream.window import TumblingEventTimeWindows

    class ByValue(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return int(value[1])

    env = StreamExecutionEnvironment.get_execution_environment(None, session)
    env.set_parallelism(2)
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(None), directory).build()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1000))
    events = env.from_source(source, strategy.with_timestamp_assigner(ByValue()), "events")
    keyed_stream = events.map(lambda row: (row[0], row[1])).key_by(lambda row: row[0])
    counts = keyed_stream.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).reduce(
        lambda a, b: (a[0], a[1] + b[1])
    )
    with counts.execute_and_collect() as results:
        assert sum(1 for _ in results) > 0


def epochs(session: Any, directory: str) -> None:
    from benchmarks.epoch_latency import millrace_beats

    millrace_beats(session, 60)


def nexmark(session: Any, directory: str) -> None:
    from benchmarks.nexmark.__main__ import timed
    from benchmarks.nexmark.events import Settings
    from benchmarks.nexmark.session import environment

    tables = environment(Settings(events=300_000))
    for name in NEXMARK:
        timed(tables, name, 0)


def start(session: Any, directory: str) -> None:
    """Nothing: the time of this work is that of the whole process up to its first row."""


def wide(session: Any, directory: str) -> None:
    """As many subtasks as a large cluster would have."""
    from benchmarks.programs import RunningCountAndSum, keyed_process
    from millrace.common.configuration import Configuration
    from millrace.datastream import StreamExecutionEnvironment

    configuration = Configuration()
    configuration.set_integer("millrace.epoch.max-records", 4_000)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, session)
    env.set_parallelism(128)
    keyed_process(env, directory, RunningCountAndSum()).filter(lambda result: False).print()
    env.execute()


def executors(session: Any, directory: str) -> None:
    """Its records cross from one executor to another, and so do its epochs' orders and acknowledgements."""
    from benchmarks.programs import CountAndSum, keyed_process
    from millrace.common.configuration import Configuration
    from millrace.datastream import StreamExecutionEnvironment

    with tempfile.TemporaryDirectory(prefix="millrace-executors-") as state:
        settings = {
            "millrace.master": EXECUTORS,
            "millrace.state.directory": state,
            "millrace.epoch.execution": "flow",
            "spark.executor.memory": "700m",
            # All executors are there when the job begins: it would begin without flow else.
            "spark.cores.max": "3",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
        }
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings), session)
        env.set_parallelism(3)
        stream = keyed_process(env, directory, CountAndSum())
        with stream.execute_and_collect() as results:
            assert sum(count for _, count, _ in results) == 1_000_000


def changes(session: Any, directory: str) -> None:
    """Operators whose input takes rows back, by themselves: rows of ``CHANGING`` keys are replaced again and again."""
    from millrace.relational import types as t
    from millrace.relational.functions.aggregates.registry import aggregate_call
    from millrace.relational.nodes import Field
    from millrace.relational.rex import Call, Ref, SortKey
    from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
    from millrace.runtime.tables.base import TableConfig
    from millrace.runtime.tables.changelog import ChangelogNormalize
    from millrace.runtime.tables.joins.regular_join import RegularJoin
    from millrace.runtime.tables.ordering.rank import Rank

    kinds = (t.BigIntType(), t.BigIntType(), t.BigIntType())
    side = tuple(Field(f"f{place}", kind) for place, kind in enumerate(kinds))
    number = Ref(kinds[2], 2)
    same = Call(t.BooleanType(), "=", (Ref(kinds[1], 1), Ref(kinds[1], 4)))
    values = tuple(aggregate_call(name, (number,), distinct=name == "COUNT") for name in ("MIN", "MAX", "COUNT"))
    configs: list[tuple[TableConfig, int]] = [
        (RegularJoin(kind="LEFT", left=side, right=side, condition=same), 2),
        (RegularJoin(kind="INNER", left=side, right=side, condition=same, left_unique=(1,), right_unique=(1,)), 2),
        (GroupAggregate(keys=(0,), key_types=kinds[:1], calls=values, retracts=True), 1),
        (Rank(partition=(0,), order=(SortKey(number, descending=True),), types=kinds, last=3, retracts=True), 1),
        (ChangelogNormalize(keys=(1,), types=kinds), 1),
    ]

    for config, inputs in configs:
        replace_rows(config, inputs)


def replace_rows(config: Any, inputs: int = 1, **settings: Any) -> None:
    """Rows of ``CHANGING`` keys (BIGINT, BIGINT, BIGINT) come, and are replaced again and again."""
    import numpy as np
    import pyarrow as pa

    from millrace.relational.rows import INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch
    from millrace.testing import OperatorHarness

    def batch(keys: Any, version: Any, kind: int) -> Rows:
        columns = [pa.array(keys % (CHANGING // 10)), pa.array(keys), pa.array((keys * 7 + version) % 1_000)]
        return Rows(record_batch(columns, len(keys)), np.full(len(keys), kind, np.uint8) if kind else None)

    draw, versions = np.random.default_rng(1), np.zeros(CHANGING, np.int64)
    with OperatorHarness(config.operator, inputs=inputs, **settings) as found:
        for input in range(inputs):
            for start in range(0, CHANGING, 10_000):
                keys = np.arange(start, start + 10_000)
                found.process_elements([(batch(keys, 0, INSERT), None)], input)
        for _ in range(10):
            keys = draw.choice(CHANGING, 10_000, False)
            found.process_elements([(batch(keys, versions[keys], UPDATE_BEFORE), None)])
            versions[keys] += 1
            found.process_elements([(batch(keys, versions[keys], UPDATE_AFTER), None)])
            found.end_epoch()


def add_rows(config: Any, **settings: Any) -> None:
    """Rows of ``CHANGING`` keys (BIGINT, BIGINT, TIMESTAMP(3)) come, a second an epoch."""
    import numpy as np
    import pyarrow as pa

    from millrace.relational.rows import Rows, record_batch
    from millrace.testing import OperatorHarness

    draw = np.random.default_rng(1)
    with OperatorHarness(config.operator, **settings) as found:
        for second in range(20):
            keys = draw.choice(CHANGING, 10_000, False)
            times = pa.array(np.sort(draw.integers(0, 1_000, len(keys))) * 1_000 + second * 1_000_000)
            columns = [pa.array(keys), pa.array(keys * 7 % 1_000), times.view(pa.timestamp("us"))]
            found.process_elements([(Rows(record_batch(columns, len(keys)), None), None)])
            found.process_watermark(second * 1_000 + 999)
            found.end_epoch()


def over(session: Any, directory: str) -> None:
    """OVER windows by themselves, in memory: a SUM of the last rows in the order of time."""
    add_rows(over_config())


def over_in_production(session: Any, directory: str) -> None:
    """The same with a time to live, in memory and on disk; and results that change, over replaced rows."""
    from millrace.datastream import EmbeddedRocksDBStateBackend
    from millrace.relational import types as t
    from millrace.relational.functions.aggregates.registry import aggregate_call
    from millrace.relational.nodes import Field
    from millrace.relational.rex import AggCall, Frame, Ref, SortKey
    from millrace.runtime.tables.over.updating_over import UpdatingOver

    kind = t.BigIntType()
    changing = UpdatingOver(
        input=tuple(Field(f"f{place}", kind) for place in range(3)),
        partition=(0,),
        order=(SortKey(Ref(kind, 2)),),
        calls=(
            (AggCall("ROW_NUMBER", (), kind), Frame(True, None)),
            (aggregate_call("SUM", [Ref(kind, 2)]), Frame(True, None)),
        ),
    )
    for settings in ({}, {"state_backend": EmbeddedRocksDBStateBackend()}):
        add_rows(over_config(state_ttl=86_400_000), **settings)
        replace_rows(changing, **settings)


def over_config(**more: Any) -> Any:
    from millrace.relational import types as t
    from millrace.relational.functions.aggregates.registry import aggregate_call
    from millrace.relational.nodes import Field
    from millrace.relational.rex import Frame, Ref, SortKey
    from millrace.runtime.tables.over.over import Over

    types = (t.BigIntType(), t.BigIntType(), t.TimestampType(3))
    return Over(
        input=tuple(Field(f"f{place}", each) for place, each in enumerate(types)),
        partition=(0,),
        order=(SortKey(Ref(types[2], 2)),),
        calls=((aggregate_call("SUM", [Ref(types[1], 1)]), Frame(True, 3)),),
        event_time=True,
        **more,
    )


def intervals(session: Any, directory: str) -> None:
    """Interval joins by themselves: each epoch both sides get rows of a second, and a watermark."""
    import numpy as np
    import pyarrow as pa

    from millrace.relational import types as t
    from millrace.relational.nodes import Field
    from millrace.relational.rex import Call, Ref
    from millrace.relational.rows import Rows, record_batch
    from millrace.runtime.tables.joins.interval_join import IntervalJoin
    from millrace.testing import OperatorHarness

    kinds = (t.BigIntType(), t.BigIntType(), t.TimestampType(3))
    side = tuple(Field(f"f{place}", kind) for place, kind in enumerate(kinds))
    same = Call(t.BooleanType(), "=", (Ref(kinds[0], 0), Ref(kinds[0], 3)))
    for kind in ("INNER", "LEFT", "FULL"):
        draw, size = np.random.default_rng(1), 10_000
        config = IntervalJoin(
            kind=kind, left=side, right=side, left_time=2, right_time=2, lower=-2_000, upper=2_000, condition=same
        )
        with OperatorHarness(config.operator, inputs=2) as found:
            for second in range(20):
                for input in range(2):
                    times = pa.array((second * 1_000 + np.sort(draw.integers(0, 1_000, size))) * 1_000)
                    keys = pa.array(draw.integers(0, 2 * CHANGING, size))
                    columns = [keys, pa.array(np.arange(size)), times.cast(pa.timestamp("us"))]
                    found.process_elements([(Rows(record_batch(columns, size), None), None)], input)
                for input in range(2):
                    found.process_watermark(second * 1_000, input)
                found.end_epoch()


def distinct_in_windows(session: Any, directory: str) -> None:
    """Windows with DISTINCT values by themselves: 50,000 visitors, of whom 2,000 come at a time, in six hours."""
    import numpy as np
    import pyarrow as pa

    from millrace.relational import types as t
    from millrace.relational.functions.aggregates.registry import aggregate_call
    from millrace.relational.nodes import WindowSpec
    from millrace.relational.rex import Ref
    from millrace.relational.rows import Rows, record_batch
    from millrace.runtime.tables.windows.window_config import WindowAggregate
    from millrace.testing import OperatorHarness

    kinds, minute = (t.BigIntType(), t.BigIntType(), t.TimestampType(3)), 60_000
    calls = (aggregate_call("COUNT", ()), aggregate_call("COUNT", (Ref(kinds[1], 1),), distinct=True))
    hour = 60 * minute
    for spec in (
        WindowSpec("TUMBLE", hour),
        WindowSpec("HOP", hour, hour // 6),
        WindowSpec("CUMULATE", 6 * hour, hour),
    ):
        draw, size, batches = np.random.default_rng(1), 2_000, 72
        config = WindowAggregate(window=spec, time=2, zoned=False, keys=(0,), key_types=kinds[:1], calls=calls)
        with OperatorHarness(config.operator) as found:
            for number in range(batches):
                begin = number * 6 * hour // batches
                times = pa.array((begin + np.sort(draw.integers(0, minute, size))) * 1_000)
                keys, visitors = draw.integers(0, 10, size), draw.integers(0, CHANGING, size)
                columns = [pa.array(keys), pa.array(visitors), times.cast(pa.timestamp("us"))]
                found.process_elements([(Rows(record_batch(columns, size)), None)])
                found.process_watermark(begin)
                found.end_epoch()


CHANGING = 50_000
EXECUTORS = "local-cluster[3,1,1024]"
WORKS = {
    "keyed": keyed,
    "windows": windows,
    "epochs": epochs,
    "nexmark": nexmark,
    "start": start,
    "wide": wide,
    "executors": executors,
    "changes": changes,
    "intervals": intervals,
    "over": over,
    "over_in_production": over_in_production,
    "distinct_in_windows": distinct_in_windows,
}
WITHOUT_SPARK = ("changes", "intervals", "over", "over_in_production", "distinct_in_windows")
ON_ONE_MACHINE = [name for name in WORKS if name != "executors"]


def run_side(work: str, directory: str) -> None:
    """Run a work once to warm up and once to measure; prints the processor seconds, for ``wide`` the megabytes."""
    from benchmarks.memory import PeakMemory
    from benchmarks.nexmark.cpu import cpu_seconds
    from millrace.spark.session import local_session

    if work == "start":
        from millrace.datastream import StreamExecutionEnvironment

        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        words = env.from_collection(["to be", "or not"]).flat_map(lambda line: line.split())
        with words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1).execute_and_collect() as found:
            assert len(list(found)) == 4
        print(json.dumps(cpu_seconds()), flush=True)
        return
    session = None if work in ("executors", *WITHOUT_SPARK) else local_session(2)
    if work == "wide":
        with PeakMemory() as memory:
            wide(session, directory)
        print(json.dumps(memory.peak_mb), flush=True)
        return
    WORKS[work](session, directory)
    began = cpu_seconds()
    WORKS[work](session, directory)
    print(json.dumps(cpu_seconds() - began), flush=True)


# -- both -------------------------------------------------------------------------------------------------------------


def measured(tree: str, work: str, directory: str) -> float:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.join(tree, "src"), tree])}
    command = [sys.executable, os.path.abspath(__file__), "--side", work, "--input", directory]
    done = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout.strip().splitlines()[-1]))


def interval(ratios: list[float]) -> tuple[float, float]:
    """The 95 % interval of the median, by the order of the values (of seven pairs: the smallest and the largest)."""
    ratios = sorted(ratios)
    count = len(ratios)
    below = max(0, int(count / 2 - 0.98 * count**0.5))
    return ratios[below], ratios[count - 1 - below]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="5f28f77")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--work", nargs="*", default=ON_ONE_MACHINE, choices=list(WORKS))
    parser.add_argument("--side", choices=list(WORKS), help=argparse.SUPPRESS)
    parser.add_argument("--input", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side is not None:
        run_side(given.side, given.input)
        return 0
    slower, medians = [], []
    with tempfile.TemporaryDirectory() as directory:
        before, files = os.path.join(directory, "before"), os.path.join(directory, "files")
        os.mkdir(before)
        archive = subprocess.run(["git", "archive", given.commit], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x"], cwd=before, input=archive.stdout, check=True)
        from benchmarks.events import write_events

        write_events(files, 1_000_000, 10_000, 10)
        for work in given.work:
            limit, unit = (MEMORY_LIMIT, "MB") if work == "wide" else (LIMIT, "s")
            ratios = []
            for pair in range(given.pairs):
                trees = [ROOT, before] if pair % 2 else [before, ROOT]
                taken = {tree: measured(tree, work, files) for tree in trees}
                ratios.append(taken[ROOT] / taken[before])
                print(f"{work} {pair + 1}: {taken[ROOT]:.2f} {unit}, before {taken[before]:.2f} {unit}", flush=True)
                time.sleep(0.5)
            low, high = interval(ratios)
            middle = statistics.median(ratios)
            print(f"{work}: {middle:.3f} of before, 95 % of medians between {low:.3f} and {high:.3f}")
            if work != "wide":
                medians.append(middle)
            if low > limit:
                slower.append(work)
    if len(medians) > 1:
        mean = statistics.geometric_mean(medians)
        print(f"processor time of all: {mean:.3f} of before (geometric mean of the medians)")
        if mean > LIMIT:
            slower.append("all together")
    if slower:
        print(f"beyond the limit ({LIMIT}, memory {MEMORY_LIMIT}): {', '.join(slower)}")
    return 1 if slower else 0


if __name__ == "__main__":
    raise SystemExit(main())
