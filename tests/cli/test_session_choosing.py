"""Which programs run on a session, and why others do not. Without a session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from millrace.cli.cluster import submitting
from millrace.cli.options import ProgramOptions, Target
from millrace.cluster import run_folder
from millrace.cluster.job_folder import SessionFacts, facts_of, read_facts, spark_part, versions, why_not, write_facts
from millrace.cluster.run_folder import SESSION, Entry, this_process

HERE = {"Python": "3.11 in /venv", "pyspark": "4.3.0"}
FACTS = SessionFacts(HERE, {"spark.driver.memory": "2g"}, 60.0, 0)


@pytest.mark.parametrize(
    ("configuration", "here", "reason"),
    [
        ({"spark.driver.memory": "2g", "parallelism.default": "3"}, HERE, None),
        ({"spark.driver.memory": "2g", "spark.log.level": "ERROR"}, HERE, None),
        ({}, HERE, None),
        ({"spark.driver.memory": "3g"}, HERE, "it has other settings: spark.driver.memory"),
        (
            {"spark.driver.memory": "2g", "pipeline.jars": "a.jar", "env.java.opts.all": "-Da=b"},
            HERE,
            "it has other settings: env.java.opts.all, pipeline.jars",
        ),
        ({"spark.driver.memory": "2g", "pipeline.jars": "file:///opt/flink-sql-connector-kafka.jar"}, HERE, None),
        ({"spark.driver.memory": "2g", "pipeline.classpaths": "flink-json.jar;/x/flink-avro.jar"}, HERE, None),
        (
            {"spark.driver.memory": "2g", "pipeline.jars": "flink-json.jar;mine.jar"},
            HERE,
            "it has other settings: pipeline.jars",
        ),
        ({"spark.driver.memory": "2g"}, {**HERE, "pyspark": "4.4.0"}, "it was started with another pyspark"),
        ({"spark.driver.memory": "2g"}, {"Python": "3.12 in /venv"}, "it was started with another Python and pyspark"),
    ],
)
def test_what_keeps_a_program_from_the_session(
    configuration: dict[str, str], here: dict[str, str], reason: str | None
) -> None:
    assert why_not(FACTS, configuration, here) == reason


def test_secrets_are_compared_and_not_told() -> None:
    facts = replace(FACTS, settings={"spark.hadoop.fs.s3a.secret.key": "one"})
    reason = why_not(facts, {"spark.hadoop.fs.s3a.secret.key": "two"}, HERE)
    assert reason == "it has other settings: spark.hadoop.fs.s3a.secret.key"


def test_versions_are_those_of_this_python() -> None:
    assert {"Python", "Millrace", "pyspark", "pyarrow"} <= versions().keys()
    assert versions() == versions()


def test_settings_of_each_program_are_left_to_it() -> None:
    given = {"spark.app.name": "mine", "spark.log.level": "INFO", "parallelism.default": "2", "spark.jars": "a.jar"}
    assert spark_part(given) == {"spark.jars": "a.jar"}


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """One that this process seems to be."""
    monkeypatch.setenv(run_folder.RUN_DIRECTORY, str(tmp_path / "run"))
    folder = run_folder.new_folder("session")
    write_facts(folder, facts_of({}, 60.0, 7))
    run_folder.register(folder, Entry(SESSION, this_process()))
    monkeypatch.setattr(run_folder, "describe_engine", lambda _: object())
    return folder


def program(**options: object) -> ProgramOptions:
    nothing: dict[str, object] = dict.fromkeys(ProgramOptions.__dataclass_fields__)
    return ProgramOptions(**{**nothing, "properties": (), "words": ("job.py",), **options})  # type: ignore[arg-type]


def test_a_program_without_wishes_runs_on_it(session: str) -> None:
    found = submitting.session_for(program(), Target())
    assert found is not None and found.folder == session
    assert read_facts(session).began == 7


@pytest.mark.parametrize(
    ("options", "target"),
    [
        ({"master": "local[2]"}, Target()),
        ({"properties": (("spark.master", "local[2]"),)}, Target()),
        ({}, Target(kind="local")),
        ({}, Target(isolated=True)),
    ],
    ids=["--master", "spark.master", "-t local", "--isolated"],
)
def test_one_that_asks_for_a_spark_of_its_own_does_not(
    session: str, options: dict[str, object], target: Target, capsys: pytest.CaptureFixture[str]
) -> None:
    assert submitting.session_for(program(**options), target) is None
    assert capsys.readouterr().err == ""


def test_a_line_says_why_not(session: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wishes = program(properties=(("spark.sql.shuffle.partitions", "3"),))
    assert submitting.session_for(wishes, Target()) is None
    assert capsys.readouterr().err == "not on the session: it has other settings: spark.sql.shuffle.partitions\n"
    monkeypatch.setattr(run_folder, "describe_engine", lambda _: None)
    assert submitting.session_for(program(), Target()) is None
    assert capsys.readouterr().err == "not on the session: its Spark is not there\n"


def test_where_none_runs_nothing_is_said(session: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_folder.withdraw(session)
    assert submitting.session_for(program(), Target()) is None
    assert capsys.readouterr().err == ""
