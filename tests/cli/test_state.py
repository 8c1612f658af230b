"""``millrace state``: what it prints, as text and as JSON, and with which code it exits."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.checkpoint.jobs import SavedJob, collecting
from tests.state.every_state import every_state

from millrace.cli.main import main
from millrace.cli.state_text import aligned, jsonable, matches
from millrace.common import Row, Time, Types
from millrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.datastream.window import TimeWindow
from millrace.runtime.state.address import Scoped
from millrace.state import SavepointWriter

LONG, TEXT = Types.LONG(), Types.STRING()
TOTALS = {"ann": 3, "bob": 5, "cid": 8}


def call(*args: object) -> Result:
    return CliRunner().invoke(main, ["state", *map(str, args)])


def as_json(*args: object) -> Any:
    result = call(*args, "--json")
    assert result.exit_code in (0, 1), result.stderr
    return json.loads(result.stdout)


def write(path: Path, totals: dict[str, int], name: str = "Totals") -> Path:
    expiring = ListStateDescriptor("a list", LONG)

    expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
    pairs = list(totals.items())
    key, value = (lambda pair: pair[0]), (lambda pair: pair[1])
    writer = SavepointWriter.new().keyed_state("totals", ValueStateDescriptor("total", LONG), pairs, key, value)
    writer.keyed_state("totals", expiring, pairs, key, value)
    writer.broadcast_state("rules", MapStateDescriptor("rule", TEXT, LONG), {"x": 1})
    writer.write(str(path))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "sp", TOTALS)


# -- ls ---------------------------------------------------------------------------------------------------------------


def test_ls_lists_operators_and_states(path: Path) -> None:
    result = call("ls", path)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == str(path)
    title = r"savepoint of job 'bootstrap' \([0-9a-f]{32}\), epoch 1, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, \d\.\d KiB"
    assert re.fullmatch(title, lines[1])
    assert lines[2:4] == ["", "totals  (uid totals, parallelism 1, at most 128)"]
    assert [line.split() for line in lines[4:7]] == [
        ["STATE", "KIND", "TYPE", "TTL", "ROWS", "SIZE"],
        ["total", "value", "LONG", "-", "3", *lines[5].split()[-2:]],
        ["a", "list", "list", "LIST<LONG>", "yes", "3", *lines[6].split()[-2:]],
    ]
    assert len({line.index(word) for line, word in zip(lines[4:7], ["TYPE", "LONG", "LIST"])}) == 1, "aligned"
    assert len({len(line) for line in lines[4:7]}) == 1, "sizes end below each other"
    assert "rule   broadcast  MAP<STRING, LONG>  -       1" in result.stdout


def test_ls_as_json(path: Path) -> None:
    found = as_json("ls", path)
    assert (found["path"], found["kind"], found["job_name"], found["id"]) == (str(path), "savepoint", "bootstrap", 1)
    totals, rules = found["operators"]
    assert (totals["uid"], totals["parallelism"], totals["max_parallelism"]) == ("totals", 1, 128)
    shown = [(state["name"], state["kind"], state["type"], state["ttl"], state["rows"]) for state in totals["states"]]
    assert shown == [("total", "value", "LONG", False, 3), ("a list", "list", "LIST<LONG>", True, 3)]
    assert found["size"] == sum(state["bytes"] for operator in (totals, rules) for state in operator["states"])


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job's directory with checkpoints; beside it a savepoint."""
    root = tmp_path_factory.mktemp("job")
    saved = SavedJob(collecting(every_state, 2), root, checkpoint_every=1)
    for _ in range(3):
        saved.epoch()
    saved.epoch(root / "savepoint")
    return root / saved.job.job_id


def test_a_job_s_directory_is_its_last_checkpoint(job: Path) -> None:
    result = call("ls", job)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{job}/chk-4\ncheckpoint of job ")
    assert re.search(r"event-time timers +timers +- +- +20 +-", result.stdout), "a checkpoint's files have no states"
    assert "  no state\n" in result.stdout


def test_uris_work(path: Path) -> None:
    assert call("ls", f"file://{path}").stdout == call("ls", path).stdout


# -- show -------------------------------------------------------------------------------------------------------------


def test_show_prints_all_states_of_an_operator(path: Path) -> None:
    result = call("show", path, "totals")
    assert result.exit_code == 0
    blocks = result.stdout.split("\n\n")
    assert sorted(blocks[0].splitlines()) == sorted(
        ["totals: total (value, LONG), 3 rows", "  'ann'  3", "  'bob'  5", "  'cid'  8"]
    )
    assert blocks[1].splitlines()[0] == "totals: a list (list, LIST<LONG>, with time to live), 3 rows"
    assert "  'bob'  [5]" in blocks[1]


