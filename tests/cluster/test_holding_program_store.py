"""Uploaded programs of a cluster: what is refused before anything begins."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from millrace.cluster import job_folder
from millrace.cluster.control import Launch, LaunchError, NoEntryError
from millrace.cluster.documents import JobDocument
from millrace.cluster.processes.server import PYTHON_DRIVER, ClusterPrograms


@pytest.fixture
def programs(tmp_path: Path) -> ClusterPrograms:
    job_folder.make_folders(str(tmp_path))
    planned = JobDocument("a" * 32, "planned", "CREATED", False, 1, -1, 0, -1, 0, {})
    return ClusterPrograms(str(tmp_path), lambda launch, path: planned)


def test_a_python_file_has_no_entries(programs: ClusterPrograms) -> None:
    uploaded = programs.upload("job.py", io.BytesIO(b"1")).id
    with pytest.raises(NoEntryError, match=r"entry point class 'nothing.Here' was not found: job\.py"):
        programs.plan(Launch(uploaded, entry="nothing.Here"))
    for entry in (None, "job.py", PYTHON_DRIVER):
        assert programs.plan(Launch(uploaded, entry=entry)).name == "planned"


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_a_savepoint_that_is_not_there_is_refused(programs: ClusterPrograms, tmp_path: Path, form: str) -> None:
    uploaded = programs.upload("job.py", io.BytesIO(b"1")).id
    missing = form.format(tmp_path / "none")
    with pytest.raises(LaunchError, match="Cannot find checkpoint or savepoint file/directory"):
        programs.run(Launch(uploaded, savepoint=missing))
    assert job_folder.names(str(tmp_path), job_folder.SUBMISSIONS) == []


def test_a_savepoint_elsewhere_is_the_jobs_to_find(programs: ClusterPrograms, tmp_path: Path) -> None:
    from millrace.cluster.processes.server import check_savepoint

    for path in (None, "s3://bucket/savepoint", "hdfs://name:1/savepoint", str(tmp_path), f"file://{tmp_path}"):
        check_savepoint(path)
