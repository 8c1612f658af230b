"""Operations that Flink does not have: whole documents, findings about a job, and queryable state."""

from __future__ import annotations

from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from typing import Any, TypedDict

import msgspec

from millrace.cluster.control import JobOverError
from millrace.cluster.documents import CheckpointsDocument, JobDocument, key_of, masked, plain
from millrace.cluster.durable_files import encode
from millrace.cluster.insights.readings import Finding
from millrace.cluster.insights.rules import insights
from millrace.cluster.rest.call import Answer, Call, refused, unknown_job
from millrace.cluster.rest.operation import Operation


class StateQuery(msgspec.Struct):
    """What a keyed state holds for a key."""

    operator: str = ""
    state: str = ""
    key: Any = None


_SECONDS = 30.0
"""how long a query of state may take"""


class StateAnswer(TypedDict):
    """What a keyed state holds; null for nothing."""

    value: Any


class Features(TypedDict):
    """What the dashboard can offer beyond Flink's ``/config``."""

    sql: str | None


def _job(call: Call) -> Answer:
    return Answer(encode(masked(call.job())), encoded=True)


def _jobs(call: Call) -> Answer:
    texts = [call.site.remembered.of("short", each, _short) for each in call.holder.jobs()]
    return Answer(b"[" + b",".join(texts) + b"]", encoded=True)


def _short(job: JobDocument) -> bytes:
    none = CheckpointsDocument()
    return encode(masked(replace(job, vertices=(), checkpoints=none, exceptions=(), epochs=(), metrics=())))


def _insights(call: Call) -> Answer:
    return Answer(call.site.remembered.of("insights", call.job(), _findings), encoded=True)


def _findings(job: JobDocument) -> bytes:
    return encode(insights(masked(job)))


def _features(call: Call) -> Features:
    return {"sql": call.settings.sql}


def _state(call: Call) -> StateAnswer:
    query: StateQuery = call.body
    control = call.control()
    if control is None:
        raise unknown_job(call.path["jobid"])
    if not query.operator or not query.state:
        raise refused(400, "The fields operator and state must be given.")
    try:
        found = control.query_state(query.operator, query.state, key_of(query.key)).result(_SECONDS)
        return {"value": plain(found)}
    except FutureTimeoutError:
        text = f"No answer about state {query.state} of operator {query.operator} within {_SECONDS:g} seconds."
        raise refused(503, text) from None
    except JobOverError as error:
        raise refused(409, str(error)) from None
    except (LookupError, ValueError, TypeError) as error:
        raise refused(400, str(error)) from None


OPERATIONS = (
    Operation(
        "GET",
        "/millrace/jobs",
        _jobs,
        "All jobs as documents, without vertices, checkpoints, exceptions, epochs and metrics.",
        list[JobDocument],
        history=True,
    ),
    Operation("GET", "/millrace/jobs/{jobid}", _job, "A job as the document it is.", JobDocument, history=True),
    Operation(
        "GET",
        "/millrace/jobs/{jobid}/insights",
        _insights,
        "Why a job is slow, silent or failing, in words: the worst first.",
        list[Finding],
        history=True,
    ),
    Operation("GET", "/millrace/features", _features, "What pages can offer.", Features, history=True),
    Operation(
        "POST",
        "/millrace/jobs/{jobid}/state",
        _state,
        "What a keyed state holds for a key.",
        StateAnswer,
        request=StateQuery,
    ),
)