def test_show_one_state_and_one_key(path: Path) -> None:
    assert call("show", path, "totals", "total", "--key", "bob").stdout == (
        "totals: total (value, LONG), 3 rows\n  'bob'  5\n"
    )
    missing = call("show", path, "totals", "total", "--key", "bobby")
    assert (missing.exit_code, missing.stderr) == (1, "nothing is stored for the key bobby\n")


def test_show_stops_at_the_limit(path: Path) -> None:
    result = call("show", path, "totals", "total", "--limit", 2)
    lines = result.stdout.splitlines()
    assert len(lines) == 4 and lines[-1] == "  ... and more (--limit 2 --offset 2)"
    assert "more" not in call("show", path, "totals", "total", "--limit", 3).stdout
    assert as_json("show", path, "totals", "total", "--limit", 2)["states"][0]["more"]


def test_show_as_json(path: Path) -> None:
    found = as_json("show", path, "totals", "total")
    assert (found["uid"], found["name"]) == ("totals", "totals")
    (state,) = found["states"]
    assert (state["name"], state["kind"], state["more"]) == ("total", "value", False)
    assert {entry["key"]: entry["value"] for entry in state["entries"]} == TOTALS


def test_show_timers_windows_and_operator_state(job: Path) -> None:
    timers = as_json("show", job, "states", "processing-time timers", "--key", "3")["states"][0]["entries"]
    assert {entry["value"]["timestamp"] % 5 for entry in timers} == {3}
    windows = call("show", job, "sessions").stdout
    assert re.search(r"^  \(\d, TimeWindow\(start=\d+, end=\d+\)\) +\(\d+, \d\)$", windows, re.MULTILINE)
    found = as_json("show", job, "positions", "mine", "--limit", 100)["states"][0]["entries"]
    assert sorted(entry["value"] for entry in found) == list(range(20))
    (state,) = as_json("show", job, "rules", "--trust")["states"]
    assert [entry["key"] for entry in state["entries"]] == [0, 1, 2], "one copy"
    assert state["entries"][0]["value"]["level"] == "LOW"
    assert call("show", job, "numbers").stdout == "Source: Sequence Source: no state\n"


def test_values_are_shown_without_their_classes(job: Path, tmp_path: Path) -> None:
    """As in a shell far from the program: by fields, pickles by what they say."""
    savepoint = job.parent / "savepoint"
    command = [sys.executable, "-m", "millrace", "state", "show", str(savepoint), "states", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    states = {state["name"]: state["entries"] for state in json.loads(done.stdout)["states"]}
    assert states["value"][0]["value"].keys() == {"owner", "balance", "level", "note"}
    memo = next(entry["value"] for entry in states["memo"] if isinstance(entry["value"], dict))
    assert memo["pickled"] == "tests.state.every_state.Memo" and memo["state"]["text"].startswith("memo ")
    twice = [sys.executable, "-m", "millrace", "state", "diff", str(savepoint), str(savepoint)]
    assert subprocess.run(twice, capture_output=True, cwd=tmp_path, timeout=120, check=False).returncode == 0


# -- diff -------------------------------------------------------------------------------------------------------------


def test_diff_of_the_same(path: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", TOTALS)
    result = call("diff", path, other)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].startswith(f"--- {path}  savepoint of 'bootstrap', epoch 1, ")
    assert result.stdout.splitlines()[1].startswith(f"+++ {other}  savepoint of ")
    assert result.stdout.splitlines()[2:] == ["no difference"]
    assert as_json("diff", path, other)["same"] is True


def test_diff_of_values(path: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", {"ann": 3, "bob": 6, "dee": 1})
    result = call("diff", path, other)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[2:8] == [
        "",
        "totals  (uid totals)",
        "  total: 1 removed, 1 added, 1 changed",
        "    -  'cid'  8",
        "    +  'dee'  1",
        "    ~  'bob'  5 -> 6",
    ]
    (operator,) = as_json("diff", path, other)["operators"]
    total = operator["states"][0]
    assert (total["removed"], total["added"], total["changed"]) == (1, 1, 1)
    assert total["examples"] == [{"key": "cid", "a": 8}, {"key": "dee", "b": 1}, {"key": "bob", "a": 5, "b": 6}]


def test_diff_limits_its_examples(path: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other", {})
    result = call("diff", path, other, "--limit", 1)
    assert "  total: 3 removed\n" in result.stdout
    assert result.stdout.count("    - ") == 2 and result.stdout.count("    ... and 2 more\n") == 2
    assert "more" not in call("diff", path, other, "--limit", 0).stdout


def test_diff_of_operators_and_states(path: Path, tmp_path: Path) -> None:
    writer = SavepointWriter.from_savepoint(str(path)).remove_operator("rules").remove_state("totals", "a list")
    writer.keyed_state("totals", ValueStateDescriptor("new", TEXT), ["x"], key=lambda row: row)
    other = writer.list_state("lists", ListStateDescriptor("list", LONG), [1]).write(str(tmp_path / "other"))
    lines = call("diff", path, other).stdout.splitlines()
    assert lines[2:] == [
        "- operator 'rules' (uid rules)",
        "+ operator 'lists' (uid lists)",
        "",
        "totals  (uid totals)",
        "  - state a list (list, LIST<LONG>, with time to live), 3 rows",
        "  + state new (value, STRING), 1 rows",
    ]
    found = as_json("diff", path, other)
    assert (found["only_a"], found["only_b"]) == (["rules"], ["lists"])
    assert (found["operators"][0]["only_a"], found["operators"][0]["only_b"]) == (["a list"], ["new"])


def test_diff_of_bags_and_types(tmp_path: Path) -> None:
    descriptor = ListStateDescriptor("list", LONG)
    texts = ListStateDescriptor("list", TEXT)
    one = SavepointWriter.new().list_state("op", descriptor, [1, 1, 1, 2]).write(str(tmp_path / "one"))
    two = SavepointWriter.new().list_state("op", texts, [1, "3", "3"]).write(str(tmp_path / "two"))
    assert call("diff", one, two).stdout.splitlines()[4:] == [
        "  list: 1 removed, 1 added, 1 changed",
        "    it was list LIST<LONG> and is list LIST<STRING>",
        "    -  2",
        "    +  '3'  times 2",
        "    ~  1    times 3 -> 1",
    ]


# -- what is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("ls",), ("show",), ("diff",)])
def test_a_wrong_path(command: tuple[str, ...], path: Path) -> None:
    wrong = path.parent / "spp"
    more: dict[str, tuple[object, ...]] = {"show": ("totals",), "diff": (path,)}
    result = call(*command, wrong, *more.get(command[0], ()))
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: {wrong} is no checkpoint or savepoint: it has no file _metadata; did you mean {path}?\n"
    )


def test_the_folder_of_savepoints_is_none_itself(path: Path, tmp_path: Path) -> None:
    assert f"did you mean {path}?" in call("ls", tmp_path).stderr
    result = call("diff", path, tmp_path / "nothing")
    assert result.exit_code == 2 and f"{tmp_path}/nothing is no checkpoint or savepoint" in result.stderr


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("total",), "has no operator 'total'; did you mean 'totals'?"),
        (("zzz",), "has no operator 'zzz'; there are: 'totals', 'rules'"),
        (("totals", "totl"), "operator 'totals' in {path} has no state 'totl'; did you mean 'total'?"),
        (("rules", "total"), "operator 'rules' in {path} has no state 'total'; there are: 'rule'"),
    ],
)
def test_wrong_names(args: tuple[str, ...], text: str, path: Path) -> None:
    result = call("show", path, *args)
    assert result.exit_code == 2
    assert text.format(path=path) in result.stderr


