"""Savepoints of earlier releases can be read, and jobs go on from them. ``tests/data/savepoints/write.py`` wrote them.

If a test here fails, the change that made it fail has to be undone: users have such savepoints.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.every_state import LATER, RULES, account, every_state, key_of
from tests.state.oracle import KEYED, by_key, digest, mean, open_windows, sessions, texts, timers

from millrace.state import SavepointReader, SavepointWriter
from millrace.state.diff import compare_savepoints
from millrace.state.open_savepoint import open_snapshot

SAVEPOINTS = Path(__file__).parents[1] / "data" / "savepoints"
VERSIONS = sorted(path.parent.name for path in SAVEPOINTS.glob("*/_metadata"))


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def reader(version: str) -> SavepointReader:
    return SavepointReader.read(str(SAVEPOINTS / version), trust=True)


def numbers_of(reader: SavepointReader) -> list[int]:
    """What was read so far."""
    (split,) = next(source for source in reader.sources() if source.uid == "numbers").splits[0]
    return list(range(split.position))


def test_there_is_one_of_each_release() -> None:
    assert "0.1" in VERSIONS


def test_all_of_it_can_be_read(reader: SavepointReader) -> None:
    numbers = numbers_of(reader)
    assert numbers == list(range(35))
    for name, expected in KEYED.items():
        found = dict(reader.keyed_state("states", name).items())
        assert found == {key: expected(mine) for key, mine in by_key(numbers).items()}, name
    assert set(reader.timers("states").items()) == timers(numbers)
    expected_windows: dict[str, Any] = {
        "tumbling": {at: mean(mine) for at, mine in open_windows(numbers, 200).items()},
        "daily": {(key, 24 * 3600 * 1000): mean(mine) for key, mine in by_key(numbers).items()},
        "reduced": {at: max(mine) for at, mine in open_windows(numbers, 250).items()},
        "elements": open_windows(numbers, 350),
        "sessions": {at: mean(mine) for at, mine in sessions(numbers, 60).items()},
        "merging": sessions(numbers, 70),
    }
    for uid, windows in expected_windows.items():
        assert dict(reader.window_state(uid).items()) == windows, uid
    assert {key: elements for (key, _), elements in reader.window_state("counting").items()} == by_key(numbers)
    assert dict(reader.keyed_state("sum", "_reduce").items()) == {
        key: sum(mine) for key, mine in by_key(numbers).items()
    }
    assert sorted(value for _, value in reader.list_state("positions", "mine").items()) == numbers
    assert sorted(value for _, value in reader.union_state("positions", "all").items()) == numbers
    assert dict(reader.broadcast_state("rules", "rules").items()) == {rule: account(rule) for rule in range(RULES)}


def test_every_state_can_be_had_as_a_table(reader: SavepointReader) -> None:
    for operator in reader.operators():
        for state in operator.states:
            if state.scope == "keyed" and state.kind != "timers":
                assert reader.keyed_state(operator.uid, state.name).to_arrow().num_rows == state.rows


@pytest.mark.parametrize("parallelism", [2, 3])
def test_a_job_goes_on_from_it(version: str, reader: SavepointReader, parallelism: int, tmp_path: Path) -> None:
    job = SavedJob(collecting(every_state, parallelism), tmp_path / "job")
    job.now = 2 * LATER
    job.restore(str(SAVEPOINTS / version))
    after = job.finish()
    whole = SavedJob(collecting(every_state, 1), tmp_path / "whole").finish()
    assert not Counter(texts(after)) - Counter(texts(whole)), "nothing that the program does not put out"
    before = Counter(texts(whole)) - Counter(texts(after))
    assert digest(before.elements()) == json.loads((SAVEPOINTS / f"{version}.json").read_text())
    fired = [result[2] - LATER for result in after if result[0] == "timer" and result[3] == "PROCESSING_TIME"]
    assert len(fired) == len(set(fired)) and set(fired) >= set(numbers_of(reader))
    assert {key_of(number) for number in fired} == {0, 1, 2, 3, 6}


def test_it_can_be_written_anew(version: str, tmp_path: Path) -> None:
    path = str(SAVEPOINTS / version)
    copy = SavepointWriter.from_savepoint(path).change("states", "value", lambda key, value: value)
    written = copy.write(str(tmp_path / "copy"))
    assert not compare_savepoints(open_snapshot(path, trust=True), open_snapshot(written, trust=True), 5)
