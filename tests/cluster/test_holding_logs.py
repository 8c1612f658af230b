"""The logs that are listed: those of a folder, older ones among them."""

from __future__ import annotations

from pathlib import Path

from millrace.cluster import job_folder
from millrace.cluster.job_holders import with_older
from millrace.cluster.processes.server import ClusterHolder


def test_older_files_are_listed_and_read(tmp_path: Path) -> None:
    job_folder.make_folders(str(tmp_path))
    for name in ("server.log", "server.log.1", "server.log.2", "a.out.1", "archive.zip", "x.log4j2.properties"):
        (tmp_path / "logs" / name).write_text(name)
    holder = ClusterHolder(str(tmp_path), {})
    assert [each.name for each in holder.logs(None)] == ["a.out.1", "server.log", "server.log.1", "server.log.2"]
    assert b"".join(holder.read_log(None, "server.log.2") or ()) == b"server.log.2"
    assert holder.read_log(None, "archive.zip") is None
    assert holder.read_log(None, "../logs/server.log") is None


def test_a_log_with_what_it_was_before(tmp_path: Path) -> None:
    for name in ("a.log", "a.log.1", "a.log.10", "b.log.1", "a.log4j2.properties"):
        (tmp_path / name).touch()
    found = with_older(str(tmp_path / "a.log"))
    assert [Path(each).name for each in found] == ["a.log", "a.log.1", "a.log.10"]
    assert with_older("/not/there/a.log") == ["/not/there/a.log"]
