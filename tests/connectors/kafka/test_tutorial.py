"""The tutorial on Kafka, program by program, on a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.local_jobs import run_jobs_locally
from tests.test_docs import PROGRAMS, run_block

from millrace.testing.services import Kafka

pytestmark = pytest.mark.services

PAGE = "docs/tutorials/kafka.md"
BLOCKS = [(block, output) for block, output in PROGRAMS if block.page == PAGE and block.file is None]


def test_the_programs_of_the_page(
    broker: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_jobs_locally(monkeypatch)
    monkeypatch.setenv("KAFKA", broker.bootstrap)
    assert sum(output is not None for _, output in BLOCKS) == 2
    for block, output in BLOCKS:
        run_block(block, output, tmp_path, monkeypatch, capsys)
        capsys.readouterr()
