"""``millrace test``: programs recorded, changed and replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millrace.cli.main import main

STREAM = """\
import sys
from millrace.common import WatermarkStrategy
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSource, StreamFormat
env = StreamExecutionEnvironment.get_execution_environment()
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[1]).build()
words = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").flat_map(str.split)
words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1).print()
env.execute("count")
print("ended")
"""
TABLES = """\
import sys
from millrace.table import EnvironmentSettings, TableEnvironment
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.execute_sql(f"CREATE TABLE orders (id INT, word STRING, price DECIMAL(5, 2), at TIMESTAMP(3)) "
                  f"WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{sys.argv[1]}')")
t_env.execute_sql("CREATE TABLE counts (word STRING, n BIGINT, total DECIMAL(38, 2), PRIMARY KEY (word) NOT ENFORCED) "
                  "WITH ('connector' = 'print')")
t_env.execute_sql("INSERT INTO counts SELECT word, COUNT(*), SUM(price) FROM orders GROUP BY word").wait()
t_env.execute_sql("SELECT id, at FROM orders WHERE id > 1").print()
"""
ORDERS = """\
{"id": 1, "word": "a", "price": 1.10, "at": "2026-01-01 10:00:00.123"}
{"id": 2, "word": "b", "price": 2.20, "at": null}
{"id": 3, "word": "a", "price": 3.30, "at": "2026-01-01 10:00:01"}
"""


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["test", *map(str, words)])


def recorded(folder: Path, program: str, content: str) -> tuple[Path, Path, Path]:
    """The program, its input, which is gone, and the recording."""
    job, data, into = folder / "job.py", folder / "input", folder / "recording"
    job.write_text(program)
    data.write_text(content)
    result = run("record", "--into", into, job, data)
    assert result.exit_code == 0, result.output
    data.unlink()
    return job, data, into


def test_a_program_is_replayed_without_its_input(tmp_path: Path) -> None:
    job, data, recording = recorded(tmp_path, STREAM, "to be or not to be\nthat is the question\n")
    result = run("replay", "--from", recording, "--variants", "--seed", 1, job, data)
    assert (result.exit_code, result.stdout) == (0, "as recorded: 10 results, in 5 variants\n")
    assert result.stderr == "ended\n"


def test_a_change_of_the_program_shows(tmp_path: Path) -> None:
    job, data, recording = recorded(tmp_path, STREAM, "to be\nor not\nto be\n")
    job.write_text(STREAM.replace("flat_map(str.split)", "flat_map(str.split).filter(lambda word: word != 'or')"))
    result = run("replay", "--from", recording, job, data)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "job 'count', all at once:",
        "  Sink: Print to Std. Out: 6 recorded, 5 now",
        '    - {"$tuple": ["or", 1]}',
    ]
    assert run("replay", "--from", recording, "--update", job, data).stdout == "updated: 5 results\n"
    assert run("replay", "--from", recording, job, data).stdout == "as recorded: 5 results\n"


def test_tables_are_compared_by_the_rows_that_are_left(tmp_path: Path) -> None:
    job, data, recording = recorded(tmp_path, TABLES, ORDERS)
    index = json.loads((recording / "recording.json").read_text())
    files = [file for each in index["jobs"] for file in each["sinks"].values()]
    found = [[json.loads(line) for line in (recording / file).read_text().splitlines()] for file in files]
    assert found == [
        [["a", 2, {"$decimal": "4.40"}], ["b", 1, {"$decimal": "2.20"}]],
        [[2, None], [3, {"$datetime": "2026-01-01T10:00:01"}]],
    ]
    result = run("replay", "--from", recording, "--variants", job, data)
    assert (result.exit_code, result.stdout) == (0, "as recorded: 4 results, in 5 variants\n"), result.output
    assert "| 3 | 2026-01-01 10:00:01.000 |" in " ".join(result.stderr.split())


def test_a_recording_can_be_edited(tmp_path: Path) -> None:
    job, data, recording = recorded(tmp_path, TABLES, ORDERS)
    for file in recording.glob("*source*.jsonl"):
        file.write_text(file.read_text().replace('{"$decimal": "3.30"}', '{"$decimal": "5.00"}'))
    result = run("replay", "--from", recording, job, data)
    assert result.exit_code == 1
    assert '    + ["a", 2, {"$decimal": "6.10"}]' in result.stdout.splitlines()


def test_a_job_that_fails(tmp_path: Path) -> None:
    job, data, recording = recorded(tmp_path, STREAM, "a b\n")
    job.write_text(STREAM.replace("(word, 1)", "(word, 1 // (word == 'a'))"))
    result = run("replay", "--from", recording, job, data)
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.stderr


def test_a_job_that_is_missing_shows(tmp_path: Path) -> None:
    job, data, recording = recorded(tmp_path, TABLES, ORDERS)
    job.write_text("\n".join(TABLES.splitlines()[:-1]))
    result = run("replay", "--from", recording, job, data)
    assert result.exit_code == 1
    assert "recorded, but the program does not execute it now" in result.stdout


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (STREAM.replace('"lines"', '"words"'), "has no source 'Source: words' (it has Source: lines)"),
        (STREAM + "words.print()\nenv.execute()\n", "has 1 jobs, the program executes more"),
        ("print(1)", "ended without executing a job"),
        (TABLES.replace("in_streaming_mode", "in_batch_mode"), "queries of batch mode run on Spark"),
    ],
)
def test_a_recording_of_another_program(tmp_path: Path, changed: str, says: str) -> None:
    job, data, recording = recorded(tmp_path, STREAM, "a\n")
    data.write_text("a\n")
    job.write_text(changed)
    result = run("replay", "--from", recording, job, data)
    assert result.exit_code == 2, result.output
    assert says in result.stderr


def test_what_can_not_be_recorded_is_named(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(STREAM.replace(".flat_map(str.split)", "").replace("(word, 1)", "(word, object())").replace("sum(1)",
                   "reduce(lambda one, two: one)"))  # fmt: skip
    (tmp_path / "input").write_text("a\n")
    result = run("record", "--into", tmp_path / "recording", job, tmp_path / "input")
    assert result.exit_code == 1, result.output
    assert "operator 'Sink: Print to Std. Out'" in result.stderr
    assert "a builtins.object can't be recorded" in result.stderr
    assert not (tmp_path / "recording").exists()


def test_folders_that_do_not_fit(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(STREAM)
    result = run("record", "--into", tmp_path, job, "input")
    assert (result.exit_code, "is there and not empty" in result.stderr) == (2, True)
    result = run("replay", "--from", tmp_path, job, "input")
    assert (result.exit_code, "has no recording" in result.stderr) == (2, True)
