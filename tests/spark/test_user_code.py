"""User code in the script itself and in a module beside it, as most programs are: run as a script of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HELPERS = """
from dataclasses import dataclass
from enum import Enum


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Ball:
    colour: Colour
    size: int


def grow(ball):
    return Ball(ball.colour, ball.size * FACTOR)


FACTOR = 10
"""

SCRIPT = """
from dataclasses import dataclass

import helpers
from helpers import Ball, Colour
from millrace.common import Types
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor

OFFSET = 5


@dataclass(frozen=True)
class Total:
    colour: Colour
    size: int


class Sum(KeyedProcessFunction):
    def open(self, runtime_context):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        before = self.sum.value() or Total(value.colour, OFFSET)
        assert isinstance(before, Total)
        self.sum.update(Total(value.colour, before.size + value.size))
        ctx.timer_service().register_event_time_timer(2**63 - 1)

    def on_timer(self, timestamp, ctx):
        yield self.sum.value()


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    balls = env.from_collection([Ball(Colour.RED, 1), Ball(Colour.BLUE, 2), Ball(Colour.RED, 3)])
    totals = balls.map(helpers.grow).key_by(lambda ball: ball.colour).process(Sum())
    for total in totals.execute_and_collect():
        assert isinstance(total, Total) and isinstance(total.colour, Colour)
        print(total.colour.name, total.size)
    print("before the error", flush=True)
    env.from_collection([1]).map(lambda value: value // 0).print()
    env.execute("fails")


if __name__ == "__main__":
    main()
"""


@pytest.mark.timeout(120)
def test_script_with_a_module_beside_it(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "helpers.py").write_text(HELPERS)
    script = tmp_path / "app" / "job.py"
    script.write_text(SCRIPT)
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, timeout=110)
    assert sorted(run.stdout.splitlines()) == ["BLUE 25", "RED 45", "before the error"], run.stderr
    assert run.returncode == 1
    last = run.stderr.splitlines()[-5:]
    assert "cause:   ZeroDivisionError" in last[-1], run.stderr
    assert "org.apache" not in run.stderr and "WARN" not in run.stderr, run.stderr
