"""Commands that wait for the end of an epoch say what it is at."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from tests.cluster.documents import job

from millrace.cli import job_lookup
from millrace.cli.main import main
from millrace.cluster.control import ElsewhereError
from millrace.cluster.documents import JobDocument

ID = "5e20cb6b0f357591171dfcca2eea09de"
LINE = "epoch 7 runs for 12 s: map (1/2), task 0 of stage 1, has been at a piece of 1 element for 3.0 s"


class Slow:
    """A job whose savepoint is there when it has been asked four times what it is at."""

    def __init__(self) -> None:
        self._answers: Iterator[str | ElsewhereError | None] = iter([LINE, None, ElsewhereError("busy")])
        self._asked = threading.Event()

    def document(self, id: str) -> JobDocument:
        assert id == ID
        answer = next(self._answers, "")
        if answer == "":
            self._asked.set()
        if isinstance(answer, ElsewhereError):
            raise answer
        return job(at_work=answer)

    def savepoint(self, id: str, directory: str | None, native: bool) -> str:
        assert self._asked.wait(60)
        return "file:/sp/1"

    def stop(self, id: str, directory: str | None, drain: bool, native: bool) -> str:
        return self.savepoint(id, directory, native)

    def cancel(self, id: str) -> None:
        """At once."""


@pytest.mark.parametrize("words", [("stop", ID), ("savepoint", ID), ("cancel", "-s", "/sp", ID)])
def test_a_command_that_waits_says_what_the_job_is_at(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    monkeypatch.setattr(job_lookup, "jobs_at", lambda *_: slow)
    monkeypatch.setattr(job_lookup, "EVERY_SECONDS", 0.01)
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0
    assert "file:/sp/1" in result.stdout
    assert LINE not in result.stdout
    assert set(result.stderr.splitlines()) == {f"Still waiting: {LINE}"}
