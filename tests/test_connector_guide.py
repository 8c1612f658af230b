"""The connector of docs/guide/connectors.md works: its job, its checks, its table."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.connectors.tables.message_tables import MessageTables
from tests.local_jobs import run_jobs_locally
from tests.test_docs import ROOT, blocks_of

PAGE = "docs/guide/connectors.md"
FILES = ("letterbox.py", "job.py", "test_letterbox.py", "letter_table.py")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    blocks = [each for each in blocks_of(PAGE, (ROOT / PAGE).read_text("utf-8")) if each.language == "python"]
    for name, block in zip(FILES, blocks):
        (tmp_path / name).write_text(block.text)
    assert len(blocks) == len(FILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("letterbox", "letter_table"):
        sys.modules.pop(name, None)


def test_its_job(files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_jobs_locally(monkeypatch)
    runpy.run_path("job.py")
    assert capsys.readouterr().out == "['hello', 'world']\n"


def test_its_checks(files: Path) -> None:
    checks = runpy.run_path("test_letterbox.py")
    checks["test_source"]()
    checks["test_sink"]()


def test_its_table(files: Path) -> None:
    factory = runpy.run_path("letter_table.py")["LetterFactory"]
    tables = MessageTables()
    tables.environment.register_connector(factory)
    tables.table("letters", "id INT, name STRING, letter BIGINT METADATA VIRTUAL", "letterbox", path="letters.db")
    tables.insert("INSERT INTO letters VALUES (1, 'a'), (2, 'b')", parallelism=1)
    assert tables.some("SELECT id, name, letter FROM letters", 2) == [(1, "a", 1), (2, "b", 2)]
