"""What Flink was asked (``tests/flink/rest``), asked of the API in front of samples: each difference has its reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.rest.differences import compared
from tests.flink.rest import send, world
from tests.flink.rest.known import explained


def test_answers_are_those_of_flink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(send, "UNTIL_SECONDS", 0)  # put back afterwards, others wait for real servers
    monkeypatch.setattr(world, "SECONDS", 5)
    _, others = explained(compared(tmp_path / "world"))
    assert not others, "\n".join(map(str, others))
