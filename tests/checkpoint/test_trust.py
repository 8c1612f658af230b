"""Where others could have put something nothing is unpickled, unless the user says that they may be trusted."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.every_state import every_state

from millrace.checkpoint.directory import CheckpointDirectory, CheckpointPlan, JobHome
from millrace.checkpoint.folder import LocalFolder, open_folder
from millrace.checkpoint.restore import restore_from
from millrace.common.jobs import JobStatus
from millrace.connectors.result_cache import ResultCache
from millrace.connectors.write_ahead import BatchSender, WriteAheadSink
from millrace.runtime.coordination.checkpoints import CheckpointSettings
from millrace.state import SavepointWriter
from millrace.util.folders import NotPrivateError


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture(params=["savepoint", "checkpoint"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    job = SavedJob(collecting(every_state, 2), tmp_path / "job", checkpoint_every=1)
    job.epoch()
    checkpoint = job.epoch(tmp_path / "savepoint").checkpoint
    assert checkpoint is not None
    return tmp_path / "savepoint" if request.param == "savepoint" else Path(checkpoint)


def some_file(saved: Path) -> Path:
    """One with state in it."""
    return next(
        path for root in (saved, saved.parent / "shared") if root.exists() for path in sorted(root.rglob("*.*"))
    )


def opened_to_all(path: Path) -> None:
    path.chmod(0o777)


def given_away(path: Path) -> None:
    os.chown(path, 12345, -1)


WAYS = [opened_to_all, *([given_away] if os.geteuid() == 0 else [])]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "place", [lambda saved: saved, lambda saved: saved / "_metadata", some_file], ids=["folder", "metadata", "file"]
)
def test_what_others_can_have_written_is_not_restored(
    way: Callable[[Path], None], place: Callable[[Path], Path], saved: Path, tmp_path: Path
) -> None:
    way(place(saved))
    job = SavedJob(collecting(every_state, 2), tmp_path / "next")
    with pytest.raises(NotPrivateError, match=f"{place(saved)} is not private.*millrace.state.trust-directory=true"):
        job.restore(str(saved))
    with pytest.raises(NotPrivateError, match=str(place(saved))):
        SavepointWriter.from_savepoint(str(saved))
    SavepointWriter.from_savepoint(str(saved), trust_directory=True)
    assert restore_from(str(saved), job.coordinator, False, claim=False, trust_directory=True).order is not None


def test_nothing_is_unpickled_before_it_is_known_whose_it_is(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened_to_all(saved / "_metadata")
    job = SavedJob(collecting(every_state, 2), tmp_path / "next")
    monkeypatch.setattr(pickle, "loads", lambda payload: pytest.fail("unpickled"))
    with pytest.raises(NotPrivateError):
        job.restore(str(saved))


def test_what_is_our_own_is_restored(saved: Path, tmp_path: Path) -> None:
    job = SavedJob(collecting(every_state, 2), tmp_path / "next")
    job.restore(str(saved))
    assert job.finish()


def test_a_link_to_a_directory_counts_as_that(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(saved.parent)
    opened_to_all(saved)
    with pytest.raises(NotPrivateError, match="everybody"):
        SavedJob(collecting(every_state, 2), tmp_path / "next").restore(str(tmp_path / "link" / saved.name))


# -- folders of running jobs ------------------------------------------------------------------------------------------

PLAN = CheckpointSettings(1000)


@pytest.mark.parametrize("durable", [True, False])
def test_the_folder_of_a_job_is_its_users_alone(durable: bool, tmp_path: Path) -> None:
    def home(trust: bool = False) -> JobHome:
        plan = CheckpointPlan(PLAN, str(tmp_path / "ck")) if durable else None
        return JobHome("id", plan, str(tmp_path / "state"), trust_directory=trust)

    folder = home().folder.uri
    assert mode(folder) == 0o700
    os.chmod(folder, 0o777)
    with pytest.raises(NotPrivateError, match=f"{folder} is not private"):
        home()
    trusted = home(trust=True)
    assert mode(folder) == 0o777
    trusted.close(JobStatus.FINISHED)
    assert not os.path.exists(folder)
    home(trust=True)
    assert mode(folder) == 0o755, "as the umask says: executors of other users read there"


def test_directories_of_others_are_refused_for_jobs(tmp_path: Path) -> None:
    (tmp_path / "ck").mkdir()
    (tmp_path / "ck").chmod(0o777)  # others could put a folder in the place of ours
    with pytest.raises(NotPrivateError, match=f"{tmp_path}/ck above it can be written to by everybody"):
        JobHome("id", CheckpointPlan(PLAN, str(tmp_path / "ck")), None)
    (tmp_path / "ck").chmod(0o1777)
    JobHome("id", CheckpointPlan(PLAN, str(tmp_path / "ck")), None)


def test_temporary_folders_are_private(tmp_path: Path) -> None:
    home = JobHome("id", None, None, str(tmp_path))
    assert [mode(path) for path in tmp_path.iterdir()] == [0o700]
    assert isinstance(CheckpointDirectory(home.folder).shared, LocalFolder)


def test_who_may_not_write_hears_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: str, *_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("builtins.open", refused)
    folder = open_folder(str(tmp_path))
    monkeypatch.setattr(os, "unlink", lambda path: None)
    with pytest.raises(PermissionError, match=r"may not write there.*YARN.*millrace.state.trust-directory=true"):
        folder.write("a/b", [b""])


def test_cached_results_are_their_users_alone(tmp_path: Path) -> None:
    cache = ResultCache(str(tmp_path))
    sink = cache.sink()  # its files go with it
    assert [mode(path) for path in tmp_path.iterdir()] == [0o700]
    tmp_path.chmod(0o777)
    with pytest.raises(NotPrivateError):
        cache.sink()
    ResultCache(str(tmp_path), trust_directory=True).sink()
    del sink


class Log(WriteAheadSink[Any]):
    def create_sender(self) -> BatchSender[Any]:
        raise NotImplementedError


def test_write_ahead_logs_are_their_users_alone(tmp_path: Path) -> None:
    place = tmp_path / "log"
    Log(str(place))._folder()
    assert mode(place) == 0o700
    place.chmod(0o777)
    with pytest.raises(NotPrivateError, match=f"{place} is not private"):
        Log(str(place)).create_committer()
    Log(str(place), trust_directory=True)._folder()
