"""``millrace explain``."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.cli.main import main
from millrace.testing.timelines import record_job

PROGRAM = """\
import sys
from millrace.common import Time, WatermarkStrategy
from millrace.common.watermark_strategy import TimestampAssigner
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


env = StreamExecutionEnvironment.get_execution_environment()
print("parallelism", env.get_parallelism(), sys.argv[1:])
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
elements = [("a", 1), ("a", 12), ("a", 3)] + [("a", 20)] * int(sys.argv[1] if sys.argv[1:] else 0)
timed = env.from_collection(elements).assign_timestamps_and_watermarks(strategy)
windows = timed.key_by(lambda value: value[0]).window(TumblingEventTimeWindows.of(Time.seconds(10)))
windows.reduce(lambda a, b: (a[0], a[1] + b[1])).print()
env.execute()
"""


def explain(folder: Path, *options: str, text: str = PROGRAM, arguments: tuple[str, ...] = ()) -> Result:
    program = folder / "program.py"
    program.write_text(text)
    return CliRunner().invoke(main, ["explain", *options, str(program), *arguments])


def test_without_a_time_line_it_is_the_plan(tmp_path: Path) -> None:
    assert "nodes" in json.loads(explain(tmp_path).stdout)


def test_the_time_line_as_text(tmp_path: Path) -> None:
    result = explain(tmp_path, "--timeline")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("TumblingEventTimeWindows\n")
    assert [line.split("  ")[-1].strip() for line in result.stdout.splitlines()[5:]] == [
        "('a', 1)",
        "('a', 12)",
        "window of 'a' fires: ('a', 1)",
        "('a', 3), LATE",
        "end of input",
        "window of 'a' fires: ('a', 12)",
    ]
    assert result.stderr == "parallelism 1 []\n"


def test_parallelism_is_as_the_command_says(tmp_path: Path) -> None:
    result = explain(tmp_path, "--timeline", "-p", "2")
    assert result.stderr == "parallelism 2 []\n"
    assert "TumblingEventTimeWindows (2/2)" in result.stdout


def test_the_name_of_the_file_decides_about_the_form(tmp_path: Path) -> None:
    picture, text = tmp_path / "a.svg", tmp_path / "a.txt"
    assert explain(tmp_path, "--timeline", "-o", str(picture)).stdout == f"{picture}\n"
    assert picture.read_text().startswith("<svg ")
    explain(tmp_path, "--timeline", "-o", str(text))
    assert text.read_text().startswith("TumblingEventTimeWindows\n")
    assert explain(tmp_path, "--timeline", "--format", "svg").stdout.startswith("<svg ")


def test_a_large_program_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.testing.timelines.record_job", partial(record_job, elements=5))
    result = explain(tmp_path, "--timeline", arguments=("30",))
    assert result.exit_code == 0
    assert "more elements than a time line can show" in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PROGRAM.replace("timed.key_by", "timed.oops"), "AttributeError"),
        ("print(1)", "ended without executing a job"),
        (PROGRAM.replace("value[1] * 1000", "1 // 0"), "ZeroDivisionError"),
        (
            "from millrace.datastream import StreamExecutionEnvironment as S\n"
            "env = S.get_execution_environment()\nenv.from_sequence(1, 2).print()\nenv.execute()\n",
            "neither windows nor a keyed process function",
        ),
    ],
)
def test_what_can_not_be_shown(tmp_path: Path, text: str, said: str) -> None:
    result = explain(tmp_path, "--timeline", text=text)
    assert result.exit_code == 1
    assert said in result.stderr


def test_a_form_without_a_time_line(tmp_path: Path) -> None:
    result = explain(tmp_path, "--format", "svg")
    assert result.exit_code == 2
    assert "add --timeline" in result.stderr
