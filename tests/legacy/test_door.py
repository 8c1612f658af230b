"""The room of older names is loaded when a program uses one, and only then."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.corpus import corpus

import millrace
from millrace import older
from millrace.common import Types
from millrace.pyflink_names import NAMES
from millrace.pyflink_names.public_module import each
from millrace.table import EnvironmentSettings, TableEnvironment

TODAY = """
import sys
import millrace
millrace.activate()
from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment, FlatMapFunction
from pyflink.datastream.functions import MapFunction
from pyflink.table import DataTypes, EnvironmentSettings, StreamTableEnvironment, TableEnvironment, descriptors
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udf
env = StreamExecutionEnvironment.get_execution_environment()
t_env = StreamTableEnvironment.create(env, EnvironmentSettings.in_streaming_mode())
plus = udf(lambda i: i + 1, result_type="BIGINT", func_type="general")
table = t_env.from_elements([(1, "a")], ["a", "b"]).alias("c", "d").select(plus(col("c")), lit(1).minutes)
t_env.create_temporary_view("t", table)
t_env.execute_sql("CREATE TABLE sink (a BIGINT) WITH ('connector' = 'blackhole')")
t_env.sql_query("SELECT 1").insert_into("sink").explain()
env.from_collection([1], Types.INT()).key_by(lambda v: v).map(lambda v: v).print()
assert not hasattr(t_env, "nothing") and not hasattr(env, "nothing") and not hasattr(table, "nothing")
print([name for name in sys.modules if name.startswith("millrace.legacy")])
"""


def test_a_program_of_today_never_loads_the_room() -> None:
    source = str(Path(millrace.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", TODAY], capture_output=True, text=True, timeout=200, env={"PYTHONPATH": source}
    )
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_without_activation_everything_is_refused_as_ever() -> None:
    t_env: Any = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(AttributeError, match="register_function': create_temporary_function"):
        t_env.register_function("f", None)
    with pytest.raises(Exception, match="is text, not an expression"):
        t_env.from_elements([(1,)], ["a"]).select("a")
    with pytest.raises(AttributeError, match="no attribute 'time_window'"):
        t_env._session.streams.from_collection([1], Types.INT()).time_window(1)


OLDER = [(module, name, place) for module, entry in NAMES.items() for place, name, _ in each(entry.older)]


@corpus(("module", "name", "place"), sorted(OLDER), 78)
def test_every_name_of_the_door_is_there(
    told: list[warnings.WarningMessage], module: str, name: str, place: str
) -> None:
    found = __import__(f"pyflink.{module}", fromlist=[name])
    room = __import__(f"millrace.{place}", fromlist=[name])
    assert getattr(found, name) is getattr(room, name)


def test_a_name_that_was_used_before_is_the_older_one() -> None:
    """Two classes have one name: that of today, and the one of the older programs."""
    from millrace import shell
    from millrace.legacy import descriptors

    today = shell.FormatDescriptor
    older.add_older_names("shell", shell)
    try:
        assert shell.FormatDescriptor is descriptors.FormatDescriptor is not today
    finally:
        older.remove_older_names(shell)
    assert shell.FormatDescriptor is today


def test_every_method_and_module_of_the_door_is_there() -> None:
    for (_, name), home in older._STAND_INS.items():
        assert callable(getattr(older._load(home), name))
    for home in older._ARGUMENTS.values():
        assert callable(older._load(home).todays_arguments)
    rooms = [entry.served for entry in NAMES.values() if entry.served.startswith("legacy.")]
    assert len(rooms) == 7
    for room in rooms:
        assert older._load(room.removeprefix("legacy."))


def test_deactivation_takes_the_names_away(told: list[warnings.WarningMessage]) -> None:
    import pyflink.datastream as datastream  # type: ignore[import-not-found]

    assert datastream.TimeCharacteristic
    millrace.deactivate()
    assert not hasattr(datastream, "TimeCharacteristic")


def test_a_star_gives_older_names_as_long_as_pyflink_is_active() -> None:
    import millrace.datastream

    before = list(millrace.datastream.__all__)
    millrace.activate()
    try:
        given: dict[str, Any] = {}
        exec("from pyflink.datastream import *", given)
        assert {"TimeCharacteristic", "MemoryStateBackend", "StreamExecutionEnvironment"} <= given.keys()
    finally:
        millrace.deactivate()
    assert millrace.datastream.__all__ == before
