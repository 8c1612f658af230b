"""How a client begins."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from millrace.cli.options import ProgramOptions
from millrace.cli.sql.start import Start, start


@pytest.fixture(autouse=True)
def _at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        yield typed


def test_the_prompt_comes_after_the_init_file(
    keyboard: PipeInput, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    init = tmp_path / "init.sql"
    init.write_text("CREATE TABLE made_before (a INT) WITH ('connector' = 'blackhole');")
    keyboard.send_text("SHOW TABLES;\rquit\r")
    wishes = Start(ProgramOptions(), str(tmp_path), init=str(init), history=str(tmp_path / "history"))
    assert start(wishes) == 0
    assert "made_before" in capsys.readouterr().out


def test_an_init_file_that_fails_is_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init = tmp_path / "init.sql"
    init.write_text("SHOW TABELS;")
    assert start(Start(ProgramOptions(), str(tmp_path), init=str(init))) == 1
    assert f"{init}:1:6: " in capsys.readouterr().out


def test_without_prompt_toolkit_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    with pytest.raises(click.ClickException, match=r"pip install 'millrace-streaming\[sql\]'"):
        start(Start(ProgramOptions(), str(tmp_path)))


def test_without_it_scripts_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    assert start(Start(ProgramOptions(), str(tmp_path), statements="SHOW CATALOGS")) == 0
    assert "default_catalog" in capsys.readouterr().out
