"""Asks Millrace the corpus: in streaming mode without Spark, one record an epoch, and in batch mode on Spark."""

from __future__ import annotations

import atexit
import json
import math
import os
import pickle
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from tests.flink import corpus
from tests.flink.plain import plain_python, plain_time

from millrace.datastream import StreamExecutionEnvironment
from millrace.relational import nodes as n
from millrace.relational.rex import Literal, Ref
from millrace.relational.types import DataType, IntType
from millrace.relational.values import to_python
from millrace.spark.tables.execute import batch_context, collect
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.planner.engine import add_to_program, optimised, options_of
from millrace.testing.local import LocalEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWERS = Path(__file__).with_name("answers")
KINDS = ("+I", "-U", "+U", "-D")
QUICK = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""compiling code for a handful of rows takes longer than reading them"""
ASKED_OF_SPARK = 8
"""of so many queries of the corpus ring 2 asks Spark one, the same one in each test: a job of Spark costs the most"""
SECOND = 1_000
"""ms of processing time from one epoch to the next"""

Change = tuple[str, list[Any]]


@dataclass(frozen=True)
class Asked:
    """A query with its plan."""

    environment: TableEnvironment
    plan: n.Rel

    @property
    def types(self) -> list[str]:
        return [str(column.type) for column in self.plan.schema]


@cache
def answers(part: str) -> dict[str, dict[str, Any]]:
    """Flink's answers by the text that was asked; of programs by name."""
    found = json.loads((ANSWERS / f"{part}.json").read_text(encoding="utf-8"))["answers"]
    return {answer.get("name", answer["text"]): answer for answer in found}


@cache
def environment(mode: str, records: int = 1) -> TableEnvironment:
    """An environment with the tables of the corpus, for questions that leave it as it is."""
    return new_environment(mode, records)


def new_environment(mode: str, records: int = 1) -> TableEnvironment:
    streaming = mode == corpus.STREAMING
    made = TableEnvironment.create(
        EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    )
    made.get_config().set_local_timezone(corpus.ZONE)
    for statement in corpus.create_statements(small_files(records) if streaming else corpus.DATA):
        made.execute_sql(statement)
    return made


@cache
def small_files(records: int) -> Path:
    """The data with a folder for each file: an epoch reads whole files, and is to read only so many records."""
    folder = Path(tempfile.mkdtemp(prefix="millrace-corpus-"))
    atexit.register(_remove, folder, os.getpid())
    for file in sorted(corpus.DATA.iterdir()):
        made = folder / file.name
        made.mkdir()
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        for at in range(0, len(lines), records):
            (made / f"{at:03}").write_text("".join(lines[at : at + records]), encoding="utf-8")
    return folder


