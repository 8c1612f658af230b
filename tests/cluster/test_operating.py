"""A cluster as its user operates it: several jobs on one Spark, the verbs, and processes that are killed."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.cluster.operating import Operated
from tests.cluster.processes.running import wait_for
from tests.rings import one_of

from millrace import dbapi
from millrace.cluster.client import RemoteJobFailedError, RestJobClient
from millrace.cluster.run_folder import describe_engine, describe_gateway, read_token
from millrace.common.jobs import JobStatus

pytestmark = pytest.mark.spark

PROGRAM = """\
import sys, time
from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import SourceFunction

class Numbers(SourceFunction):
    emits_same_elements = True

    def run(self, ctx):
        for number in range(10**9):
            ctx.collect(number)
            time.sleep(0.02)

    def cancel(self):
        pass

class Total:
    def __call__(self, a, b):
        return a[0], a[1] + b[1]

name, folder = sys.argv[1:3]
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
if folder != "-":
    env.enable_checkpointing(200)
    env.get_checkpoint_config().set_checkpoint_storage_dir(folder)
    settings = Configuration()
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "10")
    settings.set_string("restart-strategy.fixed-delay.delay", "200 ms")
    env.configure(settings)
numbers = env.add_source(Numbers()).uid("numbers").map(lambda number: (name, 1))
numbers.key_by(lambda pair: pair[0]).reduce(Total()).uid("total").map(lambda pair: pair[1]).print()
env.execute(name)
"""
WORDS = """\
import sys
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection(sys.argv[1:]).key_by(lambda word: word).map(lambda word: word.upper()).print()
env.execute("words")
"""
PLAIN = """\
import sys
from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
config = Configuration()
config.set_string("execution.target", "remote")
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_parallelism(1)
divisor = int(sys.argv[1])
env.from_collection([1, 2, 3]).map(lambda number: number // divisor).print()
print(env.execute("plain").get_job_id())
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operated]:
    place = tmp_path_factory.mktemp("operated")
    for name, text in (("endless.py", PROGRAM), ("words.py", WORDS), ("plain.py", PLAIN)):
        (place / name).write_text(text)
    with Operated(place) as made:
        yield made


def endless(cluster: Operated, name: str, folder: Path | str = "-", *options: str) -> str:
    return cluster.detached(*options, "--pyflink", "endless.py", name, str(folder))


def grows(cluster: Operated, job: str) -> None:
    """Wait until a job prints more."""
    before = len(cluster.lines(job))
    wait_for(lambda: len(cluster.lines(job)) > before, f"job {job} goes on")


def test_two_jobs_on_one_spark_and_the_death_of_one(cluster: Operated) -> None:
    one, other = endless(cluster, "one"), endless(cluster, "other")
    assert cluster.driver(one) != cluster.driver(other)
    os.kill(cluster.driver(one), signal.SIGKILL)
    cluster.wait_until(one, "FAILED")
    grows(cluster, other)
    engine = describe_engine(cluster.folder)
    assert engine is not None and cluster.state(other) == "RUNNING"
    assert cluster("cancel", other).stdout == f"Cancelling job {other}.\nCancelled job {other}.\n"
    cluster.wait_until(other, "CANCELED")
    assert describe_engine(cluster.folder) == engine


def test_an_attached_program(cluster: Operated) -> None:
    done = cluster("run", "--pyflink", "words.py", "a", "b")
    assert done.returncode == 0, done.stderr + cluster.logs()
    first, one, other, *result = done.stdout.splitlines()
    assert first.startswith("Job has been submitted with JobID ")
    assert sorted((one, other)) == ["A", "B"]
    job = first[-32:]
    assert result[:2] == ["Program execution finished", f"Job with JobID {job} has finished."]
    assert re.fullmatch(r"Job Runtime: \d+ ms", result[2])
    assert cluster.state(job) == "FINISHED"
    (cluster.place / "fails.py").write_text("raise SystemExit(7)")
    assert cluster("run", "fails.py").returncode == 7


def test_ctrl_c_cancels(cluster: Operated) -> None:
    running = cluster.begin("run", "--pyflink", "endless.py", "attached", "-")
    assert running.stdout is not None
    job = running.stdout.readline().strip()[-32:]
    assert running.stdout.readline() == "1\n"
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    assert cluster.state(job) == "CANCELED"


