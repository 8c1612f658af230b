"""``millrace run`` as a process of its own, on Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.spark

PIPED = """\
import logging, sys
from dataclasses import dataclass
from pyflink.common import Types
from pyflink.datastream import MapFunction, StreamExecutionEnvironment
from helper import Shout

logging.basicConfig(stream=sys.stdout, level=logging.INFO)

@dataclass
class Word:
    text: str
    count: int

class Count(MapFunction):
    def map(self, value):
        from pyflink.common import Row
        return Word(Row(value)[0], 1)

env = StreamExecutionEnvironment.get_execution_environment()
words = env.from_collection(sys.argv[1:], Types.STRING()).map(Shout()).map(Count())
counts = words.key_by(lambda word: word.text).reduce(lambda a, b: Word(a.text, a.count + b.count))
print("first", flush=True)
counts.map(lambda word: (isinstance(word, Word), word.text, word.count)).print()
env.execute("words")
print("second")
env.from_collection([Word("last", 9)]).key_by(lambda word: word.text).map(lambda word: word.count).print()
env.execute_async("not waited for")
"""

HELPER = """\
from pyflink.datastream.functions import MapFunction

class Shout(MapFunction):
    def map(self, value):
        return value.upper()
"""

FAILING = """\
from millrace.datastream import StreamExecutionEnvironment

def invert(x):
    return 1 / x

env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([2, 0]).map(invert).name("invert").print()
env.execute()
"""

ENDLESS = """\
import sys
from millrace.common import WatermarkStrategy
from millrace.common.time import Duration
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSource, StreamFormat

env = StreamExecutionEnvironment.get_execution_environment()
files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[1])
source = files.monitor_continuously(Duration.of_seconds(1)).build()
env.from_source(source, WatermarkStrategy.no_watermarks(), "files").print()
env.execute("endless")
"""


def start(tmp_path: Path, text: str, *args: str, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    program = tmp_path / "program.py"
    program.write_text(text)
    return subprocess.Popen(
        [sys.executable, "-m", "millrace", "run", "-p", "1", *options, str(program), *args],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whatever runs the tests may ignore Ctrl-C, and that would be inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )


def test_in_a_pipe_there_is_the_output_of_a_pyflink_program_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    process = start(tmp_path, PIPED, "to", "be", "to", options=("--pyflink",))
    out, err = process.communicate(timeout=200)
    lines = ["first", "(True, 'TO', 1)", "(True, 'BE', 1)", "(True, 'TO', 2)", "second", "9"]
    assert (process.returncode, out.splitlines(), err) == (0, lines, "")


def test_a_failing_function_is_shown_with_its_line_and_element(tmp_path: Path) -> None:
    process = start(tmp_path, FAILING)
    out, err = process.communicate(timeout=200)
    program = tmp_path / "program.py"
    *lines, details = err.splitlines()
    assert lines == [
        f"operator 'invert' (subtask 1), made at {program}:7, failed",
        "  element: 0",
        f"  at:      {program}:4 in invert: return 1 / x",
        "  cause:   ZeroDivisionError: division by zero",
    ]
    assert (process.returncode, out) == (1, "")
    log = Path(details.removeprefix("details: "))
    assert "ZeroDivisionError" in log.read_text()


def test_ctrl_c_cancels_the_job_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "file.txt").write_text("begun\n")
    process = start(tmp_path, ENDLESS, str(tmp_path / "input"))
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    children = psutil.Process(process.pid).children(recursive=True)
    assert any("java" in child.name() for child in children)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=200)
    assert (process.returncode, out) == (130, "")
    warning, end = err.splitlines()
    assert warning.startswith("job 'endless' runs without checkpoints")
    assert end == "cancelled"
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []
