"""The scripts of Flink's gateway show the same here."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.flink.suites.known import known
from tests.flink.suites.programs import submit
from tests.flink.suites.scripts import Script, differences, scripts

from millrace.datastream import StreamExecutionEnvironment

SCRIPTS = scripts()
STATEMENTS, AS_FLINK = 250, 240


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script(script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "_submit", submit)
    told = differences(script, tmp_path)
    keys = {statement.key for statement in script.statements}
    others = told.keys() ^ (known("scripts").keys() & keys)
    wrong = [f"{key} {told.get(key, 'is as Flink has it: take it out of the list')}" for key in sorted(others)]
    assert not wrong, "\n".join(wrong)


def test_how_many_there_are() -> None:
    keys = {statement.key for script in SCRIPTS for statement in script.statements}
    assert known("scripts").keys() <= keys
    assert len(keys) >= STATEMENTS
    assert len(keys) - len(known("scripts")) >= AS_FLINK
