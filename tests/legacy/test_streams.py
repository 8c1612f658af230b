"""Older names of the DataStream API do what they did."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from millrace.common import RestartStrategies, Types
from millrace.common.time import Time
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import MapFunction
from millrace.testing import run_locally

Told = list[warnings.WarningMessage]
PAIRS = Types.TUPLE([Types.STRING(), Types.LONG()])
EVENTS = [("a", 1), ("b", 500), ("a", 900), ("a", 1500), ("b", 2100), ("a", 700)]


@pytest.fixture
def env(told: Told) -> Any:
    found = StreamExecutionEnvironment.get_execution_environment()
    found.set_parallelism(1)
    return found


def collected(stream: Any, **how: Any) -> list[Any]:
    return run_locally(stream, **how).collected


def test_folds_of_keys_go_on_over_epochs(env: Any) -> None:
    keyed = env.from_collection(EVENTS, PAIRS).key_by(lambda pair: pair[0])
    found = collected(keyed.fold([], lambda seen, pair: [*seen, pair[1]]), epoch_records=2)
    assert found == [[1], [500], [1, 900], [1, 900, 1500], [500, 2100], [1, 900, 1500, 700]]


def test_windows_go_by_event_time_and_forget_what_is_late(env: Any) -> None:
    from pyflink.common.watermark_strategy import (  # type: ignore[import-not-found]
        AssignerWithPunctuatedWatermarks,
    )
    from pyflink.datastream import TimeCharacteristic

    class EveryElement(AssignerWithPunctuatedWatermarks):  # type: ignore[misc]
        def extract_timestamp(self, element: Any, previous: int) -> int:
            return int(element[1])

        def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> int | None:
            return extracted_timestamp if last_element[0] == "b" else None

    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    stamped = env.from_collection(EVENTS, PAIRS).assign_timestamps_and_watermarks(EveryElement())
    windows = stamped.key_by(lambda pair: pair[0]).time_window(Time.seconds(1))
    # The watermark 2,100 has passed when ("a", 700) comes.
    assert sorted(collected(windows.fold(0, lambda total, pair: total + pair[1]))) == [500, 901, 1500, 2100]


def test_an_assigner_that_takes_the_element_only(env: Any) -> None:
    from pyflink.datastream import BoundedOutOfOrdernessTimestampExtractor, TimeCharacteristic

    class Second(BoundedOutOfOrdernessTimestampExtractor):  # type: ignore[misc]
        def extract_timestamp(self, element: Any) -> int:
            return int(element[1])

    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    stamped = env.from_collection(EVENTS, PAIRS).assign_timestamps_and_watermarks(Second(Time.seconds(2)))
    all_windows = stamped.time_window_all(Time.seconds(1))
    assert collected(all_windows.fold(0, lambda total, pair: total + pair[1])) == [2101, 1500, 2100]


def test_split_streams(env: Any) -> None:
    from pyflink.datastream import OutputSelector

    class Parity(OutputSelector):  # type: ignore[misc]
        def select(self, value: int) -> list[str]:
            return ["even", "all"] if value % 2 == 0 else ["odd", "all"]

    split = env.generate_sequence(1, 6).split(Parity())
    assert [collected(split.select(*names)) for names in (("even",), ("odd", "all"))] == [[2, 4, 6], [1, 2, 3, 4, 5, 6]]


def test_count_windows_of_all_elements(env: Any) -> None:
    assert collected(env.generate_sequence(1, 5).count_window_all(2).reduce(lambda a, b: a + b)) == [3, 7]


def test_a_list_as_state_is_restored_in_other_workers(env: Any) -> None:
    from pyflink.datastream import ListCheckpointed

    class Numbered(MapFunction, ListCheckpointed):  # type: ignore[misc]
        count = 0

        def map(self, value: Any) -> Any:
            self.count += 1
            return self.count, value

        def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[int]:
            return [self.count]

        def restore_state(self, state: list[int]) -> None:
            self.count = sum(state)

    numbered = env.from_collection(list("abcdef"), Types.STRING()).map(Numbered())
    found = collected(numbered, epoch_records=1, workers=2, seed=3)
    assert found == list(enumerate("abcdef", 1))


def test_text_files_are_written_and_read(env: Any, tmp_path: Path) -> None:
    from pyflink.datastream import TextInputFormat

    pairs = Types.TUPLE([Types.LONG(), Types.STRING()])
    env.generate_sequence(1, 3).map(lambda n: (n, f"n{n}"), pairs).write_as_csv(str(tmp_path / "out"))
    run_locally(env)
    for read in (
        env.create_input(TextInputFormat(str(tmp_path / "out"))),
        env.read_file(TextInputFormat(str(tmp_path / "out")), str(tmp_path / "out")),
    ):
        assert sorted(collected(read)) == ["1,n1", "2,n2", "3,n3"]
    with pytest.raises(FileExistsError, match="is there already"):
        env.generate_sequence(1, 3).write_as_text(str(tmp_path / "out"))


def test_text_files_have_the_text_of_elements(env: Any, tmp_path: Path) -> None:
    """As Flink's, where a Tuple2 is (a,1) and a Row +I[a, 1]."""
    pairs = Types.TUPLE([Types.STRING(), Types.INT()])
    env.from_collection([("a", 1), ("b", 2)], pairs).write_as_text(str(tmp_path / "pairs"))
    env.from_collection([True, False], Types.BOOLEAN()).write_as_text(str(tmp_path / "flags"))
    run_locally(env)
    for name, wanted in (("pairs", ["(a,1)", "(b,2)"]), ("flags", ["false", "true"])):
        parts = [part for part in (tmp_path / name).rglob("part-*") if part.is_file()]
        assert sorted(line for part in parts for line in part.read_text().splitlines()) == wanted


