"""Archives of jobs that have ended: as a whole or not at all, and none is believed that is not what it says."""

from __future__ import annotations

import logging
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster.rest.client import Client
from tests.cluster.rest.samples import job_id, sample_job

from millrace.cluster import history
from millrace.cluster.durable_files import encode
from millrace.cluster.history import HistoryHolder, list_archives, read_archive, write_archive
from millrace.cluster.rest.app import make_app
from millrace.cluster.rest.settings import RestSettings


class Clock:
    """Goes on when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def ended(number: int, state: str = "FINISHED") -> object:
    return sample_job(number, state)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archives"


def client(folder: Path, clock: Clock | None = None) -> Client:
    holder = HistoryHolder([str(folder)], 10.0, clock or Clock())
    return Client(make_app(holder, None, RestSettings(history=True)))


def test_an_archive_is_the_job_without_its_secrets(folder: Path) -> None:
    path = write_archive(str(folder), ended(1))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [each.name for each in folder.iterdir()] == [f"{job_id(1)}.json"]
    assert "geheim" not in Path(path).read_text()
    [archive] = list_archives(str(folder))
    job = read_archive(str(folder), archive)
    assert encode(job) == encode(ended(1)).replace(b"geheim", b"******")


def test_other_file_systems() -> None:
    fsspec = pytest.importorskip("fsspec")
    write_archive("memory://archives", ended(1))
    write_archive("memory://archives", ended(2))
    assert {each.id for each in list_archives("memory://archives")} == {job_id(1), job_id(2)}
    assert {each.id for each in HistoryHolder(["memory://archives"]).jobs()} == {job_id(1), job_id(2)}
    assert HistoryHolder(["memory://archives"]).job(job_id(2)).name == "words 2"
    fsspec.filesystem("memory").rm("/archives", recursive=True)


def test_ids_that_are_none_are_not_archived(folder: Path) -> None:
    for id in ("../../evil", "", "x" * 32, job_id(1).upper().replace("0", "A"), f"{job_id(1)}\n"):
        with pytest.raises(ValueError, match="no id of a job"):
            write_archive(str(folder), replace(ended(1), id=id))
    assert not folder.exists()


def test_a_write_that_fails_leaves_no_archive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(str(folder), ended(1))

    def torn(path: str, text: bytes) -> None:
        Path(path).write_bytes(text[: len(text) // 2])
        raise OSError("no room")

    monkeypatch.setattr(history, "_write_locally", torn)
    with pytest.raises(OSError, match="no room"):
        write_archive(str(folder), replace(ended(1), name="new"))
    assert [job.name for job in HistoryHolder([str(folder)]).jobs()] == ["words 1"]


def test_the_newest_job_comes_first_and_nothing_of_it_is_lost(folder: Path) -> None:
    for number in (1, 2, 3):
        write_archive(str(folder), replace(ended(number), ended=1000 * number))
    own = client(folder)
    assert [each["jid"] for each in own.get("/jobs/overview").json()["jobs"]] == [job_id(n) for n in (3, 2, 1)]
    job = own.get(f"/jobs/{job_id(2)}").json()
    assert job["vertices"][1]["metrics"]["read-records"] == 2001
    assert own.get(f"/jobs/{job_id(2)}/checkpoints").json()["counts"]["completed"] == 4
    assert len(own.get(f"/jobs/{job_id(2)}/exceptions").json()["exceptionHistory"]["entries"]) == 2
    assert own.get(f"/jobs/{job_id(2)}/accumulators").json()["user-task-accumulators"][0]["value"] == "7"


def test_many_jobs_are_read_again_when_they_are_asked_for(folder: Path) -> None:
    for number in range(1, 31):
        write_archive(str(folder), ended(number))
    own = client(folder)
    for number in [*range(1, 31), 1]:
        assert own.get(f"/jobs/{job_id(number)}/plan").json()["plan"]["name"] == f"words {number}"


def test_directories_are_looked_at_now_and_then(folder: Path) -> None:
    clock = Clock()
    own = client(folder, clock)
    assert own.get("/jobs/overview").json() == {"jobs": []}, "the directory is not even there"
    write_archive(str(folder), ended(1))
    clock.now = 9.0
    assert own.get("/jobs/overview").json() == {"jobs": []}
    clock.now = 10.0
    assert len(own.get("/jobs/overview").json()["jobs"]) == 1
    write_archive(str(folder), replace(ended(1), name="another name"))
    clock.now = 20.0
    assert own.get("/jobs/overview").json()["jobs"][0]["name"] == "another name"
    assert own.get(f"/jobs/{job_id(1)}").json()["name"] == "another name"
    (folder / f"{job_id(1)}.json").unlink()
    clock.now = 30.0
    assert own.get("/jobs/overview").json() == {"jobs": []}
    assert own.get(f"/jobs/{job_id(1)}").status_code == 404


def test_an_archive_that_goes_away_between_two_looks(folder: Path) -> None:
    write_archive(str(folder), ended(1))
    own = client(folder)
    assert len(own.get("/jobs/overview").json()["jobs"]) == 1
    (folder / f"{job_id(1)}.json").unlink()
    assert own.get(f"/jobs/{job_id(1)}").json() == {"errors": ["File not found."]}


def test_hostile_and_torn_archives_are_left_out_and_told_once(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_archive(str(folder), ended(1))
    good = (folder / f"{job_id(1)}.json").read_bytes()
    secret = tmp_path / "secret.json"
    secret.write_bytes(encode(replace(ended(9), id=job_id(9))))
    hostile = {
        job_id(2): good[: len(good) // 2],
        job_id(3): b"",
        job_id(4): good,  # of another job
        job_id(5): b"[" * 100_000,
        job_id(6): b'{"id": 5}',
        job_id(7): b"\xff\xfe",
        job_id(8): b"null",
    }
    for id, text in hostile.items():
        (folder / f"{id}.json").write_bytes(text)
    os.symlink(secret, folder / f"{job_id(9)}.json")
    (folder / f"{job_id(10)}.json").mkdir()
    (folder / "README.txt").write_text("nothing")
    (folder / f".{job_id(11)}.hidden").write_bytes(good)
    os.mkfifo(folder / f"{job_id(12)}.json")
    clock = Clock()
    own = client(folder, clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert [each["jid"] for each in own.get("/jobs/overview").json()["jobs"]] == [job_id(1)]
            clock.now += 100
        for id in [*hostile, job_id(9), job_id(10), job_id(12)]:
            assert own.get(f"/jobs/{id}").json() == {"errors": ["File not found."]}
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == len(hostile) and all(sum(id in text for text in told) == 1 for id in hostile)


def test_an_archive_that_is_too_large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(str(folder), ended(1))
    monkeypatch.setattr(history, "LARGEST", 100)
    assert HistoryHolder([str(folder)]).jobs() == []


@pytest.mark.parametrize(
    "path",
    ["/overview", "/jobs", f"/jobs/{job_id(1)}/status", f"/jobs/{job_id(1)}/execution-result", "/taskmanagers",
     "/nothing", f"/jobs/{job_id(77)}", "/jobs/xyz", "/jobs/..%2f..%2fetc%2fpasswd", f"/jobs/{job_id(1)}%00",
     "/v1/config",
     f"/jobs/{job_id(1)}/vertices/{job_id(77)}", f"/applications/{job_id(77)}", "/jobmanager/log"],
)  # fmt: skip
def test_what_is_not_archived_is_a_missing_file(folder: Path, path: str) -> None:
    write_archive(str(folder), ended(1))
    response = client(folder).get(path)
    assert (response.status_code, response.json()) == (404, {"errors": ["File not found."]})


def test_nothing_can_be_changed(folder: Path) -> None:
    write_archive(str(folder), ended(1))
    own = client(folder)
    for method, path in (("PATCH", f"/jobs/{job_id(1)}"), ("DELETE", "/cluster"), ("POST", "/jars/upload")):
        assert own.call(method, path).status_code == 404
    config = own.get("/config").json()
    assert config["features"] == {"web-submit": False, "web-cancel": False, "web-rescale": False, "web-history": True}
    assert own.get(f"/millrace/jobs/{job_id(1)}").json()["name"] == "words 1"
