"""Environments: many in one process, and as large as they have to be."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from millrace.runtime.state.disk import environment as environments
from millrace.runtime.state.disk.environment import create_environment, open_environment
from millrace.runtime.state.disk.writer import Writer

SMALL = 1 << 16

OTHER = """
import sys
from millrace.runtime.state.disk import environment as environments
from millrace.runtime.state.disk.writer import Writer
environments.MAP_SIZE = 1 << 16
with Writer(environments.open_environment(sys.argv[1]), at_once=True) as writer:
    for number in range(1000):
        writer.put(b"other %d" % number, bytes(1000))
"""


def test_three_hundred_fit_into_a_process(tmp_path: Path) -> None:
    environments = [create_environment(str(tmp_path / str(number))) for number in range(300)]
    for number, environment in enumerate(environments):
        with Writer(environment, at_once=True) as writer:
            writer.put(b"key", b"%d" % number)
    for number, environment in enumerate(environments):
        with environment.read() as txn:
            assert txn.get(b"key") == b"%d" % number
        environment.close()


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("size", [10, 300_000])
def test_an_environment_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool, size: int) -> None:
    monkeypatch.setattr(environments, "MAP_SIZE", SMALL)
    environment = create_environment(str(tmp_path / "store"))
    expected = {}
    for turn in range(4):
        with Writer(environment, at_once) as writer:
            writer.remove_below(b"%d" % (turn - 2))
            expected = {key: value for key, value in expected.items() if not key.startswith(b"%d" % (turn - 2))}
            for number in range(20):
                expected[b"%d %d" % (turn, number)] = value = bytes([number + 2]) * size * (turn + 1)
                writer.put(b"%d %d" % (turn, number), value)
            some = sorted((b"%d all %d" % (turn, number), b"x" * size) for number in range(9))
            writer.put_all(some)
            expected.update(some)
            assert writer.get(b"%d 19" % turn) == expected[b"%d 19" % turn]
        with environment.read() as txn:
            assert {key: value for key, value in txn.cursor() if key[:1].isdigit()} == expected
    environment.close()
    again = open_environment(str(tmp_path / "store"))
    with again.read() as txn:
        assert txn.get(b"3 1") == expected[b"3 1"]
    again.close()


def test_it_waits_for_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "MAP_SIZE", SMALL)
    environment = create_environment(str(tmp_path / "store"))
    with Writer(environment, at_once=True) as writer:
        writer.put(b"key", b"value")
    txn = environment.begin()

    def write() -> None:
        with Writer(environment, at_once=True) as writer:
            writer.put(b"large", bytes(10 * SMALL))

    thread = threading.Thread(target=write)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive(), "the map can't move under a reader"
    assert txn.get(b"key") == b"value"
    environment.end(txn)
    thread.join()
    with environment.read() as txn:
        assert txn.get(b"large") == bytes(10 * SMALL)
    environment.close()


def test_a_reader_that_stays_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "MAP_SIZE", SMALL)
    monkeypatch.setattr(environments, "GROW_SECONDS", 0.01)
    environment = create_environment(str(tmp_path / "store"))
    txn = environment.begin()
    with pytest.raises(TimeoutError, match="store has to grow"), Writer(environment, at_once=True) as writer:
        writer.put(b"large", bytes(10 * SMALL))
    environment.end(txn)
    environment.close()


def test_another_process_makes_it_larger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "MAP_SIZE", SMALL)
    environment = create_environment(str(tmp_path / "store"))
    subprocess.run([sys.executable, "-c", OTHER, environment.path], check=True)
    with environment.read() as txn:
        assert txn.get(b"other 999") == bytes(1000)
    subprocess.run([sys.executable, "-c", OTHER.replace("other", "third"), environment.path], check=True)
    with Writer(environment, at_once=True) as writer:
        writer.put(b"own", b"1")
        assert writer.get(b"third 999") == bytes(1000)
    environment.close()