def test_the_verbs(cluster: Operated, tmp_path: Path) -> None:
    job = endless(cluster, "verbs", tmp_path / "checkpoints")
    listed = cluster("list").stdout.splitlines()
    assert listed[0] == "Waiting for response..."
    assert listed[1] == "------------------ Running/Restarting Jobs -------------------"
    assert [line.partition(" : ")[2] for line in listed[2:-2]] == [f"{job} : verbs (RUNNING)"]
    assert listed[-2:] == ["-" * 62, "No scheduled jobs."]
    taken = cluster("savepoint", job, str(tmp_path / "savepoints")).stdout.splitlines()
    assert taken[:2] == [f"Triggering savepoint for job {job}.", "Waiting for response..."]
    assert taken[3] == "You can resume your program from this savepoint with the run command."
    assert Path(taken[2].removeprefix("Savepoint completed. Path: ")).is_dir()
    full = cluster("checkpoint", "-full", job)
    assert full.returncode == 0, full.stderr
    assert full.stdout.splitlines()[2].startswith("Checkpoint(FULL) ")
    stopped = cluster("stop", "-p", str(tmp_path / "savepoints"), job).stdout.splitlines()
    assert stopped[0] == f'Suspending job "{job}" with a CANONICAL savepoint.'
    assert stopped[1:3] == [f"Triggering stop-with-savepoint for job {job}.", "Waiting for response..."]
    path = stopped[3].removeprefix("Savepoint completed. Path: ")
    cluster.wait_until(job, "FINISHED")
    counted = int(cluster.lines(job)[-1])
    again = endless(cluster, "verbs", "-", "-s", path)
    wait_for(lambda: len(cluster.lines(again)) > 1, "it goes on")
    first = next(line for line in cluster.lines(again) if line.isdecimal())
    assert int(first) == counted + 1
    cluster("cancel", again)
    cluster.wait_until(again, "CANCELED")
    assert cluster("cancel", again).returncode == 0
    gone = cluster("stop", "-p", str(tmp_path), job)
    assert (gone.returncode, gone.stdout.splitlines()[0]) == (1, stopped[0])
    assert "The program finished with the following exception:" in gone.stderr


def test_the_same_id_is_the_same_job(cluster: Operated) -> None:
    """Uploaded and run twice with one id, as a client does that has not heard the first answer."""
    import httpx

    token = Path(cluster.folder, "token").read_text()
    client = httpx.Client(base_url=cluster.url, headers={"Authorization": f"Bearer {token}"}, timeout=120)
    with open(cluster.place / "words.py", "rb") as file:
        uploaded = client.post("/jars/upload", files={"jarfile": ("words.py", file)}).json()["filename"]
    body = {"jobId": "ab" * 16, "programArgsList": ["x"]}
    for _ in range(2):
        answer = client.post(f"/jars/{os.path.basename(uploaded)}/run", json=body)
        assert answer.json()["jobid"] == "ab" * 16, answer.text
    cluster.wait_until("ab" * 16, "FINISHED")
    assert cluster.lines("ab" * 16).count("X") == 1
    plan = client.post(f"/jars/{os.path.basename(uploaded)}/plan", json={"programArgsList": ["x"]}).json()
    assert plan["plan"]["nodes"]


def test_a_job_of_a_plain_python_program(cluster: Operated) -> None:
    def run(divisor: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "plain.py", divisor],
            cwd=cluster.place,
            env=cluster.environment,
            capture_output=True,
            text=True,
            timeout=200,
        )

    done = run("1")
    assert done.returncode == 0, done.stderr + cluster.logs()
    job = done.stdout.strip()
    assert cluster.state(job) == "FINISHED"
    assert sorted(cluster.lines(job)) == ["1", "2", "3"]
    failed = run("0")
    assert failed.returncode == 1
    assert "RemoteJobFailedError" in failed.stderr and "ZeroDivisionError" in failed.stderr


