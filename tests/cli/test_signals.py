"""Ctrl-C and SIGTERM, within this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from millrace.cli.main import main
from millrace.cli.run import StoppedError, Stopper


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Handlers stay after a signal, but not for other tests."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_program_says_so_in_one_line(tmp_path: Path, number: int, code: int) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import os\nprint('begun')\nos.kill(os.getpid(), {int(number)})\nprint('not reached')\n")
    result = CliRunner().invoke(main, ["run", str(program)])
    assert (result.exit_code, result.stdout, result.stderr) == (code, "begun\n", "cancelled\n")


def test_a_signal_waits_for_what_must_not_be_cut_off() -> None:
    stopper, steps = Stopper(), []

    def start() -> None:
        with stopper.deferred():
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("still here")
        steps.append("not here")

    with stopper.listening(), pytest.raises(StoppedError):
        start()
    assert steps == ["still here"]


def test_a_signal_that_was_handed_on_is_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    exits: list[int] = []
    monkeypatch.setattr(os, "_exit", exits.append)
    handed_on = [0]
    with Stopper(lambda: handed_on[0]).listening():
        with pytest.raises(StoppedError):
            os.kill(os.getpid(), signal.SIGTERM)
        handed_on[0] = 1
        os.kill(os.getpid(), signal.SIGTERM)
        assert exits == []
        os.kill(os.getpid(), signal.SIGINT)
    assert exits == [130]


def test_sparks_handler_is_taken_back() -> None:
    def sparks(number: int, frame: object) -> None:
        raise AssertionError("Spark would cancel its jobs")

    sparks.__module__ = "pyspark.core.context"
    stopper = Stopper()
    with stopper.listening():
        with stopper.deferred():
            signal.signal(signal.SIGINT, sparks)
        with pytest.raises(StoppedError):
            os.kill(os.getpid(), signal.SIGINT)


def test_handlers_are_put_back_and_ignored_signals_stay_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    before = signal.getsignal(signal.SIGTERM)
    with Stopper().listening():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
