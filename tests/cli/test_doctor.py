"""``millrace doctor``: what it says of machines on which something is wrong."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from millrace.cli import setup_verbs
from millrace.cli.main import main
from millrace.cli.setup_verbs import Finding, Verdict, bad, good, note


def texts(found: Any) -> list[tuple[Verdict, str]]:
    return [(each.verdict, each.text) for each in found]


def only(found: Any) -> Finding:
    (each,) = found
    return each  # type: ignore[no-any-return]


def test_on_this_machine() -> None:
    result = CliRunner().invoke(main, ["doctor"])
    assert f"Python: {'.'.join(map(str, sys.version_info[:3]))}" in result.output
    assert (result.exit_code == 0) == ("Jobs can run here." in result.output)
    assert (result.exit_code == 1) == ("PROBLEM" in result.output)


def test_problems_are_counted_and_their_cures_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [good("A", "a"), note("B", "b", "do b"), bad("C", "c", "do c")]
    monkeypatch.setattr(setup_verbs, "findings", lambda: iter(found))
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        "     ok  A: a",
        "   note  B: b",
        "         -> do b",
        "PROBLEM  C: c",
        "         -> do c",
        "1 problem to solve before jobs run here.",
    ]


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = only(setup_verbs.check_java())
    assert found.verdict is Verdict.BAD and "apt-get install openjdk-17" in found.cure


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("echo 3.9", "is Python 3.9, this is Python"),
        ("exit 1", "is Python ?, this is Python"),
        (None, "is not there"),
    ],
)
def test_another_python_for_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str | None, told: str
) -> None:
    other = tmp_path / "other-python"
    if program is not None:
        other.write_text(f"#!/bin/sh\n{program}\n")
        other.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    found = list(setup_verbs.check_python())[1]
    assert found.verdict is Verdict.BAD and told in found.text
    assert found.cure == f"export PYSPARK_PYTHON={sys.executable}"


def test_the_same_python_for_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert [each.verdict for each in setup_verbs.check_python()] == [Verdict.GOOD, Verdict.GOOD]


def test_the_placeholder_of_a_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    there = [SimpleNamespace(metadata={"Name": name}) for name in ("pandas", "millrace")]
    monkeypatch.setattr(metadata, "distributions", lambda: there)
    found = list(setup_verbs.check_distribution())[-1]
    assert found.verdict is Verdict.NOTE and "placeholder" in found.text
    assert found.cure.startswith("pip uninstall millrace;")


def test_packages_and_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = [
        "pandas>=2.2,<3",
        "click>=99",
        "no-such-package",
        "kafka-thing; extra == 'kafka'",
        "click>=8; extra == 'sql'",
        "tzdata; sys_platform == 'beos'",
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: needs)
    core, there, missing = setup_verbs.check_packages()
    version = metadata.version("click")
    assert (core.verdict, core.text) == (Verdict.BAD, f"click {version} is not >=99; no-such-package is missing")
    assert (there.verdict, there.text) == (Verdict.GOOD, "sql")
    assert (missing.text, missing.cure) == ("not installed: kafka", "pip install 'millrace-streaming[kafka]'")


def test_all_packages_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: ["click>=8"])
    found = only(setup_verbs.check_packages())
    assert (found.verdict, found.text) == (Verdict.GOOD, f"click {metadata.version('click')}")
    assert setup_verbs._problem(Requirement("click>=8")) == ""


def test_little_memory_and_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_verbs, "_memory", lambda: 1 << 30)
    monkeypatch.setattr(setup_verbs.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1 << 20))
    assert [each.verdict for each in setup_verbs.check_resources()] == [Verdict.NOTE, Verdict.NOTE]


def test_a_run_folder_that_others_can_write_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    os.chmod(folder, 0o777)
    monkeypatch.setenv("MILLRACE_RUN_DIR", str(folder))
    found = only(setup_verbs.check_folders())
    assert found.verdict is Verdict.BAD and "MILLRACE_RUN_DIR" in found.cure


def test_a_name_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> str:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "gethostbyname", unknown)
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    found = only(setup_verbs.check_names())
    assert found.verdict is Verdict.BAD and "SPARK_LOCAL_IP=127.0.0.1" in found.cure
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    assert only(setup_verbs.check_names()).verdict is Verdict.GOOD


def test_sockets_that_are_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: socket.socket, address: Any) -> None:
        raise PermissionError("no")

    assert only(setup_verbs.check_ports()).verdict is Verdict.GOOD
    monkeypatch.setattr(setup_verbs.socket, "socket", type("Refused", (socket.socket,), {"bind": refused}))
    assert only(setup_verbs.check_ports()).verdict is Verdict.BAD


def configured(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> list[Finding]:
    (folder / "flink-conf.yaml").write_text(text)
    monkeypatch.setenv("MILLRACE_CONF_DIR", str(folder))
    return list(setup_verbs.check_configuration())


def test_a_key_that_nothing_reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = configured(monkeypatch, tmp_path, "execution.checkpointing.intervall: 10 s\nparallelism.default: 2\n")
    assert found[0].verdict is Verdict.GOOD
    assert texts(found[1:]) == [
        (
            Verdict.NOTE,
            "nothing reads 'execution.checkpointing.intervall', did you mean 'execution.checkpointing.interval'?",
        )
    ]


def test_a_file_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert [each.verdict for each in configured(monkeypatch, tmp_path, "no colon here\n")] == [Verdict.BAD]


def test_a_cluster_that_answers_and_one_that_does_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = f"rest.address: 127.0.0.1\nrest.port: {port}\n"
        assert texts(configured(monkeypatch, tmp_path, text))[1] == (Verdict.GOOD, f"127.0.0.1:{port} answers")
    found = configured(monkeypatch, tmp_path, text)[1]
    assert found.verdict is Verdict.NOTE and found.text.startswith(f"nothing answers at 127.0.0.1:{port}")


def test_it_needs_no_extra() -> None:
    """A newcomer has none when he asks what is missing."""
    program = """
import sys
for name in ("msgspec", "starlette", "uvicorn", "httpx", "psycopg", "confluent_kafka"):
    sys.modules[name] = None
from millrace.cli.main import main
main(["doctor"], prog_name="millrace")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert "Traceback" not in done.stderr, done.stderr
    assert "Folder of running jobs" in done.stdout
