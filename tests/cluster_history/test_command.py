"""``millrace history-server`` as a command."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from tests.cluster.rest.samples import job_id, sample_job

from millrace.cli.main import main
from millrace.cluster.history import write_archive


def test_it_shows_archives_until_it_is_ended(tmp_path: Path) -> None:
    write_archive(str(tmp_path / "a"), sample_job(1, "FINISHED"))
    write_archive(str(tmp_path / "b"), sample_job(2, "FAILED"))
    command = [sys.executable, "-m", "millrace", "history-server", "--dir", str(tmp_path / "a"), "--port", "0"]
    command += ["-D", f"historyserver.archive.fs.dir={tmp_path / 'b'}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://localhost:\d+", line)
        assert address is not None, line
        jobs = httpx.get(f"{address[0]}/jobs/overview", timeout=60).json()["jobs"]
        assert {each["jid"] for each in jobs} == {job_id(1), job_id(2)}
        assert httpx.get(f"{address[0]}/config", timeout=60).json()["refresh-interval"] == 10_000
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) in (0, -signal.SIGTERM)
    finally:
        process.kill()
        process.communicate()


def test_without_its_packages_it_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.startswith(("millrace.cluster.rest", "uvicorn"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(main, ["history-server", "--dir", "/a"])
    assert result.exit_code == 1 and "pip install 'millrace-streaming[cluster]'" in result.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "Where are the archives?"),
        (["--dir", "/a", "-D", "x"], "'x' is not key=value"),
        (["--dir", "/a", "--port", "x"], "'x' is no port"),
        (
            ["--dir", "/a", "-D", "historyserver.web.address=0.0.0.0", "-D", "security.rest.auth=none"],
            "needs a token",
        ),
        (["--dir", "/a", "-D", "historyserver.archive.fs.refresh-interval=soon"], "not a span of time: 'soon'"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], text: str) -> None:
    result = CliRunner().invoke(main, ["history-server", *arguments])
    assert result.exit_code != 0 and text in result.output


def test_the_directory_of_archives_may_stand_in_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.yaml").write_text(
        f"historyserver:\n  archive.fs.dir: {tmp_path}\n  web.address: 0.0.0.0\nsecurity.rest.auth: none\n"
    )
    for arguments in (["--config-dir", str(tmp_path)], []):
        monkeypatch.setenv("MILLRACE_CONF_DIR", str(tmp_path))
        result = CliRunner().invoke(main, ["history-server", *arguments])
        assert result.exit_code == 1 and "listens on 0.0.0.0" in result.output
