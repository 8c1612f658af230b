"""Programs that are uploaded: list, upload, plan, run, run as an application, delete."""

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import REST, Ask

RUN, PLAN, APPLICATION = (f"/jars/{{jarid}}/{what}" for what in ("run", "plan", "run-application"))
JAR = {"jarid": "@kept.jar"}
ARGUMENTS = "programArg=@arguments"
ARGUMENT_LIST = {"programArgsList": ["@arguments"]}
NAME = "filename/(name)"


def asks() -> Iterator[Ask]:
    yield Ask(REST, "GET", "/jars", "nothing uploaded")
    yield from _uploads()
    yield Ask(REST, "GET", "/jars", "a program uploaded")
    yield from _plans()
    yield from _runs()
    for path in (RUN, PLAN, APPLICATION):
        yield Ask(REST, "POST", path, "no such program", {"jarid": "nothing.jar"}, body={})
    for about, each in (
        ("no such program", "nothing.jar"),
        ("a way out of the folder", "..%2Fnothing.jar"),
        ("a program", "@kept.jar"),
        ("a program that is gone", "@kept.jar"),
        ("one that is broken", "@kept.broken"),
    ):
        yield Ask(REST, "DELETE", "/jars/{jarid}", about, {"jarid": each})
    yield Ask(REST, "GET", "/jars", "all deleted")


def _uploads() -> Iterator[Ask]:
    path = "/jars/upload"
    yield Ask(REST, "POST", path, "a program", upload="program", keep={"jar": NAME})
    yield Ask(REST, "POST", path, "not a program", upload="broken", keep={"broken": NAME})
    yield Ask(REST, "POST", path, "another kind of file", upload="text")
    yield Ask(REST, "POST", path, "no file", body={})


def _plans() -> Iterator[Ask]:
    for method in ("GET", "POST"):
        yield Ask(REST, method, PLAN, "a program", JAR, ARGUMENTS)
    yield Ask(REST, "POST", PLAN, "a program, arguments in the body", JAR, body=ARGUMENT_LIST)
    # Without arguments Flink's program for Python ends the JobManager.
    for about, query in (("a malformed parameter", "parallelism=x"), ("no threads", "parallelism=0")):
        yield Ask(REST, "POST", PLAN, about, JAR, f"{query}&{ARGUMENTS}")
    yield Ask(REST, "POST", PLAN, "no such entry", JAR, f"entry-class=nothing.Here&{ARGUMENTS}")
    yield Ask(REST, "POST", PLAN, "one that is broken", {"jarid": "@kept.broken"})


def _runs() -> Iterator[Ask]:
    yield Ask(REST, "POST", RUN, "a program", JAR, body=ARGUMENT_LIST, keep={"ran": "jobid"})
    given = {"jobid": "@kept.ran"}
    yield Ask(REST, "GET", "/jobs/{jobid}", "one that was uploaded", given, until="state=FINISHED")
    yield Ask(REST, "GET", "/applications/{applicationid}", "of an upload", {"applicationid": "@kept.ran"})
    yield Ask(REST, "POST", RUN, "a program, arguments in the query", JAR, ARGUMENTS)
    for about, more in (
        ("no such entry", {"entryClass": "nothing.Here"}),
        ("a malformed job", {"jobId": "xyz"}),
        ("no threads", {"parallelism": 0}),
        ("no such savepoint", {"savepointPath": "/nothing/here"}),
        ("a malformed mode", {"claimMode": "nonsense"}),
        ("an unknown field", {"nothing": 1, "entryClass": "nothing.Here"}),
    ):
        yield Ask(REST, "POST", RUN, about, JAR, body={**ARGUMENT_LIST, **more})
    for about, query in (("a malformed parameter", "parallelism=x"), ("a malformed flag", "allowNonRestoredState=x")):
        yield Ask(REST, "POST", RUN, about, JAR, f"{query}&{ARGUMENTS}")
    yield Ask(REST, "POST", RUN, "not JSON", JAR, body="{nothing")
    yield Ask(REST, "POST", RUN, "one that is broken", {"jarid": "@kept.broken"})
    yield Ask(REST, "POST", APPLICATION, "a program", JAR, body=ARGUMENT_LIST, keep={"application": "applicationid"})
    given = {"applicationid": "@kept.application"}
    yield Ask(REST, "GET", "/applications/{applicationid}", "of run-application", given, until="status=FINISHED,FAILED")
    yield Ask(REST, "GET", "/applications/{applicationid}/exceptions", "of run-application", given)
