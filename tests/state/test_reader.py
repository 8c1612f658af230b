"""What a reader finds in a savepoint and in a checkpoint, against plain Python over the elements that were read."""

from __future__ import annotations

import pickle
from collections import defaultdict
from functools import reduce
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.every_state import KEYS, RULES, Account, Memo, account, every_state, memo
from tests.state.oracle import KEYED, by_key, mean, open_windows, sessions, timers

import millrace.checkpoint.state_files
import millrace.state.open_savepoint
from millrace.checkpoint.folder import CorruptFileError, MissingFileError, SnapshotError
from millrace.common import Types
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import TimeWindow
from millrace.state import NotInSavepointError, SavepointReader, SavepointWriter, Slice, StateView

EPOCHS = 7


@pytest.fixture(scope="module", params=["savepoint", "checkpoint"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program, half-way through."""
    root = tmp_path_factory.mktemp("saved")
    job = SavedJob(collecting(every_state, 2), root / "job", checkpoint_every=1)
    for _ in range(EPOCHS - 1):
        job.epoch()
    result = job.epoch(root / "savepoint")
    assert result.checkpoint is not None
    return str(root / "savepoint") if request.param == "savepoint" else result.checkpoint


@pytest.fixture
def reader(saved: str) -> SavepointReader:
    return SavepointReader.read(saved, trust=True)


@pytest.fixture
def numbers(reader: SavepointReader) -> list[int]:
    """What was read so far."""
    (split,) = next(source for source in reader.sources() if source.uid == "numbers").splits[0]
    return list(range(split.position))


@pytest.mark.parametrize("name", KEYED)
def test_keyed_state(name: str, reader: SavepointReader, numbers: list[int]) -> None:
    expected = {key: KEYED[name](mine) for key, mine in by_key(numbers).items()}
    view = reader.keyed_state("states", name)
    assert dict(view.items()) == expected
    assert len(list(view.items())) == KEYS


def rows(view: StateView) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = view.to_arrow().to_pylist()
    return found


def test_records_are_structs(reader: SavepointReader, numbers: list[int]) -> None:
    found = {row["key"]: row["value"] for row in rows(reader.keyed_state("states", "value"))}
    last = {key: account(mine[-1]) for key, mine in by_key(numbers).items()}
    expected = {key: (it.owner, it.balance, it.level.name, None) for key, it in last.items()}
    assert {key: tuple(fields.values()) for key, fields in found.items()} == expected
    assert {tuple(fields) for fields in found.values()} == {("owner", "balance", "level", "note")}


def test_lists_have_a_row_for_each_element(reader: SavepointReader, numbers: list[int]) -> None:
    view = reader.keyed_state("states", "list")
    assert view.schema.names == ["key", "position", "value"]
    expected = [
        {"key": key, "position": place, "value": {"x": number, "y": number / 2}}
        for key, mine in by_key(numbers).items()
        for place, number in enumerate(mine)
    ]
    found = sorted(rows(view), key=lambda row: (row["key"], row["position"]))
    assert found == sorted(expected, key=lambda row: (row["key"], row["position"]))


def test_maps_have_a_row_for_each_entry(reader: SavepointReader, numbers: list[int]) -> None:
    view = reader.keyed_state("states", "map")
    assert view.schema.names == ["key", "map_key", "value"]
    expected = {(key, f"m{number % 3}"): number for key, mine in by_key(numbers).items() for number in mine}
    assert {(row["key"], row["map_key"]): row["value"]["a"] for row in rows(view)} == expected


def test_what_arrow_has_no_type_for_is_text_beside_its_pickle(reader: SavepointReader, numbers: list[int]) -> None:
    view = reader.keyed_state("states", "memo")
    expected = {key: memo(mine[-1]) for key, mine in by_key(numbers).items()}
    table = view.to_arrow()
    assert table.schema.names == ["key", "value", "value_pickle"]
    assert {row["key"]: row["value"] for row in table.to_pylist()} == {key: repr(it) for key, it in expected.items()}
    assert {row["key"]: pickle.loads(row["value_pickle"]) for row in table.to_pylist()} == expected


def test_time_to_live_is_shown(reader: SavepointReader, numbers: list[int]) -> None:
    found = rows(reader.keyed_state("states", "ttl list"))
    assert sorted(row["value"] for row in found) == numbers
    # The clock of the job is the number of the epoch.
    assert {row["last_access"] for row in found} == set(range(1, EPOCHS + 1))
    assert all(state.ttl == state.name.startswith("ttl") for state in reader.states("states"))


def test_timers(reader: SavepointReader, numbers: list[int]) -> None:
    view = reader.timers("states")
    assert sorted(view.items()) == sorted(timers(numbers))
    found = {(row["key"], (row["domain"], row["timestamp"])) for row in rows(view)}
    assert found == timers(numbers)


def test_aligned_windows(reader: SavepointReader, numbers: list[int]) -> None:
    accumulators = {at: mean(mine) for at, mine in open_windows(numbers, 200).items()}
    assert dict(reader.window_state("tumbling").items()) == accumulators
    found = {(row["key"], row["window_end"]): row["value"] for row in rows(reader.window_state("tumbling"))}
    assert found == {at: {"f0": total, "f1": count} for at, (total, count) in accumulators.items()}
    assert dict(reader.window_state("reduced").items()) == {
        at: max(mine) for at, mine in open_windows(numbers, 250).items()
    }
    assert dict(reader.window_state("elements").items()) == open_windows(numbers, 350)


def test_shared_slices_make_up_the_windows(reader: SavepointReader, numbers: list[int]) -> None:
    found = dict(reader.window_state("sliding").items())
    table = reader.window_state("sliding").to_arrow()
    assert table.schema.names == ["key", "window_end", "slice_end", "value"]
    shown = {
        (row["key"], row["window_end"] if row["slice_end"] is None else Slice(row["slice_end"])): tuple(
            row["value"].values()
        )
        for row in table.to_pylist()
    }
    assert shown == found
    whole = {key for key, window in found if not isinstance(window, Slice)}
    assert whole == {6}, "in the second subtask nothing is shared: it has one key only"
    for (key, end), mine in open_windows(numbers, 300, 100).items():
        if key in whole:
            assert found[key, end] == mean(mine)
        else:
            parts = [found.get((key, Slice(part)), (0, 0)) for part in range(end - 200, end + 100, 100)]
            assert reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), parts) == mean(mine)


def test_sessions(reader: SavepointReader, numbers: list[int]) -> None:
    expected = sessions(numbers, 60)
    assert dict(reader.window_state("sessions").items()) == {at: mean(mine) for at, mine in expected.items()}
    found = {(row["key"], row["window_start"], row["window_end"]) for row in rows(reader.window_state("sessions"))}
    assert found == {(key, window.start, window.end) for key, window in expected}


def test_windows_that_have_merged_are_shown_as_they_are_now(reader: SavepointReader, numbers: list[int]) -> None:
    expected = sessions(numbers, 70)
    assert any(len(mine) > 1 for mine in expected.values())
    view = reader.window_state("merging")
    found: dict[Any, list[Any]] = defaultdict(list)
    for row in rows(view):
        found[row["key"], TimeWindow(row["window_start"], row["window_end"])].append(row["value"])
    assert found == expected
    assert dict(view.items()) == expected


def test_other_windows(reader: SavepointReader, numbers: list[int]) -> None:
    evicting = {
        (key, window): [element.get_value() for element in elements]
        for (key, window), elements in reader.window_state("evicting").items()
    }
    assert evicting == {
        (key, TimeWindow(end - 300, end)): mine for (key, end), mine in open_windows(numbers, 300).items()
    }
    counting = {key: values for (key, _), values in reader.window_state("counting").items()}
    assert counting == by_key(numbers)


def test_buffers_of_an_interval_join(reader: SavepointReader, numbers: list[int]) -> None:
    watermark = numbers[-1] * 10 - 1
    found = dict(reader.keyed_state("join", "RIGHT_BUFFER").items())
    needed = {
        key: [(number * 10, number) for number in mine if number * 10 >= watermark - 200]
        for key, mine in by_key(numbers).items()
    }
    # What is too old may stay a little longer.
    assert {key: [pair for pair in mine if pair[0] >= watermark - 200] for key, mine in found.items()} == needed
    table = reader.keyed_state("join", "RIGHT_BUFFER").to_arrow()
    assert table.schema.names == ["key", "timestamp", "value"]


def test_operator_state(reader: SavepointReader, numbers: list[int]) -> None:
    mine = list(reader.list_state("positions", "mine").items())
    assert sorted(value for _, value in mine) == numbers
    assert {subtask for subtask, _ in mine} == {0, 1}
    assert sorted(reader.union_state("positions", "all").items()) == sorted(mine)
    found = [(row["subtask"], row["value"]) for row in rows(reader.union_state("positions", "all"))]
    assert sorted(found) == sorted(mine)
    rules = reader.broadcast_state("rules", "rules")
    assert dict(rules.items()) == {rule: account(rule) for rule in range(RULES)}
    assert [row["map_key"] for row in rows(rules)] == list(range(RULES))


def test_positions_of_sources(reader: SavepointReader, numbers: list[int]) -> None:
    found = {source.uid: source for source in reader.sources()}
    assert found.keys() == {"numbers", "rule numbers"}
    assert found["rule numbers"].finished == {0} and not found["numbers"].finished
    assert 0 < len(numbers) < 60


def test_what_is_listed_is_what_there_is(reader: SavepointReader, saved: str) -> None:
    operators = {operator.uid: operator for operator in reader.operators()}
    assert operators["states"].name == "states" and operators["states"].parallelism == 2
    assert operators["numbers"].parallelism == 1 and operators["numbers"].states == ()
    for operator in operators.values():
        for state in operator.states:
            if state.kind == "timers":
                continue
            found = {
                "list" if state.scope == "operator" else "": reader.list_state,
                "union list": reader.union_state,
                "broadcast": reader.broadcast_state,
            }.get(state.kind, reader.keyed_state)(operator.uid, state.name)
            copies = 2 if state.kind == "broadcast" else 1
            assert found.to_arrow().num_rows * copies == state.rows, state
            assert (state.bytes is None) == (reader.metadata.kind == "checkpoint")
    types = {state.name: (state.kind, state.type) for state in operators["states"].states}
    assert types["largest"] == ("reducing", "LONG")
    assert types["map"] == ("map", "MAP<STRING, ROW<a LONG, b STRING>>")
    for uid in ("tumbling", "sliding", "reduced", "evicting", "counting"):
        known = {state.name: state.type for state in operators[uid].states}
        assert known["fired"] == "LONG", "whichever copy of a task reported last"
        assert "window-contents" in known
    metadata = reader.metadata
    assert (metadata.path, metadata.id, metadata.time) == (saved, EPOCHS, EPOCHS)
    assert metadata.size > 5_000


def test_pandas_gets_the_same(reader: SavepointReader) -> None:
    view = reader.keyed_state("states", "ttl map")
    frame = view.to_pandas()
    assert frame.to_dict("records") == rows(view)


def test_an_operator_goes_by_its_name_if_no_other_has_it(reader: SavepointReader) -> None:
    by_name = reader.keyed_state("Reduce", "_reduce")
    assert dict(by_name.items()) == dict(reader.keyed_state("sum", "_reduce").items())
    with pytest.raises(NotInSavepointError, match=r"2 operators in .* are named 'Source: Sequence Source': use a uid"):
        reader.states("Source: Sequence Source")


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda it: it.states("stats"), "has no operator 'stats'; did you mean 'states'?"),
        (lambda it: it.keyed_state("states", "lagest"), "no keyed state 'lagest'; did you mean 'largest' or 'list'?"),
        (lambda it: it.keyed_state("positions", "mine"), "has no keyed state 'mine'; there are none"),
        (lambda it: it.list_state("positions", "all"), "has no list state 'all'; there are: 'mine'"),
        (lambda it: it.window_state("states"), "operator 'states' in .* has no windows"),
    ],
)
def test_names_that_are_not_there(reader: SavepointReader, ask: Any, text: str) -> None:
    with pytest.raises(NotInSavepointError, match=text.replace("?", r"\?")):
        ask(reader)


def test_a_state_that_holds_nothing_is_an_empty_table(tmp_path: Path) -> None:
    path = SavepointWriter.new().keyed_state("op", ValueStateDescriptor("none", Types.LONG()), [], "a")
    view = SavepointReader.read(path.write(str(tmp_path / "savepoint")), trust=True).keyed_state("op", "none")
    assert (view.to_arrow().num_rows, view.to_arrow().schema.names) == (0, ["key", "value"])
    assert list(view.items()) == [] and list(view.tables()) == []


def test_the_directory_of_a_job_is_its_last_checkpoint(tmp_path: Path) -> None:
    job = SavedJob(collecting(every_state, 2), tmp_path, checkpoint_every=1)
    paths = [job.epoch().checkpoint for _ in range(3)]
    reader = SavepointReader.read(str(tmp_path / job.job.job_id), trust=True)
    assert reader.metadata.path == paths[-1]
    assert SavepointReader.read(f"{paths[-1]}/_metadata", trust=True).metadata == reader.metadata


def test_where_there_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="is no checkpoint or savepoint: it has no file _metadata"):
        SavepointReader.read(str(tmp_path), trust=True)
    with pytest.raises(SnapshotError, match="is no checkpoint or savepoint: it has no file _metadata"):
        SavepointReader.read(str(tmp_path / "missing"), trust=True)


@pytest.fixture
def savepoint(tmp_path: Path) -> Path:
    job = SavedJob(collecting(every_state, 2), tmp_path / "job")
    job.epoch(tmp_path / "savepoint")
    return tmp_path / "savepoint"


def test_damage_is_named(savepoint: Path) -> None:
    reader = SavepointReader.read(str(savepoint), trust=True)
    files = sorted((savepoint / "states-states").glob("value-*.parquet"))
    files[0].write_bytes(files[0].read_bytes()[:-1] + b"x")
    with pytest.raises(CorruptFileError, match=rf"{files[0]} is corrupt: its checksum is wrong"):
        reader.keyed_state("states", "value").to_arrow()
    files[0].unlink()
    with pytest.raises(MissingFileError, match=f"{files[0]} is missing"):
        list(reader.keyed_state("states", "value").items())
    assert len(list(reader.keyed_state("states", "largest").items())) == KEYS, "other states can be read"


def test_pandas_and_arrow_read_the_files_themselves(savepoint: Path) -> None:
    """They need nothing of Millrace."""
    parts = [pandas.read_parquet(file) for file in sorted((savepoint / "states-states").glob("largest-*.parquet"))]
    frame = pandas.concat(parts)
    expected = dict(SavepointReader.read(str(savepoint), trust=True).keyed_state("states", "largest").items())
    assert dict(zip(frame["key"], frame["value"])) == expected
    assert list(frame.columns) == ["key_group", "key", "value"]
    files = sorted((savepoint / "states-states").glob("value-*.parquet"))
    table = pa.concat_tables(map(pq.read_table, files))
    owners = {row["key"]: row["value"]["owner"] for row in table.to_pylist()}
    assert len(files) == 2, "each subtask has some of the keys"
    assert owners == {key: f"owner {key}" for key in (0, 1, 2, 3, 6)}


def test_files_are_read_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(millrace.checkpoint.state_files, "ROWS_IN_A_FILE", 10)
    lists = ((key, value) for key in range(20) for value in range(3))
    descriptor = ListStateDescriptor("list", Types.TUPLE([Types.LONG(), Types.LONG()]))
    path = SavepointWriter.new().keyed_state("op", descriptor, lists, lambda pair: pair[0]).write(str(tmp_path / "s"))
    loaded: list[str] = []
    read = millrace.checkpoint.state_files.read_rows

    def reading(folder: Any, file: Any) -> Any:
        loaded.append(file.path)
        return read(folder, file)

    monkeypatch.setattr(millrace.state.open_savepoint, "read_rows", reading)
    view = SavepointReader.read(path, trust=True).keyed_state("op", "list")
    for iterate in (view.items, view.tables):
        loaded.clear()
        walk = iter(iterate())
        assert loaded == []
        next(walk)
        assert len(loaded) == 1
        list(walk)
        assert len(loaded) == len(set(loaded)) == 5  # lists stay in one piece


def test_values_of_the_main_module_are_found_by_the_classes_given(tmp_path: Path) -> None:
    class Own:
        def __init__(self, text: str) -> None:
            self.text = text

    Own.__module__, Own.__qualname__ = "__main__", "Own"
    descriptor = ValueStateDescriptor("own", Types.PICKLED_BYTE_ARRAY())
    writer = SavepointWriter.new().keyed_state("op", descriptor, [Own("a")], key=lambda own: own.text)
    path = writer.write(str(tmp_path / "savepoint"))
    with pytest.raises(Exception, match="Own"):
        list(SavepointReader.read(path, trust=True).keyed_state("op", "own").items())
    ((key, own),) = SavepointReader.read(path, classes=[Own], trust=True).keyed_state("op", "own").items()
    assert (key, type(own), own.text) == ("a", Own, "a")
    (row,) = SavepointReader.read(path, trust=True).keyed_state("op", "own").to_arrow().to_pylist()
    assert row["value"].startswith("<__main__.Own: ") and "can't be unpickled here" in row["value"]


def test_the_program_is_what_these_tests_take_it_for() -> None:
    assert account(21) == Account("owner 1", 21, account(21).level, None)
    assert (memo(1), memo(2)) == (Memo("memo 1"), 2)
