"""The programs that the demo shows, without Spark."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import atm_timeout
import pytest
import word_count_files

from millrace.datastream import StreamExecutionEnvironment
from millrace.testing import run_locally

MACHINES = [
    "10:00:12 North: card back after 12 s",
    "10:00:38 East: card back after 18 s",
    "10:00:45 South: card kept, nobody touched it for 30 s",
    "10:00:52 North: card back after 12 s",
    "10:01:14 South: card back after 4 s",
    "too late: 10:00:41 East card out",
]


def environment(parallelism: int) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def write_files(folder: Path, seed: int) -> list[str]:
    """Some Python files with a text of their own."""
    choose = random.Random(seed)
    words = ["Def", "self", "__init__", "for", "naïve", "x1y", "IN", "*", "\t", "'s"]
    for number in range(9):
        place = folder / f"part{number % 3}"
        place.mkdir(exist_ok=True)
        lines = [" ".join(choose.choices(words, range(10, 0, -1), k=choose.randrange(9))) for _ in range(60)]
        (place / f"{number}.py").write_text("\n".join(lines), encoding="utf-8")
    (folder / "part0" / "notes.txt").write_text("def def def")
    (folder / "site-packages").mkdir()
    (folder / "site-packages" / "other.py").write_text("def def def")
    return word_count_files.python_files(str(folder))


def ranking(files: list[str], top: int) -> list[tuple[str, int]]:
    """The same as the program, in two lines of Python."""
    words = (word for file in files for word in re.findall("[A-Za-z_]+", Path(file).read_text("utf-8").lower()))
    return sorted(Counter(words).items(), key=lambda counted: (-counted[1], counted[0]))[:top]


@pytest.mark.parametrize("epoch_records", [None, 100])
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_word_count_files(tmp_path: Path, parallelism: int, epoch_records: int | None) -> None:
    files = write_files(tmp_path, seed=1)
    assert len(files) == 9
    stream = word_count_files.build(environment(parallelism), files, top=5)
    run = run_locally(stream, epoch_records=epoch_records, workers=2, seed=1)
    assert run.collected == ranking(files, 5)


def test_word_count_of_fewer_words_than_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("b a b")
    files = word_count_files.python_files(str(tmp_path))
    assert run_locally(word_count_files.build(environment(2), files)).collected == [("b", 2), ("a", 1)]


@pytest.mark.parametrize("epoch_records", [None, 1, 4])
def test_atm_timeout(epoch_records: int | None) -> None:
    run = run_locally(atm_timeout.build(environment(2)), epoch_records=epoch_records)
    assert sorted(run.collected) == MACHINES


def test_atm_timeout_does_not_depend_on_the_order_of_steps_that_are_in_time() -> None:
    steps = atm_timeout.STEPS[:-1]
    in_order = sorted(steps, key=lambda step: step.second)
    assert steps != in_order
    for order in (steps, in_order):
        env = environment(2)
        stamped = env.from_collection(order).assign_timestamps_and_watermarks(atm_timeout.STRATEGY).set_parallelism(1)
        run = run_locally(stamped.key_by(lambda step: step.machine).process(atm_timeout.Machine()))
        assert sorted(run.collected) == MACHINES[:-1]
