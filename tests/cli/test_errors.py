"""What ``millrace run`` says about errors, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.cli.main import main
from millrace.cli.program_jobs import report
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.failure import Failure

ENV = """\
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
"""


def run(tmp_path: Path, text: str, *options: str) -> Result:
    program = tmp_path / "program.py"
    program.write_text(text)
    return CliRunner().invoke(main, ["run", *options, str(program)])


def test_an_error_of_the_program_shows_the_frames_of_its_author(tmp_path: Path) -> None:
    result = run(tmp_path, "def f(x):\n    return 1 / x\n\nf(0)\n")
    assert result.exit_code == 1
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert [line.strip() for line in lines if line.startswith("  File")] == [
        f'File "{tmp_path}/program.py", line 4, in <module>',
        f'File "{tmp_path}/program.py", line 2, in f',
    ]


def test_causes_are_shown_and_cut_too(tmp_path: Path) -> None:
    text = "try:\n    {}['k']\nexcept KeyError as error:\n    raise RuntimeError('no k') from error\n"
    result = run(tmp_path, text)
    assert "KeyError: 'k'" in result.stderr
    assert "direct cause" in result.stderr
    assert "runpy" not in result.stderr
    assert "millrace/cli" not in result.stderr


def test_everything_is_shown_on_demand(tmp_path: Path) -> None:
    assert "millrace/cli" in run(tmp_path, "1 / 0", "--verbose").stderr


def test_a_syntax_error_shows_the_line(tmp_path: Path) -> None:
    result = run(tmp_path, "x = = 1\n")
    assert result.exit_code == 1
    assert "SyntaxError" in result.stderr
    assert f'{tmp_path}/program.py", line 1' in result.stderr
    assert "runpy" not in result.stderr
    assert "millrace/cli" not in result.stderr


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("env.from_collection([1]).window_all(None)", "TypeError: window_all() at "),
        ("env.add_source(5)", "TypeError: add_source() at "),
        ("env.set_parallelism(0)", "ValueError: "),
        ("env.execute()", "RuntimeError: No operators defined"),
        ("env.add_python_file('/no/file.py')", "FileNotFoundError: add_python_file() at "),
    ],
)
def test_what_millrace_refuses_shows_the_message_and_the_users_line(tmp_path: Path, call: str, message: str) -> None:
    result = run(tmp_path, f"{ENV}{call}\n")
    assert result.exit_code == 1
    first, second = result.stderr.splitlines()
    assert first.startswith(message)
    assert second == f"  at {tmp_path}/program.py:3 in <module>: {call}"


def test_a_slip_inside_millrace_keeps_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from millrace.datastream import StreamExecutionEnvironment

    monkeypatch.setattr(StreamExecutionEnvironment, "_default_local_parallelism", None)
    monkeypatch.setattr(StreamExecutionEnvironment, "_read", None)
    result = run(tmp_path, f"{ENV}env.from_collection([1])\n")
    assert "TypeError: 'NoneType' object is not callable" in result.stderr
    assert "stream_execution_environment.py" in result.stderr
    assert "millrace/cli" not in result.stderr


def test_an_error_of_user_code_below_millrace_is_the_users(tmp_path: Path) -> None:
    bad = "class Bad(list):\n    def __iter__(self):\n        raise OSError('bad list')\n"
    text = f"{ENV}{bad}env.from_collection(Bad())\n"
    result = run(tmp_path, text)
    assert [line.strip() for line in result.stderr.splitlines() if line.startswith("  File")] == [
        f'File "{tmp_path}/program.py", line 6, in <module>',
        f'File "{tmp_path}/program.py", line 5, in __iter__',
    ]
    assert result.stderr.endswith("OSError: bad list\n")


def test_a_failed_job_shows_its_failure_and_where_the_details_are(tmp_path: Path) -> None:
    failure = Failure("Map", 0, "p.py:3", "ValueError: bad", element="1", location="p.py:4 in f", detail="Traceback...")
    expected = "\n".join(
        (
            "operator 'Map' (subtask 1), made at p.py:3, failed",
            "  element: 1",
            "  at:      p.py:4 in f",
            "  cause:   ValueError: bad",
            "details: /tmp/x.log",
        )
    )
    shown = report(JobFailedError(failure), "/tmp/x.log")
    assert (shown.text, shown.exit_code) == (expected, 1)
    assert "Traceback..." in report(JobFailedError(failure), "/tmp/x.log", verbose=True).text


def test_the_log_is_named_once() -> None:
    failure = Failure("job", 0, "Spark", "lost; details: /tmp/x.log")
    assert report(JobFailedError(failure), "/tmp/x.log").text.count("/tmp/x.log") == 1


def test_without_java_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/java")
    result = run(tmp_path, "from millrace.spark.java import require_java\nrequire_java()\n")
    assert result.exit_code == 2
    assert result.stderr.startswith("Millrace needs Java 17 or newer")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(("end", "code"), [("3", 3), ("0", 0), ("None", 0), ("'message'", 1)])
def test_the_exit_code_of_the_program_is_kept(tmp_path: Path, end: str, code: int) -> None:
    assert run(tmp_path, f"import sys\nsys.exit({end})\n").exit_code == code


def test_an_error_of_spark_is_shown_without_its_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from millrace.datastream import StreamExecutionEnvironment

    def submit(self: object, job_name: str | None) -> None:
        raise py4j_error

    py4j_error = type("Py4JJavaError", (Exception,), {"__module__": "py4j.protocol"})(
        "An error occurred while calling o1.start.\n: java.io.IOException: no route\n\tat x.Spark(Spark.scala:1)"
    )
    monkeypatch.setattr(StreamExecutionEnvironment, "_submit", submit)
    # As if Spark had been called by Millrace.
    monkeypatch.setattr("millrace.cli.program_jobs.below_millrace", lambda error: True)
    result = run(tmp_path, f"{ENV}env.execute()\n")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == "Spark: java.io.IOException: no route"
    assert "scala" not in result.stderr
