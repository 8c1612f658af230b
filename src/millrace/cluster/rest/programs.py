"""Operations on uploaded programs (Flink's jars are Python files and archives here), and on applications: each job is
an application of its own, with the job's id.

Fields of request bodies that are not known are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

import msgspec

from millrace.cluster.control import Launch, LaunchError, NoEntryError, ProgramStore
from millrace.cluster.documents import JobDocument, ProgramDocument
from millrace.cluster.rest.call import HANDLER, NO_APPLICATION, Call, at, broken, refused
from millrace.cluster.rest.jobs import JobDetails, JobPlanInfo, job_details, plan
from millrace.cluster.rest.operation import INTEGER, TRUTH, Id, Operation, Query
from millrace.cluster.rest.results import ApplicationExceptionsInfoWithHistory, application_exceptions
from millrace.cluster.rest.statistics import ENDED, duration
from millrace.cluster.rest.steering import cancel
from millrace.util.secrets import mask_text

# Uploaded programs

Mode = Literal["CLAIM", "NO_CLAIM", "LEGACY"]


class JobPlanRequestBody(msgspec.Struct):
    """How a program is to be run, as far as its plan depends on that."""

    entryClass: str | None = None
    programArgsList: list[str] | None = None
    parallelism: int | None = None
    jobId: Id | None = None
    flinkConfiguration: dict[str, str] | None = None


class JarPlanRequestBody(JobPlanRequestBody):
    """Show the plan of a program."""


class JarRunRequestBody(JobPlanRequestBody):
    """Run a program."""

    allowNonRestoredState: bool | None = None
    savepointPath: str | None = None
    claimMode: Mode | None = None
    restoreMode: Mode | None = None


class JarRunApplicationRequestBody(JarRunRequestBody):
    """Run a program; its main function runs in the cluster."""

    applicationId: Id | None = None


class JarEntryInfo(TypedDict):
    """What in the program can be run."""

    name: str
    description: str | None


class JarFileInfo(TypedDict):
    """A program."""

    id: str
    name: str
    uploaded: int
    entry: list[JarEntryInfo]


class JarListInfo(TypedDict):
    """The programs."""

    address: str
    files: list[JarFileInfo]


class JarUploadResponseBody(TypedDict):
    """Where the program lies; the last part of it is the id."""

    filename: str
    status: str


class JarRunResponseBody(TypedDict):
    """The job that was begun."""

    applicationId: str
    jobid: str


class JarRunApplicationResponseBody(TypedDict):
    """The application that was begun."""

    applicationid: str


def program_list(programs: Sequence[ProgramDocument], address: str) -> JarListInfo:
    """The programs, the newest first."""
    newest = sorted(programs, key=lambda each: each.uploaded, reverse=True)
    return {"address": address, "files": [_file(each) for each in newest]}


def _file(program: ProgramDocument) -> JarFileInfo:
    entry: list[JarEntryInfo] = [] if program.entry is None else [{"name": program.entry, "description": None}]
    return {"id": program.id, "name": program.name, "uploaded": program.uploaded, "entry": entry}


# Operations

_INVOCATION = "org.apache.flink.client.program.ProgramInvocationException"
_ARGUMENT = "java.lang.IllegalArgumentException"
_TOO_FEW = "Parallelism must be at least one, or ExecutionConfig.PARALLELISM_DEFAULT (use system default)."
_PLANNED = (Query("programArg", many=True), Query("entry-class"), Query("parallelism", INTEGER))
_RUN = (*_PLANNED, Query("allowNonRestoredState", TRUTH), Query("savepointPath"))


def _store(call: Call) -> ProgramStore:
    store = call.site.programs
    if store is None:
        raise refused(404, "Submitting programs is not allowed.")
    return store


def _list(call: Call) -> JarListInfo:
    return program_list(_store(call).programs(), call.address)


def _upload(call: Call) -> JarUploadResponseBody:
    if len(call.uploads) != 1:
        raise refused(400, f"Exactly 1 file must be sent, received {len(call.uploads)}.")
    [upload] = call.uploads
    try:
        program = _store(call).upload(upload.name, upload.content)
    except ValueError as error:
        raise refused(400, str(error)) from None
    return {"filename": f"/uploads/{program.id}", "status": "success"}


def _delete(call: Call) -> None:
    id = call.path["jarid"]
    if not _is_known(call) or not _store(call).delete(id):
        raise refused(400, f"File {id} does not exist among the uploaded programs.")


def _is_known(call: Call) -> bool:
    """Whether a program is listed. Only listed ids are passed on, so an id leads to no other file."""
    return any(each.id == call.path["jarid"] for each in _store(call).programs())


def _launch(call: Call, settings: Mapping[str, Any]) -> Launch:
    """The launch of a program; parameters of the body override those of the query."""
    if not _is_known(call):
        text = f"{HANDLER}: Jar file {call.path['jarid']} does not exist"
        raise broken("java.util.concurrent.CompletionException", text)
    body: Any = call.body
    parallelism = body.parallelism if body.parallelism is not None else call.one("parallelism")
    if parallelism is not None and parallelism < 1:
        raise ValueError(_TOO_FEW)
    return Launch(
        program=call.path["jarid"],
        arguments=tuple(body.programArgsList or call.query.get("programArg", [])),
        entry=body.entryClass or call.one("entry-class"),
        parallelism=parallelism,
        configuration=body.flinkConfiguration or {},
        **settings,
    )


def _run_settings(call: Call) -> dict[str, Any]:
    body: JarRunRequestBody = call.body
    allows = body.allowNonRestoredState
    return {
        "job_id": body.jobId.lower() if body.jobId else None,
        "savepoint": body.savepointPath or call.one("savepointPath"),
        "allow_non_restored": bool(call.one("allowNonRestoredState")) if allows is None else allows,
        "claim_mode": body.claimMode or body.restoreMode,
    }


def _plan(call: Call) -> JobPlanInfo:
    body: JarPlanRequestBody = call.body or JarPlanRequestBody()
    settings = {"job_id": body.jobId.lower() if body.jobId else None}
    try:
        return {"plan": plan(_store(call).plan(_launch(_with_body(call, body), settings)))}
    except ValueError as error:
        raise broken(_ARGUMENT, str(error)) from None
    except LaunchError as error:
        raise broken("java.util.concurrent.CompletionException", f"{_INVOCATION}: {mask_text(str(error))}") from None


def _with_body(call: Call, body: Any) -> Call:
    return call if call.body is not None else Call(call.site, call.path, call.query, body, call.address)


def _run(call: Call) -> JarRunResponseBody:
    id = _begin(call, _run_settings(call))
    return {"applicationId": id, "jobid": id}


def _run_application(call: Call) -> JarRunApplicationResponseBody:
    settings = _run_settings(call)
    body: JarRunApplicationRequestBody = call.body
    if body.applicationId:
        settings["job_id"] = body.applicationId.lower()
    return {"applicationid": _begin(call, settings)}


def _begin(call: Call, settings: Mapping[str, Any]) -> str:
    try:
        return _store(call).run(_launch(call, settings))
    except NoEntryError as error:
        raise broken("java.util.concurrent.CompletionException", f"{_INVOCATION}: {mask_text(str(error))}") from None
    except ValueError as error:
        raise refused(400, f"Could not execute application.\nCaused by: {_ARGUMENT}: {error}") from None
    except LaunchError as error:
        text = f"Could not execute application.\nCaused by: {_INVOCATION}: {mask_text(str(error))}"
        raise refused(400, text) from None


OPERATIONS = (
    Operation("GET", "/jars", _list, "Uploaded programs.", JarListInfo),
    Operation("POST", "/jars/upload", _upload, "Upload a program.", JarUploadResponseBody, upload=True),
    Operation("DELETE", "/jars/{jarid}", _delete, "Delete a program."),
    Operation(
        "GET",
        "/jars/{jarid}/plan",
        _plan,
        "The plan of a program. The program runs for it, so this needs the token.",
        JobPlanInfo,
        query=_PLANNED,
        changes=True,
    ),
    Operation(
        "POST",
        "/jars/{jarid}/plan",
        _plan,
        "The plan of a program.",
        JobPlanInfo,
        query=_PLANNED,
        request=JarPlanRequestBody,
    ),
    Operation(
        "POST",
        "/jars/{jarid}/run",
        _run,
        "Run a program.",
        JarRunResponseBody,
        query=_RUN,
        request=JarRunRequestBody,
    ),
    Operation(
        "POST",
        "/jars/{jarid}/run-application",
        _run_application,
        "Run a program, its main function in the cluster.",
        JarRunApplicationResponseBody,
        202,
        query=_RUN,
        request=JarRunApplicationRequestBody,
    ),
)


# Applications

STATES = ("CREATED", "FAILING", "FAILED", "RUNNING", "CANCELED", "CANCELING", "FINISHED")
_OF_JOBS = {
    "INITIALIZING": "CREATED",
    "CREATED": "CREATED",
    "CANCELLING": "CANCELING",
    "CANCELED": "CANCELED",
    "FAILING": "FAILING",
    "FAILED": "FAILED",
    "FINISHED": "FINISHED",
}
"""state of a job -> that of its application, where it isn't RUNNING"""

