"""PyFlink's own example programs run unchanged; and the script that runs them tells the truth about programs.

The programs are not ours and not here: MILLRACE_PYFLINK_EXAMPLES names the folder ``pyflink/examples`` of an installed
apache-flink.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from scripts import run_pyflink_examples
from scripts.run_pyflink_examples import Example, Outcome, comparable, examples, find_examples, run, verdict

FOLDER = os.environ.get("MILLRACE_PYFLINK_EXAMPLES")
PROGRAMS = [example for example in examples(Path(FOLDER)) if not example.needs] if FOLDER else []
SECONDS = 180


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize(
    "example",
    PROGRAMS or [pytest.param(None, marks=pytest.mark.skip("MILLRACE_PYFLINK_EXAMPLES names no folder"))],
    ids=lambda example: "" if example is None else example.title,
)
def test_an_example_runs(example: Example) -> None:
    good, text = verdict(example, None, SECONDS)
    assert good, text


# -- the script ---------------------------------------------------------------------------------------------------

PYTHON = [sys.executable]


def program(folder: Path, source: str, *arguments: str) -> Example:
    path = folder / "program.py"
    path.write_text(source)
    return Example("program.py", path, "", arguments)


def test_what_a_program_needs(tmp_path: Path) -> None:
    sources = {
        "a/nothing.py": "from pyflink.common import Types",
        "a/table.py": "from pyflink.table import StreamTableEnvironment",
        "b/broker.py": "from pyflink.datastream.connectors.kafka import KafkaSource",
        "b/two.py": "import pyflink.datastream.connectors.kafka.x, pyflink.datastream.connectors.elasticsearch",
        "b/module.py": "def f():\n    from pyflink.datastream.connectors import pulsar",
        "b/similar.py": "import pyflink.datastream.connectors.kafkas",
        "b/options.py": "print('--input', '--output')",
        "b/kafka_options.py": "import pyflink.datastream.connectors.kafka\nprint('--output')",
        "table/streaming_word_count.py": "print('--output')",
    }
    for name, source in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    assert [(found.title, found.needs) for found in examples(tmp_path)] == [
        ("a/nothing.py", ""),
        ("a/table.py", ""),
        ("b/broker.py", "Kafka"),
        ("b/kafka_options.py", "Kafka"),
        ("b/module.py", "Pulsar"),
        ("b/options.py", ""),
        ("b/options.py --input --output", ""),
        ("b/similar.py", ""),
        ("b/two.py", "Elasticsearch, Kafka"),
        ("table/streaming_word_count.py", ""),
    ]


def test_lines_are_counted_without_subtasks(tmp_path: Path) -> None:
    outcome = run(program(tmp_path, "print('2> a'); print('a'); print('11> 3> b')"), PYTHON)
    assert outcome == Outcome(Counter({"a": 2, "3> b": 1}), True)
    assert outcome.good


def test_a_failure_is_its_last_line(tmp_path: Path) -> None:
    outcome = run(program(tmp_path, "print('a'); raise ValueError('no')"), PYTHON)
    assert (outcome.error, outcome.good) == ("ValueError: no", False)
    assert run(program(tmp_path, "raise SystemExit(3)"), PYTHON).error == "exit code 3"


def test_files_are_read_from_the_output(tmp_path: Path) -> None:
    source = """
import os, sys
_, read, file, write, folder = sys.argv
assert (read, write) == ("--input", "--output")
os.makedirs(folder + "/bucket")
for name in ("part", ".hidden"):
    with open(f"{folder}/bucket/{name}", "w") as out:
        out.write(open(file).read())
print("not counted")
"""
    outcome = run(program(tmp_path, source, "--input", "--output"), PYTHON)
    assert outcome == Outcome(Counter(run_pyflink_examples.INPUT.splitlines()), True)


def test_a_program_without_end_is_stopped(tmp_path: Path) -> None:
    outcome = run(program(tmp_path, "import time\nprint('a', flush=True)\ntime.sleep(1000)"), PYTHON, limit=2)
    assert outcome == Outcome(Counter({"a": 1}), False)
    assert outcome.good


def test_the_cause_that_millrace_names_is_the_failure(tmp_path: Path) -> None:
    source = (
        "import sys; print('failed in f()\\n  cause:   KeyError: 1\\ndetails: a.log', file=sys.stderr); sys.exit(1)"
    )
    assert run(program(tmp_path, source), PYTHON).error == "KeyError: 1"


CHANGES = [
    (["+I[a, 1]", "-U[a, 1]", "+U[a, 2]"], ["+I[a, 2]"]),
    (["| +I | a |", "| -D | a |", "| +I | b |"], ["| +I | b |"]),
    (["x 0.1000000001 1.5"], ["x 0.1 1.5"]),
    (["+I[a]", "+I[a]"], ["+I[a]", "+U[a]"]),
    (["+I[a]", "+I[b]", "2 rows in set"], ["+I[a]", "+U[b]", "1 row in set"]),
    (
        ['{"data":[1],"type":"INSERT"}', '{"data":[1],"type":"DELETE"}', '{"data":[2],"type":"INSERT"}'],
        ['{"data":[2],"type":"INSERT"}'],
    ),
]


@pytest.mark.parametrize(("ours", "theirs"), CHANGES)
def test_lines_are_compared_by_what_they_mean(ours: list[str], theirs: list[str]) -> None:
    assert comparable(Counter(ours)) == comparable(Counter(theirs))


def test_lines_that_differ_stay_different() -> None:
    assert comparable(Counter(["+I[a, 1]", "-D[a, 1]", "+I[b, 1]"])) != comparable(Counter(["+I[a, 1]"]))


VERDICTS = [
    ("print('a')", "print('a')", (True, "as on PyFlink: 1 lines")),
    ("print('a')", None, (True, "runs: 1 lines")),
    ("", None, (False, "FAILS: no output")),
    ("1 / 0", None, (False, "FAILS: ZeroDivisionError: division by zero")),
    ("print('a')", "print('b')", (False, "DIFFERS: ['a'] instead of ['b']")),
    ("print('a')", "1 / 0", (False, "runs: 1 lines; PyFlink FAILS: ZeroDivisionError: division by zero")),
]


@pytest.mark.parametrize(("ours", "theirs", "expected"), VERDICTS)
def test_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: str, theirs: str | None, expected: tuple[bool, str]
) -> None:
    """Which engine runs a program shows in its arguments: PyFlink's gets the program's alone."""
    monkeypatch.setattr(run_pyflink_examples, "MILLRACE", [sys.executable, "-c", ours])
    monkeypatch.setattr(run_pyflink_examples, "_ON_PYFLINK", theirs or "")
    compare_with = None if theirs is None else sys.executable
    assert verdict(program(tmp_path, ""), compare_with) == expected


def test_what_cannot_run_is_not_run(tmp_path: Path) -> None:
    assert verdict(Example("x.py", tmp_path / "missing.py", "Kafka"), None) == (True, "not run")


def test_no_pyflink_no_examples(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="--examples DIR or --pyflink-python PYTHON"):
        find_examples("true")