def _remove(folder: Path, process: int) -> None:
    """Delete the folder at the end of the process that has made it, not of its forks."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def ask(mode: str, sql: str, records: int = 1) -> Asked:
    """Plan a query; raises what a user would see.

    :param records: of a file in streaming mode.
    """
    made = environment(mode, records)
    return Asked(made, made.sql_query(sql)._plan)


def epochs_of(asked: Asked) -> list[list[Change]]:
    """The changelog of a query in streaming mode, by epochs of one record, or of one file with more."""
    return epochs_together([asked])[0]


def epochs_together(asked: Sequence[Asked]) -> list[list[list[Change]]]:
    """The same of several queries over the same tables, in one job: what a job costs is paid once."""
    session = asked[0].environment._session
    streams = StreamExecutionEnvironment()
    streams.set_parallelism(1)
    plans = optimised([_marked(one.plan, at) for at, one in enumerate(asked)], session)
    add_to_program(plans, streams._program, options_of(session))
    now = [0]
    engine = LocalEngine(replace(streams.job_graph(), epoch_records=1), lambda: now[0])
    epochs: list[list[list[Change]]] = [[] for _ in asked]
    for result in engine.epochs():
        now[0] += SECOND
        for each in epochs:
            each.append([])
        for part in result.collected:
            for rows in pickle.loads(part):
                if len(rows):
                    at = rows.columns[-1][0].as_py()
                    kinds = [KINDS[kind] for kind in rows.kind_values().tolist()]
                    epochs[at][-1] += zip(kinds, _plain_rows(rows.columns[:-1], asked[at].plan, len(rows)))
    return epochs


def _marked(plan: n.Rel, number: int) -> n.Rel:
    """With the number of the query in a last column."""
    refs = tuple(Ref(column.type, at) for at, column in enumerate(plan.schema))
    kind = IntType(False)
    return n.Project(plan, (*refs, Literal(kind, number)), (*plan.schema, n.Field(" query", kind)))


def streamed_together(asked: Sequence[Asked]) -> list[list[Change] | Exception]:
    """What each of several queries over the same tables gives, or why it fails."""
    try:
        return [[change for epoch in epochs for change in epoch] for epochs in epochs_together(asked)]
    except Exception as error:
        if len(asked) == 1:
            return [error]
        middle = len(asked) // 2
        return [*streamed_together(asked[:middle]), *streamed_together(asked[middle:])]


def streamed(asked: Asked) -> list[Change]:
    return [change for epoch in epochs_of(asked) for change in epoch]


def batched(asked: Asked, spark: SparkSession, zone: str = corpus.ZONE) -> list[list[Any]]:
    """The rows of a query in batch mode, in Spark's order."""
    configuration = {**asked.environment.get_config().to_map(), **QUICK}
    context = batch_context(spark, zone, configuration=configuration)
    table = collect(asked.plan, context)
    return _plain_rows([column.combine_chunks() for column in table.columns], asked.plan, table.num_rows)


@dataclass(frozen=True)
class BatchAnswer:
    """What a query of the corpus gives in batch mode."""

    types: list[str]
    rows: list[list[Any]]


_batch_answers: dict[str, BatchAnswer | Exception] = {}


def batch_answer(sql: str, spark: SparkSession) -> BatchAnswer | Exception:
    """The answer to a query of the corpus in batch mode, or why there is none. Several tests compare it with something
    else: Spark is asked once."""
    if sql not in _batch_answers:
        try:
            asked = ask(corpus.BATCH, sql)
            _batch_answers[sql] = BatchAnswer(asked.types, batched(asked, spark))
        except Exception as error:
            _batch_answers[sql] = error
    return _batch_answers[sql]


def _plain_rows(columns: Sequence[Any], plan: n.Rel, count: int) -> list[list[Any]]:
    values = [_plain_column(column, each.type) for column, each in zip(columns, plan.schema)]
    return [[column[at] for column in values] for at in range(count)]


def _plain_column(column: Any, kind: DataType) -> list[Any]:
    """Dates and times are read without Python's, which end with the year 9999."""
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date32(column.type)):
        return [plain_python(value) for value in to_python(column, kind)]
    times = column.to_numpy(zero_copy_only=False).astype("M8[D]" if pa.types.is_date32(column.type) else "M8[us]")
    end = "Z" if getattr(column.type, "tz", None) else ""
    return [None if np.isnat(each) else plain_time(f"{each}{end}") for each in times]


# -- comparing --------------------------------------------------------------------------------------------------------


def same(ours: Any, theirs: Any, single: bool = False) -> bool:
    """Whether two plain values are one: numbers with a fraction to 14 digits, as Java's and C's functions agree.

    :param single: they come from a FLOAT, of which Flink shows the shortest decimal.
    """
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(same(a, b, single) for a, b in zip(ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        return math.isclose(ours, theirs, rel_tol=1e-6 if single else 1e-14)
    return type(ours) is type(theirs) and bool(ours == theirs)


def sorted_rows(rows: Sequence[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def table_of(changes: Sequence[Sequence[Any]]) -> list[Any]:
    """The rows that a changelog leaves.

    :raises ValueError: a row is taken back that is not there.
    """
    rows: list[Any] = []
    for kind, row in changes:
        if kind in ("+I", "+U"):
            rows.append(row)
        else:
            rows.remove(row)
    return sorted_rows(rows)
