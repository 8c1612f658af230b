"""Jobs: lists, one job, how it is configured, how it ended."""

from __future__ import annotations

from millrace.cluster.documents.job import JobDocument
from millrace.cluster.holder import JobHolder
from millrace.cluster.rest.answers.accumulators import JobAccumulatorsInfo, job_accumulators
from millrace.cluster.rest.answers.exceptions import JobExceptionsInfoWithHistory, exceptions
from millrace.cluster.rest.answers.jobs import (
    JobConfigInfo,
    JobDetails,
    JobDetailsInfo,
    JobIdsWithStatusOverview,
    JobStatusInfo,
    MultipleJobsDetails,
    job_config,
    job_details,
    job_details_info,
)
from millrace.cluster.rest.answers.plans import JobPlanInfo, plan
from millrace.cluster.rest.answers.results import JobExecutionResultResponseBody, execution_result
from millrace.cluster.rest.answers.states import duration
from millrace.cluster.rest.web.call import Call, at
from millrace.cluster.rest.web.errors import NO_JOB, broken, refused
from millrace.cluster.rest.web.operation import Operation
from millrace.cluster.rest.web.parameters import INTEGER, LABEL, TRUTH, Query


def find_job(holder: JobHolder, id: str) -> JobDocument:
    """The job, for operations where Flink takes an unknown one for an internal error."""
    found = holder.job(id)
    if found is None:
        raise broken(NO_JOB, f"Could not find Flink job ({id})")
    return found


def _ids(call: Call) -> JobIdsWithStatusOverview:
    return {"jobs": [{"id": each.id, "status": each.state} for each in call.holder.jobs()]}


def _overview(call: Call) -> MultipleJobsDetails:
    return {"jobs": [_listed(call, each) for each in call.holder.jobs()]}


def _listed(call: Call, job: JobDocument) -> JobDetails:
    known = call.site.remembered.of("details", job, lambda job: job_details(job, job.written))
    return {**known, "duration": duration(job.started, job.ended, at(job))}


def _details(call: Call) -> JobDetailsInfo:
    job = call.job()
    return job_details_info(job, at(job))


def _config(call: Call) -> JobConfigInfo:
    return job_config(call.job())


def _plan(call: Call) -> JobPlanInfo:
    return {"plan": plan(call.job())}


def _status(call: Call) -> JobStatusInfo:
    return {"status": find_job(call.holder, call.path["jobid"]).state}


def _accumulators(call: Call) -> JobAccumulatorsInfo:
    return job_accumulators(call.job())


def _exceptions(call: Call) -> JobExceptionsInfoWithHistory:
    job = call.job()
    most = call.one("maxExceptions")
    if most is None:
        most = call.settings.exceptions
    if most < 0:
        raise broken("java.lang.IllegalArgumentException", str(most))
    return exceptions(job, most, call.query.get("failureLabelFilter", []))


def _result(call: Call) -> JobExecutionResultResponseBody:
    job = call.holder.job(call.path["jobid"])
    if job is None:
        raise refused(404, f"{NO_JOB}: Could not find Flink job ({call.path['jobid']})")
    return execution_result(job)


OPERATIONS = (
    Operation("GET", "/jobs", _ids, "All jobs with their states.", JobIdsWithStatusOverview),
    Operation(
        "GET", "/jobs/overview", _overview, "All jobs with times and tasks.", MultipleJobsDetails, history=True
    ),
    Operation("GET", "/jobs/{jobid}", _details, "A job with its vertices.", JobDetailsInfo, history=True),
    Operation("GET", "/jobs/{jobid}/config", _config, "What the job has set.", JobConfigInfo, history=True),
    Operation("GET", "/jobs/{jobid}/plan", _plan, "The job's plan.", JobPlanInfo, history=True),
    Operation("GET", "/jobs/{jobid}/status", _status, "The job's state.", JobStatusInfo),
    Operation(
        "GET",
        "/jobs/{jobid}/accumulators",
        _accumulators,
        "The user's accumulators.",
        JobAccumulatorsInfo,
        query=(Query("includeSerializedValue", TRUTH),),
        history=True,
    ),
    Operation(
        "GET",
        "/jobs/{jobid}/exceptions",
        _exceptions,
        "Why the job has failed or restarted, the newest first.",
        JobExceptionsInfoWithHistory,
        query=(Query("maxExceptions", INTEGER), Query("failureLabelFilter", LABEL, many=True)),
        history=True,
    ),
    Operation(
        "GET", "/jobs/{jobid}/execution-result", _result, "How the job has ended.", JobExecutionResultResponseBody
    ),
)
