"""The description of the API, and requests made up from it: answers are as described, and nothing breaks."""

from __future__ import annotations

import re
from typing import Any
from zlib import crc32

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks
from tests.cluster.rest.client import Client, sample_holder
from tests.cluster.rest.samples import MANAGER, SamplePrograms, job_id, vertex_id
from tests.rings import taken

from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.settings import RestSettings

load_all_checks()
_EXPECTED = [
    CHECKS.get_one(name)
    for name in ("status_code_conformance", "content_type_conformance", "response_schema_conformance")
]

APP = make_app(sample_holder(), SamplePrograms(), RestSettings(hosts=frozenset({"testserver"})))
# from_asgi() would leave a thread of an event loop, which forks do not have (tests/lanes.py).
SCHEMA = schemathesis.openapi.from_dict(Client(APP).get("/openapi.json").json())
SCHEMA.app, SCHEMA.location = APP, "/openapi.json"
DRAWN = SCHEMA.include(path=taken(SCHEMA.raw_schema["paths"], 3))
KNOWN = {
    "jobid": [job_id(number) for number in range(1, 8)],
    "applicationid": [job_id(number) for number in range(1, 8)],
    "vertexid": [vertex_id(number) for number in range(1, 5)],
    "taskmanagerid": [MANAGER, "x"],
    "file": ["server.log", "x"],
    "subtaskindex": [0, 1, 9],
    "attempt": [0, 1],
    "checkpointid": [3, 4, 6, 99],
}
"""what there is, so that not all requests are for what there is not"""
OUR_OWN = re.compile(r"<Exception on server side:\n(?!java\.|org\.apache\.)")
"""how an internal error begins that is none of Flink's"""


@DRAWN.parametrize()
@settings(max_examples=3, deadline=None, suppress_health_check=[*HealthCheck])
def test_answers_are_as_described(case: Any) -> None:
    for name, values in KNOWN.items():
        if name in case.path_parameters:
            drawn = crc32(str(case.path_parameters[name]).encode())
            if drawn % 3:
                case.path_parameters[name] = values[drawn % len(values)]
    response = case.call()
    case.validate_response(response, checks=_EXPECTED)
    text = response.text
    assert "Traceback" not in text and not OUR_OWN.search(text.encode().decode("unicode_escape", "replace")), text


def test_all_operations_of_flink_are_described() -> None:
    described = Client(APP).get("/openapi.json").json()
    found = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert len(OF_FLINK) == 78
    assert OF_FLINK - found == set()
    assert all(each["operationId"] for methods in described["paths"].values() for each in methods.values())


def test_what_changes_something_says_that_it_needs_the_token() -> None:
    described = Client(APP).get("/openapi.json").json()["paths"]
    assert described["/jobs/{jobid}"]["patch"]["security"] == [{"token": []}]
    assert "security" not in described["/jobs/{jobid}"]["get"]


@pytest.mark.parametrize("path", ["/jobs/{jobid}/plan", "/v1/jobs/{jobid}/plan"])
def test_paths_are_served_with_and_without_a_version(path: str) -> None:
    assert Client(APP).get(path.format(jobid=job_id(1))).status_code == 200


def _flink() -> set[tuple[str, str]]:
    job, vertex = "/jobs/{jobid}", "/jobs/{jobid}/vertices/{vertexid}"
    manager, subtask = "/taskmanagers/{taskmanagerid}", f"{vertex}/subtasks/{{subtaskindex}}"
    paths = f"""
        GET /applications/overview
        GET /applications/{{applicationid}}
        POST /applications/{{applicationid}}/cancel
        GET /applications/{{applicationid}}/exceptions
        GET /applications/{{applicationid}}/jobmanager/config
        DELETE /cluster
        GET /config
        GET /datasets
        GET /datasets/delete/{{triggerid}}
        DELETE /datasets/{{datasetid}}
        GET /jars
        POST /jars/upload
        DELETE /jars/{{jarid}}
        POST /jars/{{jarid}}/plan
        POST /jars/{{jarid}}/run
        POST /jars/{{jarid}}/run-application
        GET /jobmanager/config
        GET /jobmanager/environment
        GET /jobmanager/logs
        GET /jobmanager/metrics
        GET /jobmanager/thread-dump
        GET /jobs
        GET /jobs/metrics
        GET /jobs/overview
        GET {job}
        PATCH {job}
        GET {job}/accumulators
        GET {job}/checkpoints
        POST {job}/checkpoints
        GET {job}/checkpoints/config
        GET {job}/checkpoints/details/{{checkpointid}}
        GET {job}/checkpoints/details/{{checkpointid}}/subtasks/{{vertexid}}
        GET {job}/checkpoints/{{triggerid}}
        PATCH {job}/clientHeartbeat
        GET {job}/config
        GET {job}/exceptions
        GET {job}/execution-result
        GET {job}/jobmanager/config
        GET {job}/jobmanager/environment
        GET {job}/jobmanager/log-url
        GET {job}/metrics
        GET {job}/plan
        GET {job}/rescales/config
        GET {job}/rescales/details/{{rescaleuuid}}
        GET {job}/rescales/history
        PATCH {job}/rescaling
        GET {job}/rescaling/{{triggerid}}
        GET {job}/resource-requirements
        PUT {job}/resource-requirements
        POST {job}/savepoints
        GET {job}/savepoints/{{triggerid}}
        GET {job}/status
        POST {job}/stop
        GET {job}/taskmanagers/{{taskmanagerid}}/log-url
        GET {vertex}
        GET {vertex}/accumulators
        GET {vertex}/backpressure
        GET {vertex}/flamegraph
        GET {vertex}/jm-operator-metrics
        GET {vertex}/metrics
        GET {vertex}/subtasks/accumulators
        GET {vertex}/subtasks/metrics
        GET {subtask}
        GET {subtask}/attempts/{{attempt}}
        GET {subtask}/attempts/{{attempt}}/accumulators
        GET {subtask}/metrics
        GET {vertex}/subtasktimes
        GET {vertex}/taskmanagers
        GET {vertex}/watermarks
        GET /overview
        POST /savepoint-disposal
        GET /savepoint-disposal/{{triggerid}}
        GET /taskmanagers
        GET /taskmanagers/metrics
        GET {manager}
        GET {manager}/logs
        GET {manager}/metrics
        GET {manager}/thread-dump
    """
    found = set()
    for line in paths.split("\n"):
        method, _, path = line.strip().partition(" ")
        if path:
            found.add((method, path))
    return found


OF_FLINK = _flink()
