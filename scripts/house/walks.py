"""Prints the files that a reader enters on the way of a small query, and on that of one element: a file counts when one
of its functions runs.

``python -m scripts.house.walks`` prints the counts by area, with ``--files`` the files as well. The query has been
explained once before, so that modules are loaded and registries are made. Its table has the connector datagen.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from scripts.house.tree import SOURCE

QUERY = "SELECT name, SUM(amount) FROM t WHERE x > 1 GROUP BY name"
T = TypeVar("T")


def entered(work: Callable[[], T]) -> tuple[T, Counter[str]]:
    """What ``work`` returns, and how many calls it makes into each file below ``src/millrace``, as paths from there."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            found[frame.f_code.co_filename] += 1

    sys.setprofile(note)
    try:
        value = work()
    finally:
        sys.setprofile(None)
    ours = {Path(file): count for file, count in found.items() if Path(file).is_relative_to(SOURCE)}
    return value, Counter({file.relative_to(SOURCE).as_posix(): count for file, count in ours.items()})


def walks() -> dict[str, Counter[str]]:
    """The ways that are looked at -> calls by file."""
    from millrace.table import EnvironmentSettings, TableEnvironment

    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql("CREATE TABLE t (name STRING, amount INT, x INT) WITH ('connector' = 'datagen')")
    environment.sql_query(QUERY).explain()
    table, bound = entered(lambda: environment.sql_query(QUERY))
    _, planned = entered(table.explain)
    return {
        "parse and bind": bound,
        "rules, plan and lowering (EXPLAIN)": planned,
        "one element in a later epoch": worked(),
    }


def worked() -> Counter[str]:
    """Calls by file of the tasks' side of a job's third epoch, in which one element is mapped and reduced."""
    from millrace.common.configuration import Configuration
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.testing.local import LocalEngine, job_of

    settings = Configuration.from_dict({"millrace.epoch.max-records": "1", "parallelism.default": "1"})
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    numbers = env.from_collection([1, 2, 3, 4, 5]).map(lambda number: (number % 1, number))
    engine = LocalEngine(job_of(numbers.key_by(lambda pair: pair[0]).reduce(lambda one, other: other)), lambda: 0)
    for _ in range(2):
        engine.run_epoch(engine.coordinator.plan())
    plan = engine.coordinator.plan()
    acks, files = entered(lambda: engine.run_tasks(plan))
    engine.coordinator.complete(plan, acks)
    return Counter({file: count for file, count in files.items() if not file.startswith("testing/")})


def area_of(file: str) -> str:
    """The part of the way that a file belongs to: SQL with its plans, planner and graph, or what surrounds these."""
    if file.startswith(("table/sql/", "relational/")):
        return "SQL, expressions and plans"
    if file.startswith(("table/planner/", "graph/", "runtime/")):
        return "planner, graph and operators"
    return "environment, catalog, settings and connector"


def main() -> None:
    for name, files in walks().items():
        areas = Counter(map(area_of, files))
        print(f"{len(files):>5}  {name}: {', '.join(f'{area} {count}' for area, count in sorted(areas.items()))}")
        if "--files" in sys.argv:
            print(*(f"       {count:>6}  {file}" for file, count in sorted(files.items())), sep="\n")


if __name__ == "__main__":
    main()
