"""Small PyFlink programs print here what PyFlink prints (``python -m tests.table.pyflink_programs`` asks PyFlink)."""

from __future__ import annotations

import pytest

import millrace

millrace.activate()
try:
    from tests.table.pyflink_programs.expected import load, settled

    PROGRAMS = load()
finally:
    millrace.deactivate()


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_pyflink_prints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program, wanted = PROGRAMS[name]
    program()
    assert settled(capsys.readouterr().out) == settled(wanted)
