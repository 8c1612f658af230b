"""Runs of rows on disk: against a dict, with merges that go on over several writes, opened again at any time."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.runtime.rows import run_file
from millrace.runtime.rows.hashes import HashSet, Words, add_to, distinct, may_hold, new_filter
from millrace.runtime.rows.row_runs import RowRuns
from millrace.runtime.rows.run_file import DamagedRunError, Part, Run

Model = dict[int, tuple[int, str | None]]
"""id -> (hash, value; None: the row is removed)"""
TYPES = [pa.string()]
HASHES = 12


def all_wanted(columns: Any) -> Any:
    return np.ones(len(columns[0]), bool)


def part(rows: Model) -> Part:
    ordered = sorted((hash, id, value) for id, (hash, value) in rows.items())
    ids = [id if value is not None else -1 - id for _, id, value in ordered]
    values = pa.array([value for *_, value in ordered], pa.string())
    return Part(np.array([hash for hash, *_ in ordered], np.uint32), np.array(ids, np.int64), [values])


def content(runs: RowRuns, newest: Model | None = None) -> list[tuple[int, int, str]]:
    parts = list(runs.scan([part(newest)] if newest else [], 10))
    for one, other in pairwise(parts):
        assert one.hashes[-1] < other.hashes[0], "rows of one hash come together"
    return [row for each in parts for row in zip(each.hashes.tolist(), each.ids.tolist(), each.columns[0].to_pylist())]


def rows_of(model: Model) -> list[tuple[int, int, Any]]:
    return sorted((hash, id, value) for id, (hash, value) in model.items())


changes = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, HASHES - 1), st.one_of(st.none(), st.text("ab", max_size=2))),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.tuples(changes, st.sampled_from(["go on", "open again", "look"])), min_size=1, max_size=25))
def test_runs_have_the_newest_version_of_each_row(
    steps: list[tuple[list[tuple[int, int, str | None]], str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = str(tmp_path_factory.mktemp("runs"))
    runs, model, removed = RowRuns(folder, TYPES, all_wanted), Model(), set[int]()
    for rows, then in steps:
        new: Model = {}
        for id, hash, value in rows:
            known = model.get(id)
            if id in removed or (value is None and known is None):
                continue  # a row that is not there is not removed, and none has the id of a removed one
            new[id] = (hash if known is None else known[0], value)
        after = {**model, **new}
        assert content(runs, new) == rows_of({id: row for id, row in after.items() if row[1] is not None})
        runs.write(part(new))
        removed |= {id for id, row in after.items() if row[1] is None}
        model = {id: row for id, row in after.items() if row[1] is not None}
        if then == "open again":
            manifest = runs.manifest()
            runs.recorded()
            runs.close()
            runs = RowRuns(folder, TYPES, all_wanted)
            runs.open(manifest)
        elif then == "look":
            wanted = distinct(np.arange(0, HASHES + 3, 2, dtype=np.uint32))
            found = runs.find(wanted)
            seen = zip(wanted[found.owners].tolist(), found.ids.tolist(), found.columns[0].to_pylist())
            assert sorted(seen) == [row for row in rows_of(model) if row[0] in set(wanted.tolist())]
            assert found.ids.tolist() == sorted(found.ids.tolist()), "rows are in the order of their arrival"
        assert content(runs) == rows_of(model)


def test_rows_are_merged_so_that_there_are_few_runs(tmp_path: Path) -> None:
    runs, model = RowRuns(str(tmp_path), TYPES, all_wanted), Model()
    for epoch in range(200):
        new = {epoch * 10 + each: (each, "x") for each in range(10)}
        runs.write(part(new))
        model.update(new)
        runs.manifest()
        runs.recorded()
    assert content(runs) == rows_of(model)
    # Each order of size has at most about as many runs as are merged, and one merge goes on in each.
    assert len(os.listdir(tmp_path)) < 40


def test_removed_rows_leave_the_disk(tmp_path: Path) -> None:
    runs = RowRuns(str(tmp_path), TYPES, all_wanted)
    for epoch in range(100):
        runs.write(part({epoch: (epoch % HASHES, "x" * 50)}))
        if epoch:
            runs.write(part({epoch - 1: ((epoch - 1) % HASHES, None)}))
    assert [row[1] for row in content(runs)] == [99]
    assert runs.rows < 60


def test_a_manifest_from_before_is_the_state_before(tmp_path: Path) -> None:
    runs = RowRuns(str(tmp_path), TYPES, all_wanted)
    runs.write(part({1: (1, "a"), 2: (2, "b")}))
    before = runs.manifest()
    for number in range(30):  # merged meanwhile, but never recorded
        runs.write(part({1: (1, str(number)), 2: (2, None)}))
    other = RowRuns(str(tmp_path), TYPES, all_wanted)
    other.open(before)
    assert content(other) == [(1, 1, "a"), (2, 2, "b")]


def test_files_of_killed_processes_are_deleted(tmp_path: Path) -> None:
    runs = RowRuns(str(tmp_path), TYPES, all_wanted)
    runs.write(part({1: (1, "a")}))
    left = tmp_path / "4194301-0123456789abcdef.run"  # above the highest number of a process here
    left.write_bytes(b"half of a run")
    own = tmp_path / f"{os.getpid()}-0123456789abcdef.run"
    own.write_bytes(b"another copy of the task writes it")
    RowRuns(str(tmp_path), TYPES, all_wanted).open(runs.manifest())
    assert not left.exists() and own.exists()


@pytest.mark.parametrize("cut", [True, False])
def test_a_damaged_run_is_noticed_wherever_it_is(tmp_path: Path, cut: bool) -> None:
    runs = RowRuns(str(tmp_path), TYPES, all_wanted)
    runs.write(part({id: (id % 5, f"value of {id}") for id in range(30)}))
    (path,) = tmp_path.iterdir()
    written, manifest = path.read_bytes(), runs.manifest()
    for at in range(0, len(written), 7):
        damaged = bytearray(written)
        damaged[at] ^= 0x40
        path.write_bytes(written[:at] if cut else bytes(damaged))
        other = RowRuns(str(tmp_path), TYPES, all_wanted)
        with pytest.raises(DamagedRunError, match=path.name):
            _read(other, manifest)


def _read(runs: RowRuns, manifest: bytes) -> None:
    runs.open(manifest)
    content(runs)


def test_a_missing_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(DamagedRunError, match=r"1-2\.run"):
        Run(str(tmp_path / "1-2.run"))


def test_a_full_disk_leaves_no_half_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = RowRuns(str(tmp_path), TYPES, all_wanted)
    runs.write(part({1: (1, "a")}))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as during:
        during.setattr(run_file.RunWriter, "add", full)
        with pytest.raises(OSError, match="make room there"):
            runs.write(part({2: (2, "b")}))
    assert len(list(tmp_path.iterdir())) == 1
    runs.write(part({2: (2, "b")}))
    assert content(runs) == [(1, 1, "a"), (2, 2, "b")]


def filter_of(hashes: Any) -> Words:
    words = new_filter(len(hashes))
    add_to(words, hashes)
    return words


@given(st.sets(st.integers(0, 2**32 - 1), min_size=1), st.sets(st.integers(0, 2**32 - 1), min_size=1))
def test_a_filter_never_denies_what_it_has(ones: set[int], others: set[int]) -> None:
    words = filter_of(np.array(sorted(ones), np.uint32))
    assert may_hold(words, np.array(sorted(ones), np.uint32)).all()


def test_a_filter_denies_nearly_all_that_it_lacks() -> None:
    draw = np.random.default_rng(1)
    ones = draw.choice(2**32, 20_000, replace=False).astype(np.uint32)
    others = draw.choice(2**32, 20_000, replace=False).astype(np.uint32)
    assert may_hold(filter_of(ones), others).mean() < 0.06


@given(st.lists(st.sets(st.integers(0, 50)), max_size=6), st.sets(st.integers(0, 60)))
def test_a_set_of_hashes_is_a_set(added: list[set[int]], kept: set[int]) -> None:
    found, model = HashSet(), set[int]()
    for each in added:
        new = sorted(each - model)
        found.add(np.array(new, np.uint32))
        model |= each
    every = np.arange(61, dtype=np.uint32)
    assert set(every[found.contains(every)].tolist()) == model and len(found) == len(model)
    found.keep(np.array(sorted(kept), np.uint32))
    assert set(every[found.contains(every)].tolist()) == model & kept