ApplicationDetails = TypedDict(
    "ApplicationDetails",
    {
        "id": str,
        "name": str,
        "start-time": int,
        "end-time": int,
        "duration": int,
        "status": str,
        "jobs": dict[str, int],
    },
)


class MultipleApplicationsDetails(TypedDict):
    """The list."""

    applications: list[ApplicationDetails]


ApplicationDetailsInfo = TypedDict(
    "ApplicationDetailsInfo",
    {
        "id": str,
        "name": str,
        "status": str,
        "start-time": int,
        "end-time": int,
        "duration": int,
        "timestamps": dict[str, int],
        "jobs": list[JobDetails],
    },
)


def application_state(job: JobDocument) -> str:
    return _OF_JOBS.get(job.state, "RUNNING")


def application(job: JobDocument, now: int) -> ApplicationDetails:
    """An application in a list."""
    return {
        "id": job.id,
        "name": f"SingleJobApplication({job.name})",
        "start-time": job.started,
        "end-time": job.ended,
        "duration": duration(job.started, job.ended, now),
        "status": application_state(job),
        "jobs": {job.state: 1},
    }


def application_details(job: JobDocument, now: int) -> ApplicationDetailsInfo:
    """An application with its job."""
    moments = dict.fromkeys(STATES, 0)
    for state in ("FINISHED", "CANCELED", "FAILED", "FAILING", "CANCELLING", "RUNNING"):
        moments[_OF_JOBS.get(state, "RUNNING")] = job.timestamps.get(state, 0)
    moments["CREATED"] = job.started
    return {
        "id": job.id,
        "name": f"SingleJobApplication({job.name})",
        "status": application_state(job),
        "start-time": job.started,
        "end-time": job.ended,
        "duration": duration(job.started, job.ended, now),
        "timestamps": moments,
        "jobs": [job_details(job, now)],
    }


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


APPLICATION_OPERATIONS = (
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
