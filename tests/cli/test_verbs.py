"""The texts, streams and exit codes of the verbs, with jobs that are not there."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from click.testing import CliRunner, Result

from millrace.cli import job_lookup
from millrace.cli.command_line import OF_VERBS
from millrace.cli.job_verbs import heading, line
from millrace.cli.main import main
from millrace.cluster import run_folder
from millrace.cluster.control import ElsewhereError, JobLine
from millrace.cluster.run_folder import CLUSTER, FOREGROUND, Entry, RunEntry, this_process

ID = "5e20cb6b0f357591171dfcca2eea09de"
HINT = "\n\nUse the help option (-h or --help) to get help on the command.\n"
FAILED = "\n" + "-" * 60 + "\n The program finished with the following exception:\n\n"


class Fake:
    """Jobs that remember what was asked of them."""

    def __init__(self, *lines: JobLine, error: str | None = None) -> None:
        self.lines = list(lines)
        self.error = error
        self.asked: list[tuple[Any, ...]] = []

    def jobs(self) -> list[JobLine]:
        return self._say(self.lines)

    def cancel(self, job: str) -> None:
        self._say(None, "cancel", job)

    def savepoint(self, job: str, directory: str | None, native: bool) -> str:
        return self._say("file:/sp/1", "savepoint", job, directory, native)

    def stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        return self._say("file:/sp/1", "stop", job, directory, drain, native)

    def begin_savepoint(self, job: str, directory: str | None, native: bool) -> str:
        return self._say("ab", "begin savepoint", job, directory, native)

    def begin_stop(self, job: str, directory: str | None, drain: bool, native: bool) -> str:
        return self._say("ab", "begin stop", job, directory, drain, native)

    def checkpoint(self, job: str, full: bool) -> int:
        return self._say(7, "checkpoint", job, full)

    def _say(self, answer: Any, *asked: Any) -> Any:
        if self.error is not None:
            raise ElsewhereError(self.error)
        if asked:
            self.asked.append(asked)
        return answer


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(job_lookup, "jobs_at", lambda *_: made)
    return made


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def job(name: str, state: str, started: int = 0) -> JobLine:
    return JobLine(ID, name, state, started)


def test_the_lines_of_the_list_are_as_long_as_flinks() -> None:
    assert heading("Running/Restarting Jobs") == "------------------ Running/Restarting Jobs -------------------"
    assert heading("Scheduled Jobs") == "----------------------- Scheduled Jobs -----------------------"
    assert heading("Terminated Jobs") == "---------------------- Terminated Jobs -----------------------"


def test_a_line_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    shown = line(job("State machine job", "RUNNING", 1606752149000))
    assert shown == f"30.11.2020 16:02:29 : {ID} : State machine job (RUNNING)"
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("flags", "texts"),
    [
        ((), ("No running jobs.", "No scheduled jobs.")),
        (("-r",), ("No running jobs.",)),
        (("-s",), ("No scheduled jobs.",)),
        (("-r", "-s"), ("No running jobs.", "No scheduled jobs.")),
        (("-a",), ("No running jobs.", "No scheduled jobs.")),
    ],
)
def test_a_list_of_nothing(fake: Fake, flags: tuple[str, ...], texts: tuple[str, ...]) -> None:
    result = call("list", *flags)
    assert (result.exit_code, result.stdout.splitlines()) == (0, ["Waiting for response...", *texts])


def test_jobs_are_listed_by_their_state(fake: Fake) -> None:
    states = ("RUNNING", "RESTARTING", "CREATED", "FINISHED", "CANCELED", "FAILED", "CANCELLING")
    fake.lines = [JobLine(ID[:-1] + str(at), state, state, 1000 * at) for at, state in enumerate(states)]
    text = call("list", "-a").stdout
    shown = [each.rpartition(" : ")[2] if " : " in each else each.strip("- ") for each in text.splitlines()[1:]]
    assert shown == [
        *("Running/Restarting Jobs", "RUNNING (RUNNING)", "RESTARTING (RESTARTING)", "CANCELLING (CANCELLING)", ""),
        *("Scheduled Jobs", "CREATED (CREATED)", ""),
        *("Terminated Jobs", "FINISHED (FINISHED)", "CANCELED (CANCELED)", "FAILED (FAILED)", ""),
    ]
    assert "FINISHED" not in call("list").stdout


@pytest.mark.parametrize(
    ("words", "asked", "said"),
    [
        (("cancel", ID), [("cancel", ID)], [f"Cancelling job {ID}.", f"Cancelled job {ID}."]),
        (
            ("cancel", "-s", "/sp", ID),
            [("savepoint", ID, "/sp", False), ("cancel", ID)],
            [
                'DEPRECATION WARNING: Cancelling a job with savepoint is deprecated. Use "stop" instead.',
                f"Cancelling job {ID} with CANONICAL savepoint to /sp.",
                f"Cancelled job {ID}. Savepoint stored in file:/sp/1.",
            ],
        ),
        (
            ("cancel", "-s", ID),
            [("savepoint", ID, None, False), ("cancel", ID)],
            [
                'DEPRECATION WARNING: Cancelling a job with savepoint is deprecated. Use "stop" instead.',
                f"Cancelling job {ID} with CANONICAL savepoint to default savepoint directory.",
                f"Cancelled job {ID}. Savepoint stored in file:/sp/1.",
            ],
        ),
        (
            ("stop", "-p", "/sp", ID),
            [("stop", ID, "/sp", False, False)],
            [
                f'Suspending job "{ID}" with a CANONICAL savepoint.',
                f"Triggering stop-with-savepoint for job {ID}.",
                "Waiting for response...",
                "Savepoint completed. Path: file:/sp/1",
            ],
        ),
        (
            ("stop", "--drain", "-type", "native", ID.upper()),
            [("stop", ID, None, True, True)],
            [
                f'Draining job "{ID}" with a NATIVE savepoint.',
                f"Triggering stop-with-savepoint for job {ID}.",
                "Waiting for response...",
                "Savepoint completed. Path: file:/sp/1",
            ],
        ),
        (
            ("stop", "-detached", ID),
            [("begin stop", ID, None, False, False)],
            [
                f'Suspending job "{ID}" with a CANONICAL savepoint.',
                f"Triggering stop-with-savepoint in detached mode for job {ID}.",
                "Successfully trigger stop-with-savepoint in detached mode, triggerId: ab",
            ],
        ),
        (
            ("savepoint", "-detached", "-type", "NATIVE", ID, "/sp"),
            [("begin savepoint", ID, "/sp", True)],
            [
                f"Triggering savepoint in detached mode for job {ID}.",
                "Successfully trigger manual savepoint, triggerId: ab",
            ],
        ),
        (
            ("savepoint", ID, "/sp"),
            [("savepoint", ID, "/sp", False)],
            [
                f"Triggering savepoint for job {ID}.",
                "Waiting for response...",
                "Savepoint completed. Path: file:/sp/1",
                "You can resume your program from this savepoint with the run command.",
            ],
        ),
        (
            ("checkpoint", "-full", ID),
            [("checkpoint", ID, True)],
            [
                f"Triggering checkpoint for job {ID}.",
                "Waiting for response...",
                f"Checkpoint(FULL) 7 for job {ID} completed.",
                "You can resume your program from this checkpoint with the run command.",
            ],
        ),
    ],
)
def test_what_the_verbs_do_and_say(fake: Fake, words: tuple[str, ...], asked: list[Any], said: list[str]) -> None:
    result = call(*words)
    assert (result.exit_code, result.stdout.splitlines(), result.stderr) == (0, said, "")
    assert fake.asked == asked


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("cancel",), "Missing JobID. Specify a JobID to cancel a job."),
        (("stop",), "Missing JobId"),
        (("savepoint",), "Missing JobID. Specify a Job ID to trigger a savepoint."),
        (("checkpoint",), "Missing JobID. Specify a Job ID to manipulate a checkpoint."),
        (
            ("savepoint", "-d", "/sp", ID),
            "--dispose deletes one savepoint and takes no job: leave out the other arguments",
        ),
        (("savepoint", "-d"), "Missing argument for option: d"),
        (("savepoint", "--dispose"), "Missing argument for option: d"),
        (("list", "--nonsense"), "Unrecognized option: --nonsense"),
        (
            ("cancel", ID, "-savepoint", "/sp"),
            "Unrecognized option: -savepoint (is --withSavepoint meant? -s takes its value behind a space)",
        ),
        (
            ("savepoint", ID, "-dispos", "/sp"),
            "Unrecognized option: -dispos (is --dispose meant? -d takes its value behind a space)",
        ),
        (
            ("stop", "-t", "kubernetes-session", ID),
            "-t kubernetes-session: nearest: --master k8s://HOST:PORT with -D spark.kubernetes...",
        ),
        *(
            (
                (verb, "xyz"),
                'Cannot parse JobID from "xyz". The expected format is [0-9a-fA-F]{32}, e.g. '
                "fd72014d4c864993a2e5a9287b4a9c5d.",
            )
            for verb in ("cancel", "stop", "savepoint", "checkpoint")
        ),
    ],
)
def test_mistakes_are_told_on_standard_output(fake: Fake, words: tuple[str, ...], text: str) -> None:
    result = call(*words)
    assert (result.exit_code, result.stdout, result.stderr) == (1, text + HINT, "")
    assert fake.asked == []


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("cancel", "-withSavepoint", "/sp", ID), ("savepoint", ID, "/sp", False)),
        (("cancel", ID, "-s/sp"), ("savepoint", ID, "/sp", False)),
        (("stop", "-drain", "-savepointPath=/sp", ID), ("stop", ID, "/sp", True, False)),
    ],
)
def test_long_names_may_have_one_dash(fake: Fake, words: tuple[str, ...], asked: tuple[Any, ...]) -> None:
    result = call(*words)
    assert result.exit_code == 0, result.output
    assert fake.asked[0] == asked


@pytest.mark.parametrize("name", ["-m", "--jobmanager", "-t", "-e", "-z", "-yid"])
def test_an_option_that_is_read_before_the_action_has_no_value(fake: Fake, name: str) -> None:
    result = call("list", name)
    assert (result.exit_code, result.stdout) == (31, "")
    short = "m" if name == "--jobmanager" else name.strip("-")
    assert result.stderr == f"Missing argument for option: {'t' if short == 'e' else short}\n"


@pytest.mark.parametrize("verb", ["list", "stop", "cancel", "savepoint", "checkpoint"])
@pytest.mark.parametrize("name", [each for refused in OF_VERBS for each in refused.names])
def test_options_of_flink_that_find_no_cluster_here_are_refused(fake: Fake, verb: str, name: str) -> None:
    result = call(verb, name, "value", *([] if verb == "list" else [ID]))
    assert result.exit_code == 1 and "nearest: -m" in result.stdout and name in result.stdout
    assert fake.asked == []


def test_a_format_of_savepoints_that_there_is_not(fake: Fake) -> None:
    result = call("savepoint", "-type", "nonsense", ID)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Expected one of: [[CANONICAL, NATIVE]]" in result.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("list",), "Failed to retrieve job list."),
        (("cancel", ID), f"Could not cancel job {ID}."),
        (("stop", ID), f'Could not stop with a savepoint job "{ID}".'),
        (("savepoint", ID), f"Failed to trigger a savepoint for the job {ID}."),
        (("checkpoint", ID), f"Failed to trigger a checkpoint for the job {ID}."),
    ],
)
def test_failures_are_told_on_standard_error(fake: Fake, words: tuple[str, ...], text: str) -> None:
    fake.error = "the cluster says no"
    result = call(*words)
    assert result.exit_code == 1
    assert result.stderr == f"{FAILED}{text}\nCaused by: the cluster says no\n"


# -- which cluster --------------------------------------------------------------------------------------------------


def test_nothing_runs() -> None:
    with pytest.raises(ElsewhereError, match="nothing runs: no cluster"):
        job_lookup.jobs_at(None)


def test_several_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """An error that lists them, unless one of them has the job."""
    entry = Entry(FOREGROUND, this_process(), program="job.py")
    cluster = Entry(CLUSTER, this_process(), "http://localhost:8081")
    found = [RunEntry("/run/run-1", entry), RunEntry("/run/cluster", cluster)]
    having = {"/run/run-1": Fake(job("a", "RUNNING")), "/run/cluster": Fake()}
    monkeypatch.setattr(job_lookup, "_found", lambda: found)
    monkeypatch.setattr(job_lookup, "jobs_of", lambda each: having[each.folder])
    listed = r"several run, say which one:\n  -m run-1  process \d+ \(job.py\)\n  -m localhost:8081  http"
    with pytest.raises(ElsewhereError, match=listed):
        job_lookup.jobs_at(None)
    assert job_lookup.jobs_at(None, (), ID) is having["/run/run-1"]
    assert job_lookup.jobs_at("127.0.0.1:8081") is having["/run/cluster"]
    assert job_lookup.jobs_at("run-1") is having["/run/run-1"]
    assert job_lookup.jobs_at(None, ("rest.port=8081",)) is having["/run/cluster"]
    other: Any = job_lookup.jobs_at("elsewhere:8081")
    assert other.url == "http://elsewhere:8081"


def test_what_runs_in_another_folder_is_not_seen() -> None:
    assert "millrace-tests-run-" in os.environ[run_folder.RUN_DIRECTORY]
