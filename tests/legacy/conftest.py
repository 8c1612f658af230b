"""Programs of older versions, run as scripts with Millrace in PyFlink's place."""

from __future__ import annotations

import runpy
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.local_jobs import run_jobs_locally

import millrace

PROGRAMS = Path(__file__).parent / "programs"
Run = Callable[..., list[str]]


@pytest.fixture
def activated() -> Iterator[None]:
    """``pyflink`` is Millrace, and has not warned of anything yet."""
    from millrace.legacy import warning

    warning._told.clear()
    millrace.activate()
    yield
    millrace.deactivate()


@pytest.fixture
def told(activated: None) -> Iterator[list[warnings.WarningMessage]]:
    """What Millrace says of older names."""
    from millrace.legacy.warning import OlderNameWarning

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", OlderNameWarning)
        yield found


@pytest.fixture
def run(
    told: list[warnings.WarningMessage], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a program of ``programs`` in this process; gives the lines that it prints."""

    def run(name: str, *arguments: object, locally: bool = True) -> list[str]:
        if locally:
            run_jobs_locally(monkeypatch)
        path = str(PROGRAMS / f"{name}.py")
        monkeypatch.setattr(sys, "argv", [path, *map(str, arguments)])
        runpy.run_path(path, run_name="older_program")
        return capsys.readouterr().out.splitlines()

    return run