def test_a_client_over_rest(cluster: Operated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_RUN_DIR", str(cluster.run))  # where the token is
    job = endless(cluster, "client", tmp_path / "checkpoints")
    client = RestJobClient(job, cluster.url)
    assert client.get_job_status().result() is JobStatus.RUNNING
    counted = client.query_state("total", "_reduce_state", "client").result()
    assert counted is None or counted[1] >= 1
    assert Path(client.trigger_savepoint(str(tmp_path)).result()).is_dir()
    assert isinstance(client.get_accumulators().result(), dict)
    client.cancel().result()
    with pytest.raises(RemoteJobFailedError, match="CANCELED"):
        client.get_job_execution_result().result()


SQL = """\
CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '50',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '1000000');
CREATE TEMPORARY FUNCTION twice AS 'twices.twice' LANGUAGE PYTHON;
CREATE TEMPORARY VIEW doubled AS SELECT twice(n) AS n FROM numbers;
CREATE TABLE printed (n BIGINT) WITH ('connector' = 'print');
SET 'pipeline.name' = 'through the gateway';
INSERT INTO printed SELECT n FROM doubled;
"""
TWICE = """\
from pyflink.table.udf import udf

@udf(result_type="BIGINT")
def twice(n):
    return 2 * n
"""


def test_a_job_outlives_the_gateway(cluster: Operated, tmp_path: Path) -> None:
    (tmp_path / "twices.py").write_text(TWICE.replace("pyflink", "millrace"))
    port = "sql-gateway.endpoint.rest.port=0"
    begun = cluster("sql-gateway", "start", "-D", port, "-pyfs", str(tmp_path / "twices.py"))
    assert begun.returncode == 0, begun.stderr
    address, pid = re.search(r"listens at (\S+), process (\d+)", begun.stdout).groups()  # type: ignore[union-attr]
    said = cluster("sql", "gateway", "-e", address, "--execute", SQL)
    assert said.returncode == 0, said.stdout + said.stderr
    job = re.search(r"Job ID: ([0-9a-f]{32})", said.stdout + said.stderr)
    assert job is not None, said.stdout
    cluster.wait_until(job[1], "RUNNING")
    listed = cluster("sql", "gateway", "-e", address, "--execute", "SHOW JOBS;").stdout
    assert f"{job[1]} | through the gateway" in listed, listed
    os.kill(int(pid), signal.SIGKILL)
    grows(cluster, job[1])
    assert f"{job[1]} : through the gateway (RUNNING)" in cluster("list").stdout
    assert cluster("sql-gateway", "stop").stdout.startswith("No sql-gateway daemon to stop")
    assert cluster("cancel", job[1]).returncode == 0
    numbers = [int(line.partition("[")[2].rstrip("]")) for line in cluster.lines(job[1])[:10]]
    assert numbers and all(number % 2 == 0 for number in numbers)


def test_the_gateway_of_the_cluster(cluster: Operated) -> None:
    """It is not there until somebody asks; its queries run on the cluster's Spark; the server survives its death."""
    assert describe_gateway(cluster.folder) is None
    token = read_token(cluster.folder)
    assert httpx.post(f"{cluster.url}/sql/v2/sessions", json={}, trust_env=False).status_code == 401
    with dbapi.connect(f"{cluster.url}/sql", token, properties={"execution.runtime-mode": "batch"}) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT SUM(n) FROM (VALUES (1), (2), (4)) AS t (n)")
        assert cursor.fetchall() == [(7,)]
        gateway = describe_gateway(cluster.folder)
        assert gateway is not None
        os.kill(gateway.process.pid, signal.SIGKILL)
        assert cluster.ask("/overview")["flink-version"]
        with pytest.raises(dbapi.Error, match="does not exist"):
            wait_for(lambda: cursor.execute("SHOW TABLES"), "an answer")


def test_jobs_do_not_notice_the_death_of_the_server(cluster: Operated) -> None:
    job = endless(cluster, "steady")
    driver, url = cluster.driver(job), cluster.url
    cluster.kill("server")
    grows(cluster, job)
    assert cluster.state(job) == "RUNNING"  # of the next server
    assert (cluster.driver(job), cluster.url) == (driver, url)
    cluster("cancel", job)
    cluster.wait_until(job, "CANCELED")


@pytest.mark.parametrize("victim", one_of(["driver", "engine"]))
def test_a_job_goes_on_after_a_death(cluster: Operated, tmp_path: Path, victim: str) -> None:
    job = endless(cluster, victim, tmp_path / "checkpoints")
    wait_for(lambda: list((tmp_path / "checkpoints").glob("*/chk-*")), "a checkpoint")
    driver = cluster.driver(job)
    if victim == "driver":
        os.kill(driver, signal.SIGKILL)
    else:
        cluster.kill("engine")
    wait_for(lambda: cluster.driver(job) != driver, "another driver")
    assert cluster.state(job) in ("RESTARTING", "RUNNING", "FAILING")
    cluster.wait_until(job, "RUNNING")
    grows(cluster, job)
    cluster("cancel", job)
    cluster.wait_until(job, "CANCELED")
    counts = [int(line) for line in cluster.lines(job) if line.isdecimal()]
    # What was printed after the last checkpoint comes once more, and nothing is left out.
    jumps = [(one, next) for one, next in itertools.pairwise(counts) if next != one + 1]
    assert len(jumps) <= 1
    assert all(next <= one for one, next in jumps)
    assert set(counts) == set(range(1, max(counts) + 1))


def test_a_program_in_the_foreground_is_found(cluster: Operated, tmp_path: Path) -> None:
    running = cluster.begin("run", "-t", "local", "--pyflink", "endless.py", "here", "-")
    try:
        entries = wait_for(lambda: list(cluster.run.glob("run-*/entry.json")), "the program is found")
        listed = cluster("list", "-m", entries[0].parent.name).stdout.splitlines()
        job = listed[2].split(" : ")[1]
        assert listed[2].endswith(" : here (RUNNING)")
        stopped = cluster("stop", "-p", str(tmp_path), job)  # found by its id, though a cluster runs beside it
        assert stopped.stdout.startswith(f'Suspending job "{job}" with a CANONICAL savepoint.\n')
        assert "\nSavepoint completed. Path: " in stopped.stdout
        assert running.wait(60) == 0
        assert not list(cluster.run.glob("run-*"))
    finally:
        running.kill()
        running.communicate()
