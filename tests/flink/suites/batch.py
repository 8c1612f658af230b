"""Runs the programs and aggregates of Flink's tests in batch mode on Spark, over the rows that their changes leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.flink.asking import QUICK, batched, sorted_rows
from tests.flink.suites import aggregates
from tests.flink.suites.net import in_time, leave_a_table, names_of, net_rows
from tests.flink.suites.programs import ZONE, Program, Step, changes_of, difference, environment, key_of

from millrace.relational.nodes import Rel, Sink
from millrace.spark.tables.execute import batch_context, write_all
from millrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DUPLICATES = "table.exec.source.cdc-events-duplicate"
CHANGES = "TO_CHANGELOG and FROM_CHANGELOG are of streaming mode: batch mode has no changes"
NO_WATERMARK = "batch mode has no watermark, which the query asks for"
CLOCK = "windows and joins of processing time go by the clock"
SOME_WINDOWS = "a row is late for some of its windows: in batch mode none is"
WHICH = "which of several rows with a key stays follows from their order, which batch mode has none of"
NO_TABLE = "the changes of the source leave no table: a key comes twice"
HALVES = "the program stops between its halves"


def left_in_batch(program: Program) -> str:
    """Why a program has no meaning in batch mode; empty if it has one."""
    suite, name = program.key.split("/")
    text = " ".join(step.get("sql", step.get("written", "")) for step in program.run)
    if suite in ("FromChangelogTestPrograms", "ToChangelogTestPrograms"):
        return CHANGES
    if "CURRENT_WATERMARK" in text:
        return NO_WATERMARK
    if "proc-time" in name:
        return CLOCK
    if ("HOP(" in text or "CUMULATE(" in text or "-hop-" in name) and _late(program):
        return SOME_WINDOWS
    if "ON CONFLICT" in text.upper():
        return WHICH
    if suite == "ChangelogNormalizeSemanticTestPrograms" and name.startswith("retract-source"):
        return NO_TABLE
    return HALVES if program.first_half else ""


def _late(program: Program) -> bool:
    return any(rows_left(step) != rows_in_time(step) for step in program.sources)


def rows_left(step: Step, twice: bool = False) -> list[list[Any]]:
    """The rows that the changes of a source leave.

    :param twice: whether changes come twice, and rows are known by the primary key.
    """
    mode = step.get("options", {}).get("changelog-mode", "I").replace(" ", "").split(",")
    upserts = twice or ("UA" in mode and "UB" not in mode)
    key = [names_of(step["schema"]).index(each) for each in key_of(step)]
    return net_rows(changes_of(step), key if upserts else None)


def rows_in_time(step: Step) -> list[list[Any]]:
    """The same without those that come late."""
    return in_time(step["schema"], rows_left(step))


class Done:
    """What an INSERT gives that has been run."""

    def wait(self) -> None: ...


class OneSpark:
    """Runs what an environment is asked to in Spark's session of the tests, without one more thread."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def execute(self, plans: Sequence[Rel], session: Any, job_name: str | None = None) -> Any:
        sinks = [plan for plan in plans if isinstance(plan, Sink)]
        configuration = {**session.config.to_map(), **QUICK}
        write_all(sinks, batch_context(self._spark, session.zone, configuration, session.catalogs.current_database, 1))
        return Done()


def in_batch(program: Program, spark: SparkSession) -> str:
    """As ``difference``, of the rows that are in the sinks after a run in batch mode.

    A row that comes late may be left out in streaming mode, and may be in time for the window that it is in: of a
    program with such rows one of both is to be what Flink has.
    """
    twice = any(step.get("key") == DUPLICATES for step in program.setup)
    told = difference(program, partial(_environment, program, partial(rows_left, twice=twice), spark))
    if told and _late(program):
        return difference(program, partial(_environment, program, rows_in_time, spark))
    return told


def aggregate_in_batch(case: aggregates.AggregateCase, spark: SparkSession) -> str:
    """What is not as Flink's tests expect of an aggregate over the rows that its changes leave."""
    settings = EnvironmentSettings.in_batch_mode()
    return aggregates.difference(case, lambda asked: sorted_rows(batched(asked, spark, ZONE)), settings)


def leaves_a_table(case: aggregates.AggregateCase) -> bool:
    """Whether the rows of a case have a meaning in batch mode."""
    return leave_a_table(case.cases["rows"])


def _environment(program: Program, given: Callable[[Step], list[list[Any]]], spark: SparkSession) -> TableEnvironment:
    tables = environment(program, EnvironmentSettings.in_batch_mode(), given)
    tables._session._engine_of = lambda streaming: OneSpark(spark)
    return tables
