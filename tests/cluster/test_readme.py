"""What the README says of clusters holds: its command runs its first program on a standalone cluster."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.running import ROOT
from tests.cluster.standalone_spark import Standalone
from tests.test_docs import Block, blocks_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]

README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    with Standalone(tmp_path / "cluster", workers=1, cores=2, memory="1g") as standalone:
        yield standalone


def test_the_command_of_the_readme_runs_its_program(tmp_path: Path, cluster: Standalone) -> None:
    program, output = _first_program()
    work, shared = tmp_path / "work", tmp_path / "shared"
    work.mkdir()
    (work / "job.py").write_text(program.text, "utf-8")
    here = {
        ".venv/bin/millrace": str(Path(sys.executable).with_name("millrace")),
        "spark://host:7077": cluster.master,
        "millrace.state.directory=/mnt/shared/millrace": f"millrace.state.directory={shared}",
    }
    command = shlex.split(_command())
    assert set(here) < set(command), "places that a reader replaces with his own"
    ended = subprocess.run(
        [here.get(word, word) for word in command],
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ended.returncode == 0, ended.stderr
    assert sorted(ended.stdout.splitlines()) == sorted(output.text.splitlines())
    assert shared.is_dir(), "the tasks keep their state where the command says"


def _command() -> str:
    """The line of the chapter that is a command."""
    chapter = README.partition("\n## On a cluster\n")[2].partition("\n## ")[0]
    (command,) = [line.strip() for line in chapter.splitlines() if line.startswith("    ") and "--master" in line]
    return command


def _first_program() -> tuple[Block, Block]:
    """The word count, and what it prints."""
    program, output = blocks_of("README.md", README)[:2]
    assert (program.language, output.language) == ("python", "text")
    return program, output
