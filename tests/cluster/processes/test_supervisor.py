"""The supervisor with programs that need no Spark."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.cluster.processes.running import SECONDS, Small, environment, wait_for
from tests.cluster.processes.small import CLIENT_POINTS, IDLE, POINTS, submit
from tests.forks import Forked

from millrace.cluster import job_folder, submissions
from millrace.cluster.rpc import connect, receive, send


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Small]:
    with Small(tmp_path / "cluster") as made:
        yield made


def test_programs_run_with_their_words_and_exit_codes(small: Small) -> None:
    small.start()
    ids = [small.submit("a", "exit=0"), small.submit("b", "exit=3"), small.submit("c", "os._exit=5")]
    assert [small.outcome(id).exit_code for id in ids] == [0, 3, 5]
    assert [small.output(id) for id in ids] == ["said a exit=0\n", "said b exit=3\n", "said c os._exit=5\n"]
    # One that failed without a job is seen all the same.
    seen = {id: job_folder.read_archive(path) for id, path in job_folder.archived(small.folder)}
    assert {id: document.state for id, document in seen.items() if document} == {ids[1]: "FAILED", ids[2]: "FAILED"}


def test_it_ends_when_nothing_has_run_for_a_while(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IDLE, "0.3")
    runs = small.submit("sleep=1", "wait")
    small.start()
    assert small.process is not None
    small.begun(runs)
    wait_for(lambda: "waiting" in small.output(runs), "the program")  # it has run for longer than that
    assert small.process.poll() is None
    assert small.ask("cancel", id=runs)
    assert small.process.wait(SECONDS) == 0
    assert small.outcome(runs).exit_code == 143


def test_one_program_takes_no_other_with_it(small: Small) -> None:
    small.start()
    stays, dies = small.submit("wait"), small.submit("wait")
    os.kill(small.begun(dies), signal.SIGKILL)
    assert small.outcome(dies).exit_code == 137
    assert "was killed by SIGKILL" in small.output(dies, "log")
    assert submissions.is_running(os.path.join(small.folder, "jobs", stays))
    assert small.ask("cancel", id=stays)
    assert small.outcome(stays).exit_code == 143


def test_a_program_that_does_not_hear_a_cancellation_is_killed_with_what_it_started(small: Small) -> None:
    """As one whose JVM waits for a YARN that is away."""
    small.start()
    id = small.submit("stuck")
    small.begun(id)
    wait_for(lambda: "child" in small.output(id), "the program")
    child = int(small.output(id).rpartition("child ")[2])
    assert small.ask("cancel", id=id)
    assert small.outcome(id).exit_code == 137
    wait_for(lambda: _is_gone(child), "what it started")
    (document,) = (job_folder.read_archive(path) for _, path in job_folder.archived(small.folder))
    assert document is not None and document.state == "CANCELED"


def _is_gone(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True


def test_an_attached_program_has_the_streams_of_its_command(small: Small) -> None:
    small.start()
    read, write = os.pipe()
    given, give = os.pipe()
    os.write(give, b"typed\n")
    id = small.submit("echo", "exit=4", attached=True)
    with attached(small, id, [given, write, write]) as connection:
        assert receive(connection)[0] == {"result": True}
        assert receive(connection)[0] == {"exit": 4}
    os.close(write)
    with open(read) as file:
        assert file.read() == "said echo exit=4\ntyped\n"


def test_the_end_of_what_a_program_prints_is_seen_while_others_run(small: Small) -> None:
    small.start()
    nothing = os.open(os.devnull, os.O_RDWR)
    read, write = os.pipe()
    short, long = small.submit("sleep=0.5", attached=True), small.submit("wait", attached=True)
    with attached(small, short, [nothing, write, write]):
        os.close(write)
        with attached(small, long, [nothing, nothing, nothing]):
            small.begun(long)
            with open(read) as file:
                assert file.read() == "said sleep=0.5\n"
            assert submissions.is_running(os.path.join(small.folder, "jobs", long))


def test_signals_are_handed_on(small: Small) -> None:
    small.start()
    read, write = os.pipe()
    id = small.submit("wait", attached=True)
    with attached(small, id, [os.open(os.devnull, os.O_RDONLY), write, write]) as connection:
        assert receive(connection)[0] == {"result": True}
        with open(read) as file:
            assert [file.readline(), file.readline()] == ["said wait\n", "waiting\n"]
            send(connection, {"call": "signal", "number": int(signal.SIGINT)})
            assert receive(connection)[0] == {"exit": 130}


def test_a_program_whose_command_died_before_it_began_does_not_run(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000)  # long ago
    id = small.submit("a", attached=True)
    monkeypatch.undo()
    small.start()
    assert small.outcome(id).text == "the command that submitted it ended before it began"
    assert small.ran(id) == 0


def test_stopping_ends_all_programs(small: Small) -> None:
    small.start()
    ids = [small.submit("wait"), small.submit("wait")]
    for each in ids:
        small.begun(each)
    wait_for(lambda: all("waiting" in small.output(id) for id in ids), "the programs wait")
    small.ask("stop")
    assert small.process is not None
    small.process.wait(SECONDS)
    assert [small.outcome(id).exit_code for id in ids] == [143, 143]
    assert not os.path.exists(small.socket)


def test_programs_survive_the_supervisor(small: Small) -> None:
    small.start()
    id = small.submit("wait")
    small.begun(id)
    wait_for(lambda: "waiting" in small.output(id), "the program waits")
    small.kill()
    small.start()
    assert small.ask("cancel", id=id)  # the next supervisor knows it
    assert small.outcome(id).exit_code == 143
    assert small.ran(id) == 1


def test_a_program_that_ended_without_a_supervisor_is_settled_by_the_next(small: Small) -> None:
    small.start()
    id = small.submit("wait")
    pid = small.begun(id)
    wait_for(lambda: "waiting" in small.output(id), "the program waits")
    small.kill()
    os.kill(pid, signal.SIGTERM)
    small.start()
    assert small.outcome(id).exit_code == 143
    assert small.ran(id) == 1


@pytest.mark.draw(4)
@pytest.mark.parametrize("point", POINTS)
def test_a_death_at_any_step_lets_a_program_run_once_or_not_at_all(small: Small, point: str) -> None:
    id = small.submit("exit=0")
    small.start(point)
    wait_for(lambda: os.path.exists(os.path.join(small.folder, "killed")), "somebody is killed")
    assert small.process is not None
    if point not in ("before an attempt", "after an attempt has begun", "before the outcome", "after the outcome"):
        small.process.wait(SECONDS)  # the supervisor itself was killed
        small.start()
    outcome = small.outcome(id)
    assert small.ran(id) == (0 if "attempt" in point else 1)
    assert outcome.exit_code == (137 if point in CHILD_DIES else 0)
    assert not submissions.submit(small.folder, submissions.SubmittedProgram(id, small.folder))
    for place in (job_folder.SUBMISSIONS, job_folder.JOBS):
        assert job_folder.names(small.folder, place) == []


CHILD_DIES = ("before an attempt", "after an attempt has begun", "before the outcome")


@pytest.mark.parametrize("point", CLIENT_POINTS)
def test_a_command_that_dies_while_it_submits(small: Small, point: str) -> None:
    id = submissions.new_id()
    died = Forked(partial(submit, small.folder, id, point), env=environment())
    assert died.wait(SECONDS) == -signal.SIGKILL
    again: Forked[str] = Forked(partial(submit, small.folder, id, None), env=environment(), stdout=PIPE, text=True)
    assert again.communicate(timeout=SECONDS)[0] == (
        "False\n" if point == "after the submission is there" else "True\n"
    )
    small.start()
    assert small.outcome(id).exit_code == 0
    assert small.ran(id) == 1


def attached(small: Small, id: str, streams: list[int]) -> socket.socket:
    """A command that waits for a program; it has let go of the streams itself."""
    wait_for(lambda: os.path.exists(small.socket), "the supervisor listens")
    connection = connect(small.socket, "the supervisor", SECONDS)
    send(connection, {"call": "submitted", "id": id}, streams)
    return connection
