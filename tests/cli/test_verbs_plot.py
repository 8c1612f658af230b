"""``millrace plot``, with a job that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.cluster.documents import NOW, id_of, job

from millrace.cli import job_lookup
from millrace.cli.main import main
from millrace.cluster.control import UnknownJobError
from millrace.cluster.documents import EpochDocument, JobDocument

JOB = id_of("orders")
EPOCHS = tuple(EpochDocument(each, NOW + each * 100, 90, 5, None) for each in range(3))


class Jobs:
    def __init__(self, *documents: JobDocument) -> None:
        self._documents = {each.id: each for each in documents}

    def document(self, job: str) -> JobDocument:
        try:
            return self._documents[job]
        except KeyError:
            raise UnknownJobError(f"Could not find Flink job ({job})") from None


def plot(monkeypatch: pytest.MonkeyPatch, jobs: Any, *words: str) -> Result:
    monkeypatch.setattr(job_lookup, "jobs_at", lambda *_: jobs)
    return CliRunner().invoke(main, ["plot", *words])


def test_to_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    result = plot(monkeypatch, Jobs(job(epochs=EPOCHS)), JOB)
    assert (result.exit_code, result.stdout[:5]) == (0, "<svg ")


def test_into_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "job.svg"
    result = plot(monkeypatch, Jobs(job(epochs=EPOCHS)), "-o", str(file), JOB)
    assert result.stdout == f"{file}\n"
    assert "prefers-color-scheme" in file.read_text()


@pytest.mark.parametrize(
    ("jobs", "words", "said"),
    [
        (Jobs(), (JOB,), "Could not find Flink job"),
        (Jobs(job(epochs=EPOCHS[:1])), (JOB,), "has not completed two epochs yet"),
        (Jobs(), (), "Missing JobID"),
        (Jobs(), ("what",), "Cannot parse JobID"),
    ],
)
def test_refused(monkeypatch: pytest.MonkeyPatch, jobs: Jobs, words: tuple[str, ...], said: str) -> None:
    result = plot(monkeypatch, jobs, *words)
    assert result.exit_code == 1
    assert said in result.output
