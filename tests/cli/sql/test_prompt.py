"""The prompt, typed at through a pipe."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from millrace.cli.sql.client import Client
from millrace.cli.sql.full_screen import SqlCompleter, interact, is_whole, prompt_session
from millrace.cluster.gateway.sql_completion import Completions
from millrace.cluster.gateway.sql_session import SqlJob
from millrace.common.jobs import CompletableFuture, JobStatus

QUIT = "quit\r"


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        yield typed


@pytest.fixture
def ran(client: Client, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was given to the client; it runs as ever."""
    given: list[str] = []
    run = client.run

    def kept(text: str, name: str | None = None) -> bool:
        given.append(text)
        return run(text, name)

    monkeypatch.setattr(client, "run", kept)
    return given


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        ("quit", True),
        (" HELP ", True),
        ("SHOW TABLES", False),
        ("SHOW TABLES;", True),
        ("SHOW TABLES; SHOW", False),
        ("SELECT ';", False),
        ("SELECT 1; -- done;", True),
        ("BEGIN STATEMENT SET; INSERT INTO t SELECT 1;", False),
        ("BEGIN STATEMENT SET; INSERT INTO t SELECT 1; END;", True),
        ("no such statement;", True),
    ],
)
def test_enter_ends_what_is_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole


def test_lines_are_read_up_to_a_semicolon(
    client: Client, ran: list[str], keyboard: PipeInput, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keyboard.send_text(f"SHOW\rCATALOGS;\r{QUIT}")
    interact(client, str(tmp_path / "history"))
    assert ran == ["SHOW\nCATALOGS;", "quit"]
    assert "default_catalog" in capsys.readouterr().out
    assert "+SHOW\n+CATALOGS;\n" in (tmp_path / "history").read_text()


def test_an_error_is_no_end(
    client: Client, ran: list[str], keyboard: PipeInput, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keyboard.send_text(f"SHOW TABELS;\rSHOW TABLES;\r{QUIT}")
    interact(client, str(tmp_path / "history"))
    found = capsys.readouterr().out
    assert "[ERROR]" in found
    assert "Empty set" in found


def test_ctrl_c_drops_the_line_and_ctrl_d_leaves(
    client: Client, ran: list[str], keyboard: PipeInput, tmp_path: Path
) -> None:
    keyboard.send_text("SELECT nonsense\x03SHOW TABLES;\r\x04")
    interact(client, str(tmp_path / "history"))
    assert ran == ["SHOW TABLES;"]


def test_ctrl_c_while_a_statement_runs(
    client: Client,
    keyboard: PipeInput,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = client.run

    def interrupted(text: str, name: str | None = None) -> bool:
        if text.startswith("SELECT"):
            raise KeyboardInterrupt
        return run(text, name)

    monkeypatch.setattr(client, "run", interrupted)
    keyboard.send_text(f"SELECT 1;\rSHOW TABLES;\r{QUIT}")
    interact(client, str(tmp_path / "history"))
    assert "[INFO] The statement has been cancelled.\nEmpty set" in capsys.readouterr().out


def test_leaving_with_running_jobs_is_asked_for_twice(
    client: Client, keyboard: PipeInput, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running: Any = SimpleNamespace(
        get_job_id=lambda: "job1", get_job_status=lambda: CompletableFuture.of(JobStatus.RUNNING)
    )
    client.executor.jobs._jobs.append(SqlJob(running, collecting=False))
    keyboard.send_text(f"{QUIT}SHOW TABLES;\r{QUIT}{QUIT}")
    interact(client, str(tmp_path / "history"))
    found = capsys.readouterr().out
    assert found.count("job job1 (job1) runs, and would be cancelled.") == 2
    assert found.count("Empty set") == 1


def test_tab_completes(shop: Client, keyboard: PipeInput, tmp_path: Path) -> None:
    session = prompt_session(shop, str(tmp_path / "history"))

    def go_on(buffer: Buffer) -> None:
        if buffer.text == "DESCRIBE customers":
            keyboard.send_text(";\r")

    session.default_buffer.on_text_changed += go_on
    keyboard.send_text("DESCRIBE custo\t")
    assert session.prompt() == "DESCRIBE customers;"


def test_a_history_that_cannot_be_written_is_told(
    client: Client, ran: list[str], keyboard: PipeInput, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    keyboard.send_text(QUIT)
    interact(client, str(tmp_path / "file" / "history"))
    assert "what you type is not kept" in capsys.readouterr().out
    assert ran == ["quit"]


def test_a_folder_for_the_history_is_made(client: Client, keyboard: PipeInput, tmp_path: Path) -> None:
    keyboard.send_text(QUIT)
    interact(client, str(tmp_path / "new" / "history"))
    assert "+quit\n" in (tmp_path / "new" / "history").read_text()


def test_completions_say_what_they_are(shop: Client) -> None:
    completer = SqlCompleter(Completions(shop.executor.session.environment))
    text = "SELECT * FROM or"
    given: Callable[..., Any] = completer.get_completions
    (found,) = given(Document(text, len(text)), None)
    assert (found.text, found.start_position, found.display_meta_text) == ("orders", -2, "table")


def test_the_history_is_private_and_has_no_secrets(
    client: Client, ran: list[str], keyboard: PipeInput, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    history.write_text("# older\n+SHOW TABLES;\n")
    history.chmod(0o644)
    keyboard.send_text(f"SET 'a.password' = 's3cret';\r{QUIT}")
    interact(client, str(history))
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert history.read_text().startswith("# older\n+SHOW TABLES;\n")
    assert "+SET 'a.password' = '******';\n" in history.read_text()
    assert client.executor.session.settings()["a.password"] == "s3cret"
    keyboard.send_text(QUIT)
    interact(client, str(tmp_path / "new"))
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_settings_are_shown_without_secrets(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    assert client.run("SET 'a.password' = 's3cret'; SET;")
    shown = capsys.readouterr().out
    assert "a.password" in shown and "******" in shown and "s3cret" not in shown