def test_an_unknown_scheme_and_a_damaged_file(path: Path) -> None:
    assert call("ls", "nope://x/y").exit_code == 2
    file = next(path.glob("totals*/total-*.parquet"))
    file.write_bytes(b"x")
    result = call("show", path, "totals", "total")
    assert result.exit_code == 2 and f"Error: {file} is corrupt: it has 1 bytes, not " in result.stderr


def test_help_names_the_commands() -> None:
    text = call("--help").stdout
    assert all(f"  {name}  " in text for name in ("ls", "show", "diff"))


# -- parts ------------------------------------------------------------------------------------------------------------


def test_columns_are_aligned() -> None:
    rows = [("a", "bb", "1"), ("ccc", "d", "200")]
    assert aligned(rows, right=(2,)) == ["a    bb    1", "ccc  d   200"]
    assert aligned([("a", ""), ("bb", "")]) == ["a", "bb"], "nothing behind the last word"


@pytest.mark.parametrize(
    ("typed", "key", "is_it"),
    [
        ("a", "a", True),
        ("'a'", "a", True),
        ("5", 5, True),
        ("5", "5", True),
        ("('a', 1)", ("a", 1), True),
        ("a", ("a", 1), False),
        ("2024-01-02", datetime.date(2024, 1, 2), True),
        ("a", Scoped("a", TimeWindow(0, 1)), True),
        ("b", Scoped("a", TimeWindow(0, 1)), False),
        ("5", 6, False),
    ],
)
def test_keys_as_people_type_them(typed: str, key: Any, is_it: bool) -> None:
    assert matches(typed)(key) is is_it


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, "a", None, True), [1, "a", None, True]),
        ({"a": [1.5]}, {"a": [1.5]}),
        ({1: "a"}, [[1, "a"]]),
        (float("inf"), "inf"),
        (Row(a=1, b=Row(2)), {"a": 1, "b": [2]}),
        (TimeWindow(1, 2), {"start": 1, "end": 2}),
        (b"ab", "b'ab'"),
        (datetime.date(2024, 1, 2), "2024-01-02"),
    ],
)
def test_values_in_json(value: Any, expected: Any) -> None:
    assert jsonable(value) == expected
