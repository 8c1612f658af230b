"""Where a program is to run, as the command line says it."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from millrace.cli.cluster import submitting
from millrace.cli.command_line import ProgramCommand, refuse_the_rest
from millrace.cli.options import ProgramOptions, Target, program_options, target_options
from millrace.cluster.run_folder import CLUSTER, Entry, RunEntry, this_process


def parse(*words: str) -> tuple[ProgramOptions, Target]:
    """What a command gets of a command line."""
    found: list[Any] = []

    @click.command(cls=ProgramCommand, context_settings={"allow_interspersed_args": False})
    @program_options
    @target_options
    @refuse_the_rest
    def command(program: ProgramOptions, target: Target) -> None:
        found.append((program, target))

    result = CliRunner().invoke(command, [*words, "job.py", "-d"], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return found[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), Target()),
        (("-d",), Target(detached=True)),
        (("-yd",), Target(detached=True)),
        (("-t", "local"), Target("local")),
        (("-t", "remote"), Target("remote")),
        (("-m", "host:1"), Target(address="host:1")),
        (("-D", "execution.target=remote", "-D", "rest.port=9"), Target("remote", "localhost:9")),
        (("-t", "remote", "-D", "rest.address=h"), Target("remote", "h:8081")),
        (("-D", "rest.port=9"), Target()),
        (("--isolated",), Target(isolated=True)),
        (("-t", "yarn-per-job"), Target("local")),
        (("-m", "yarn-cluster"), Target("local")),
    ],
)
def test_targets(words: tuple[str, ...], expected: Target) -> None:
    program, target = parse(*words)
    assert target == expected
    assert program.words == ("job.py", "-d")  # what comes after the program belongs to it


YARN = [("-t", "yarn-per-job"), ("-m", "yarn-cluster"), ("-yn", "3"), ("-t", "yarn-application")]


@pytest.mark.parametrize("words", YARN)
def test_yarn_is_sparks_master(words: tuple[str, ...]) -> None:
    assert parse(*words)[0].master == "yarn"
    assert parse("--master", "local[2]", *words)[0].master == "local[2]"


def test_options_for_yarn_become_sparks() -> None:
    words = "-yn 3 -ys 2 -yjm 1024 -ytm 2g -ynm words -yqu q -yD a=b -D c=d"
    assert dict(parse(*words.split())[0].properties) == {
        "spark.executor.instances": "3",
        "spark.executor.cores": "2",
        "spark.driver.memory": "1024m",
        "spark.executor.memory": "2g",
        "pipeline.name": "words",
        "spark.yarn.queue": "q",
        "a": "b",
        "c": "d",
    }


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-t", "kubernetes-session"), "nearest: --master k8s://HOST:PORT"),
        (("-t", "nonsense"), "there is no such target; nearest: local, remote"),
        (("-yid", "application_1"), "a program cannot join an application of YARN"),
        (("-c", "org.example.Main"), "not jars"),
    ],
)
def test_what_there_is_not_is_refused_with_the_nearest(words: tuple[str, ...], text: str) -> None:
    with pytest.raises(click.UsageError, match=text):
        parse(*words)


# -- which cluster --------------------------------------------------------------------------------------------------


def found(name: str, url: str) -> RunEntry:
    return RunEntry(f"/run/{name}", Entry(CLUSTER, this_process(), url))


ONE, OTHER = found("one", "http://localhost:8081"), found("other", "http://localhost:8082")


@pytest.mark.parametrize(
    ("running", "words", "expected"),
    [
        ([], (), None),
        ([ONE], (), ONE),
        ([ONE], ("-t", "local"), None),
        ([ONE], ("--master", "local[2]"), None),
        ([ONE], ("-D", "spark.master=yarn"), None),
        ([ONE], ("-d", "--master", "local[2]"), ONE),
        ([ONE, OTHER], ("-m", "other"), OTHER),
        ([ONE, OTHER], ("-m", "127.0.0.1:8082"), OTHER),
        ([ONE], ("-m", "elsewhere:8081"), "elsewhere:8081"),
        ([ONE, OTHER], ("-t", "local"), None),
    ],
)
def test_where_a_program_goes(
    monkeypatch: pytest.MonkeyPatch, running: list[RunEntry], words: tuple[str, ...], expected: Any
) -> None:
    monkeypatch.setattr(submitting, "something_runs", lambda: bool(running))
    monkeypatch.setattr(submitting, "_clusters", lambda: running)
    assert submitting.cluster_for(*parse(*words)) == expected


@pytest.mark.parametrize(
    ("running", "words", "text"),
    [
        ([], ("-d",), "start one with `millrace cluster start`"),
        ([], ("-t", "remote"), "start one with `millrace cluster start`"),
        ([ONE, OTHER], (), "several clusters run, say which one .*\n  -m localhost:8081\n  -m localhost:8082"),
    ],
)
def test_it_must_be_clear_where_a_program_goes(
    monkeypatch: pytest.MonkeyPatch, running: list[RunEntry], words: tuple[str, ...], text: str
) -> None:
    monkeypatch.setattr(submitting, "something_runs", lambda: bool(running))
    monkeypatch.setattr(submitting, "_clusters", lambda: running)
    with pytest.raises(click.UsageError, match=text):
        submitting.cluster_for(*parse(*words))
