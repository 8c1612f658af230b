"""Statements about a session and its jobs: SET, RESET, SHOW JOBS, DESCRIBE JOB, STOP JOB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.cluster.sql.jobs import SqlJobs
from millrace.cluster.sql.session import SqlSession
from millrace.relational import types as t
from millrace.relational.nodes import Field
from millrace.table.sessions.table_result import TableResult, done, listing
from millrace.table.sql import statements as s
from millrace.table.sql.text.errors import SqlError
from millrace.table.statement_runners.show import fits
from millrace.util.secrets import mask_options

JOB_COLUMNS = ("job id", "job name", "status", "start time")


def answer(
    statement: s.Statement, session: SqlSession, jobs: SqlJobs, defaults: Mapping[str, str]
) -> TableResult | None:
    """What such a statement gives; None: it is another one.

    :param defaults: what SET shows of options that are not set.
    :raises SqlError: it cannot be done.
    """
    match statement:
        case s.Set(key=None):
            return table(("key", "value"), sorted(mask_options({**defaults, **session.settings()}).items()))
        case s.Set(key=str() as key, value=value):
            # Texts of statements know where they stand, which nobody needs to know of settings.
            session.set(str(key), str(value or ""))
            return done()
        case s.Reset(key=key):
            session.reset(key)
            return done()
        case s.Show(kind="JOBS", pattern=pattern):
            return table(JOB_COLUMNS, [row for row in jobs.rows() if fits(row[1], pattern)])
        case s.Show(kind="JARS"):
            return table(("jars",), [])
        case s.DescribeJob(job=id):
            found = jobs.find(id)
            return table(JOB_COLUMNS, [row for row in jobs.rows() if row[0] == found.id])
        case s.StopJob():
            return _stop(statement, jobs)
        case s.Jar():
            raise SqlError(
                f"{statement.action} JAR: connectors, formats and functions are Python here. Install a connector with "
                "pip, give modules with functions with -pyfs, and jars for Spark itself with -D spark.jars=PATH",
                statement.position,
            )
    return None


def _stop(statement: s.StopJob, jobs: SqlJobs) -> TableResult:
    job = jobs.find(statement.job)
    if statement.with_drain and not statement.with_savepoint:
        raise SqlError("WITH DRAIN needs a savepoint: STOP JOB '..' WITH SAVEPOINT WITH DRAIN", statement.position)
    if not job.running:
        raise SqlError(f"job {job.id} is over: {job.status.name}")
    if statement.with_savepoint:
        path = job.client.stop_with_savepoint(statement.with_drain).result()
        return table(("savepoint path",), [(path,)])
    job.told = True
    job.client.cancel().result()
    return done()


def table(names: tuple[str, ...], rows: list[Any]) -> TableResult:
    """Rows of texts."""
    return listing(tuple(Field(name, t.string()) for name in names), rows)


