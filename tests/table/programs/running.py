"""Programs as plans and as streams without Spark, and the rows that they must give."""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
from tests.seeds import seed_of
from tests.table.programs.program import Program
from tests.table.programs.tables import create_statements, divided

from millrace.datastream import StreamExecutionEnvironment
from millrace.relational import nodes as n
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.relational.values import to_arrow, to_python
from millrace.runtime.operators.job_graph import JobGraph
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.table.planner.plan import Changes, changes_of
from millrace.testing.local import LocalEngine

Row = tuple[Any, ...]
Change = tuple[int, Row]
Number = TypeVar("Number", float, Decimal)
MAX_PARALLELISM = 16
SECOND = 1_000
"""ms of processing time from one epoch to the next"""
SEED = seed_of("MILLRACE_TABLES_SEED")
"""what batches, readers, epochs and savepoints are drawn from"""


def draw_for(program: Program, number: int = 0) -> random.Random:
    """Draws for a run of a program; the output of a test that fails says how to repeat them."""
    print(f"repeat with MILLRACE_TABLES_SEED={SEED}")
    return random.Random(f"{SEED} {program.name} {number}")


@dataclass(frozen=True)
class Bound:
    """A program whose query has its plan."""

    program: Program
    environment: TableEnvironment
    plan: n.Rel

    @property
    def optimised(self) -> n.Rel:
        return optimise_streaming(self.plan, surroundings_of(self.environment._session))


def environment_of(program: Program, streaming: bool = True) -> TableEnvironment:
    """An environment with the program's tables, functions and settings."""
    settings = EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    environment = TableEnvironment.create(settings)
    environment.get_config().set_local_timezone("UTC")
    for key, value in program.settings.items():
        environment.get_config().set(key, value)
    for name, function in program.functions:
        environment.create_temporary_system_function(name, function)
    for statement in create_statements(program):
        environment.execute_sql(statement)
    return environment


def bound(program: Program, streaming: bool = True) -> Bound:
    environment = environment_of(program, streaming)
    return Bound(program, environment, environment.sql_query(program.sql)._plan)


def operators_of(made: Bound) -> list[str]:
    """The names of the operators of a streaming plan, in order."""
    streams = StreamExecutionEnvironment()
    add_to_program([made.optimised], streams._program, options_of(made.environment._session))
    return [node.name for node in streams._program.added() if node.name != "Collect"]


def job_of(made: Bound, draw: random.Random, parallelism: int) -> JobGraph:
    """A job that collects the result. Batches, readers and epochs are drawn."""
    streams = StreamExecutionEnvironment()
    streams.set_parallelism(parallelism).set_max_parallelism(MAX_PARALLELISM)
    plan = optimise_streaming(divided(made.plan, draw, made.program.paced), surroundings_of(made.environment._session))
    add_to_program([plan], streams._program, options_of(made.environment._session))
    return replace(streams.job_graph(), epoch_records=1 if made.program.paced else draw.randint(1, 4))


def streamed(
    made: Bound,
    draw: random.Random,
    parallelism: int,
    shown: Callable[[Sequence[Any]], Row] | None = None,
    finish: Callable[[], bool] | None = None,
    engine_of: Callable[..., LocalEngine] = LocalEngine,
) -> list[list[Change]]:
    """The changes of the result, for each epoch.

    :param shown: makes rows that can be counted; None: ``comparable``.
    :param finish: is asked between any two pieces whether the epoch is to end.
    :param engine_of: makes what runs the job, given that and a clock.
    """
    now = [0]
    more = {} if finish is None else {"finish": finish}
    engine = engine_of(job_of(made, draw, parallelism), lambda: now[0], **more)
    epochs = []
    for result in engine.epochs():
        now[0] += SECOND
        collected = [rows for part in result.collected for rows in pickle.loads(part)]
        epochs.append(changes_in(collected, made.plan.schema, shown))
    return epochs


def changes_in(
    collected: Iterable[Rows], schema: n.Schema, shown: Callable[[Sequence[Any]], Row] | None = None
) -> list[Change]:
    """(kind, row) of what a job collected."""
    found: list[Change] = []
    shown = shown or comparable
    for rows in collected:
        columns = [to_python(column, each.type) for column, each in zip(rows.columns, schema)]
        values = zip(*columns) if columns else [()] * len(rows)
        found += [(kind, shown(row)) for kind, row in zip(rows.kind_values().tolist(), values)]
    return found