def test_backends_say_where_checkpoints_go(env: Any) -> None:
    from pyflink.datastream import FsStateBackend, MemoryStateBackend, RocksDBStateBackend

    from millrace.datastream.job_settings import checkpoint_plan

    def directory() -> str | None:
        plan = checkpoint_plan(env.get_checkpoint_config(), env._configuration.to_dict())
        assert plan is not None
        return plan.directory

    env.enable_checkpointing(1000)
    env.set_state_backend(FsStateBackend("file:///one", "file:///saved"))
    assert (directory(), env.get_default_savepoint_directory()) == ("file:///one", "file:///saved")
    env.set_state_backend(RocksDBStateBackend("file:///two", True))
    assert (directory(), env.get_state_backend().is_incremental_checkpoints_enabled()) == ("file:///two", True)
    env.set_state_backend(RocksDBStateBackend(checkpoint_stream_backend=FsStateBackend("file:///three")))
    assert directory() == "file:///three"
    env.set_state_backend(MemoryStateBackend())
    assert directory() is None
    with pytest.raises(ValueError, match="needs a directory"):
        RocksDBStateBackend()


@pytest.mark.parametrize(
    ("strategy", "settings"),
    [
        (RestartStrategies.no_restart(), {"type": "none"}),
        (
            RestartStrategies.fixed_delay_restart(3, 10_000),
            {"type": "fixed-delay", "fixed-delay.attempts": "3", "fixed-delay.delay": "10000 ms"},
        ),
        (
            RestartStrategies.failure_rate_restart(2, 60_000, 500),
            {
                "type": "failure-rate",
                "failure-rate.max-failures-per-interval": "2",
                "failure-rate.failure-rate-interval": "60000 ms",
                "failure-rate.delay": "500 ms",
            },
        ),
        (RestartStrategies.fall_back_restart(), {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_restart_strategy_is_settings(env: Any, strategy: Any, settings: dict[str, str]) -> None:
    assert env.get_restart_strategy() == RestartStrategies.fall_back_restart()
    assert env.set_restart_strategy(strategy).get_restart_strategy() == strategy
    found = {key: value for key, value in env._configuration.to_dict().items() if key.startswith("restart-strategy")}
    assert found == {f"restart-strategy.{key}": value for key, value in settings.items()}
