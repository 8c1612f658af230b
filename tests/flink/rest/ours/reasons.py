"""Where a cluster of ours answers otherwise than Flink, by reason: those of every server, and those of real jobs."""

from __future__ import annotations

from tests.flink.rest.known import KNOWN, Known

SHORT = "what checkpoints a job has had that fails at once is chance"
FRESH = "Flink shows checkpoints up to three seconds late"
CANCELLED = "a job has been cancelled when the answer comes, or a moment later"
BATCH = "the vertices of a query in batch mode are Spark's stages, and Spark tells no edges between them"
WAITING = "no job waits for slots: its tasks take turns on those that Spark has"
WORKER = "a task manager is an executor of Spark, and called like that"
ATTEMPTS = "of former attempts the failures are kept, not their subtasks"
LOGS = "other processes write the logs, and other things into them"
OF_JOBS = (
    Known(SHORT, "rest GET /jobs/{jobid}/checkpoints a restarting job*"),
    Known(SHORT, "* a failed job*", "body/summary/*"),
    Known(SHORT, "* a failed job*", "body/latest/*"),
    Known(SHORT, "* a failed job*", "body/history*"),
    Known(FRESH, "rest GET /jobs/{jobid}/checkpoints after savepoints*"),
    Known(FRESH, "rest GET /jobs/{jobid}/checkpoints *, stopped*"),
    Known(CANCELLED, "rest GET /jobs/{jobid} *, cancelled*", "body*end-time"),
    Known(CANCELLED, "rest GET /jobs/{jobid} *, cancelled*", "body/state"),
    Known(CANCELLED, "rest GET /jobs/{jobid} *, cancelled*", "body/vertices/[]/status"),
    Known(BATCH, "* batch job*", "body*stream-graph/*"),
    Known(WAITING, "* a job that waits for slots*"),
    Known(WAITING, "* a vertex that waits for slots*"),
    Known(WORKER, "* /taskmanagers/{taskmanagerid}*", "body/errors"),
    Known(WORKER, "* /jobs/{jobid}/taskmanagers/{taskmanagerid}/*", "body/errors"),
    Known(ATTEMPTS, "*/attempts/{attempt}* a restarting job", "status"),
    Known(LOGS, "rest GET /jobmanager/log*"),
    Known(LOGS, "rest GET /jobmanager/stdout", "body"),
    Known(
        "a job that has no checkpoints has no place for one either: it takes savepoints",
        "rest GET /jobs/{jobid}/checkpoints/{triggerid} checkpoint_of_plain*",
    ),
)
MISTAKES = "mistakes in the arguments of `run` and `info` are told on standard error, with exit code 2"
FAILS = "a program that fails ends the command with its own exit code, and a traceback without the command's"
VERSION = "the versions are those of Millrace and of what it runs on"
ABSENT = "that no cluster is there is said at once, not after many attempts"
OVER = "a job that has ended is known: that it has, and how, is said"
WORDS = "what stands in the way is said in other words"
_MISTAKEN = (
    *("no such file", "no program", "* parallelism", "parallelism below zero", "no such option", "no such target"),
    *("malformed claim mode", "no such program", "an option without its value", "a setting without a value"),
)
OF_COMMAND = (
    Known(VERSION, "* (version)", "out"),
    Known(VERSION, "* (no such action)", "out", "is missing"),
    Known("`run-application` is there, for the documents of old", "run-application *"),
    *(Known(MISTAKES, f"{verb}* ({about})") for verb in ("run", "info") for about in _MISTAKEN),
    *(
        Known(FAILS, f"run * ({about})")
        for about in ("a program *fails", "no such module", "no such savepoint", "no cluster there")
    ),
    Known("`info` prints the plan alone, so that programs can read it", "info * (the plan of a program)", "out"),
    *(Known(OVER, f"* ({about})", "err") for about in ("a finished job", "one that was stopped")),
    *(Known(WORDS, f"* ({about})", "err") for about in ("a restarting job", "a folder that cannot be written")),
    Known(WORDS, "* (disposal of what is gone)", "err"),
    Known(ABSENT, "* (no cluster there)", "err"),
    Known("a job that has no checkpoints has no place for one either: it takes savepoints", "checkpoint @plain *"),
    Known("a list has the jobs that this cluster has had", "list -*a* (jobs in all states)", "out"),
)
REASONS = (*KNOWN, *OF_JOBS, *OF_COMMAND)
"""The first that fits counts."""