def final_table(epochs: Sequence[Sequence[Change]], changes: Changes) -> Counter[Row]:
    """The table that a changelog adds up to.

    :raises AssertionError: a row is taken back that is not there, a change is of a kind that the plan does not
        announce, or an epoch leaves two rows under one key.
    """
    content: Counter[Row] = Counter()
    allowed = {
        INSERT,
        *([UPDATE_BEFORE, UPDATE_AFTER] if changes.updates else []),
        *([DELETE] if changes.deletes else []),
    }
    for epoch in epochs:
        for kind, row in epoch:
            assert kind in allowed, f"{row} comes with kind {kind}, the plan says {changes.text}"
            content[row] += 1 if kind in (INSERT, UPDATE_AFTER) else -1
            assert content[row] >= 0, f"{row} is taken back but is not there"
        content = +content
        for key in changes.keys:
            seen = Counter(tuple(row[at] for at in key) for row in content.elements())
            assert max(seen.values(), default=0) <= 1, f"two rows under one key {key}: {seen.most_common(1)}"
    return content


def as_one(epochs: Sequence[Sequence[Change]]) -> list[list[Change]]:
    """Epochs that ended in the middle of something, as one epoch: the old and the new row of an update may have gone to
    different tasks, and one of them waited, so that a key had two rows for a while. Sinks with a key sort that out."""
    return [[change for epoch in epochs for change in epoch]]


def announced(made: Bound) -> Changes:
    """What the plan says of its changelog. Where state expires no key is unique."""
    changes = changes_of(made.optimised)
    expires = "STATE_TTL" in made.program.sql or "table.exec.state.ttl" in made.program.settings
    return replace(changes, keys=frozenset()) if expires else changes


def expected(program: Program) -> list[Row]:
    """The rows that are right, from the declaration or from DuckDB."""
    if program.rows is not None:
        return [comparable(row) for row in program.rows]
    with duckdb.connect() as connection:
        for name, table in arrow_tables(program).items():
            connection.register(name, table)
        rows = connection.execute(program.duckdb or program.sql).fetchall()
    return [comparable(row) for row in rows]


def arrow_tables(program: Program) -> dict[str, pa.Table]:
    """What is in the program's tables at the end."""
    environment = environment_of(replace(program, functions=()))
    found = {}
    for source in program.tables:
        if source.lookup:
            continue
        (scan,) = n.find(environment.from_path(source.name)._plan, n.Scan)
        rows = scan.source.content()
        columns = [to_arrow([row[at] for row in rows], each.type) for at, each in enumerate(scan.columns)]
        found[source.name] = pa.table(dict(zip(scan.names, columns)))
    return found


def comparable(row: Sequence[Any]) -> Row:
    """A row that can be counted, and does not depend on which type of number an engine gives."""
    return tuple(map(_plain, row))


def exact(row: Sequence[Any]) -> Row:
    """The same for rows of our own, whose DECIMALs keep all their digits: two keys may differ in the last one."""
    return tuple(_plain(value, _as_it_is) for value in row)


def to_the_last_bit(row: Sequence[Any]) -> Row:
    """The same with all bits of DOUBLEs: rows of one table are never taken for equal by rounding."""
    return tuple(_plain(value, _as_it_is, _as_it_is) for value in row)


def _rounded(value: Decimal) -> Any:
    return None if math.isnan(value) else round(float(value), 6)


def _six_places(value: float) -> float:
    return round(value, 6)


def _as_it_is(value: Number) -> Number:
    return value


def _plain(
    value: Any, decimal: Callable[[Decimal], Any] = _rounded, double: Callable[[float], Any] = _six_places
) -> Any:
    if isinstance(value, Decimal):
        return decimal(value)
    if isinstance(value, float):
        return None if math.isnan(value) else double(value)
    if isinstance(value, dict):
        return frozenset((_plain(key, decimal, double), _plain(each, decimal, double)) for key, each in value.items())
    if isinstance(value, (list, tuple)) or (hasattr(value, "_values") and hasattr(value, "get_row_kind")):
        return tuple(_plain(each, decimal, double) for each in value)
    return value
