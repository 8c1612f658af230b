"""What the holder of a cluster says of an engine that is not there, and of one that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.cluster.holding import cluster_holder
from millrace.cluster.holding.cluster_holder import ClusterHolder
from millrace.cluster.places import job_folder
from millrace.cluster.wire.asking import NotThereError, RefusedError


@pytest.fixture
def holder(tmp_path: Path) -> ClusterHolder:
    job_folder.make_folders(str(tmp_path))
    return ClusterHolder(str(tmp_path), {})


def test_an_engine_that_is_being_started_has_no_task_managers(holder: ClusterHolder) -> None:
    assert list(holder.task_managers()) == []


def test_an_engine_that_fails_says_so(holder: ClusterHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RefusedError("Py4JException", "Method getProcessCpuLoad([]) does not exist")

    monkeypatch.setattr(cluster_holder, "ask", refuse)
    with pytest.raises(RefusedError, match="getProcessCpuLoad"):
        holder.task_managers()
    assert not issubclass(RefusedError, NotThereError)
