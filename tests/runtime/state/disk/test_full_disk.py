"""State on a disk that is full: one error with the folder, and what was there can still be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.util.test_room import little_room

from millrace.runtime.state.disk.environment import Environment
from millrace.runtime.state.disk.writer import Writer


def fill(environment: Environment) -> None:
    with Writer(environment, at_once=True) as writer:
        for number in range(1000):
            writer.put(b"key-%d" % number, bytes(1000))


def test_the_error_names_the_folder(tmp_path: Path) -> None:
    environment = Environment(str(tmp_path / "state"), create=True)
    with Writer(environment, at_once=True) as writer:
        writer.put(b"key", b"value")
    with little_room(), pytest.raises(OSError, match=r"(File too large|Input/output error) \(.*\): '.*/state'"):
        fill(environment)
    with environment.read() as txn:
        assert txn.get(b"key") == b"value"
        assert txn.get(b"key-0") is None
