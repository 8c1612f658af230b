"""Applications: each job is one of its own."""

from __future__ import annotations

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.rest.answers.applications import (
    ApplicationDetailsInfo,
    MultipleApplicationsDetails,
    application,
    application_details,
)
from millrace.cluster.rest.answers.exceptions import ApplicationExceptionsInfoWithHistory, application_exceptions
from millrace.cluster.rest.answers.states import ENDED
from millrace.cluster.rest.routes.steering import cancel
from millrace.cluster.rest.web.call import Call, at
from millrace.cluster.rest.web.errors import NO_APPLICATION, broken, refused
from millrace.cluster.rest.web.operation import Operation

_ONE = "/applications/{applicationid}"


def _find(call: Call) -> JobDocument:
    id = call.path["applicationid"]
    found = call.holder.job(id)
    if found is None:
        if call.settings.history:
            raise refused(404, f"Unknown application {id}")
        raise broken(NO_APPLICATION, f"Could not find Flink application ({id})")
    return found


def _overview(call: Call) -> MultipleApplicationsDetails:
    return {"applications": [application(each, at(each)) for each in call.holder.jobs()]}


def _details(call: Call) -> ApplicationDetailsInfo:
    job = _find(call)
    return application_details(job, at(job))


def _exceptions(call: Call) -> ApplicationExceptionsInfoWithHistory:
    return application_exceptions(_find(call))


def _cancel(call: Call) -> None:
    job = call.holder.job(call.path["applicationid"])
    if job is None or job.state in ENDED - {"CANCELED"}:
        raise refused(404, "Application could not be found.")
    cancel(call, call.path["applicationid"])


OPERATIONS = (
    Operation(
        "GET", "/applications/overview", _overview, "All applications.", MultipleApplicationsDetails, history=True
    ),
    Operation("GET", _ONE, _details, "An application.", ApplicationDetailsInfo, history=True),
    Operation(
        "GET",
        f"{_ONE}/exceptions",
        _exceptions,
        "Why an application has failed.",
        ApplicationExceptionsInfoWithHistory,
        history=True,
    ),
    Operation("POST", f"{_ONE}/cancel", _cancel, "Cancel an application.", status=202),
)
