"""Settings of the Spark sessions that Millrace makes, and how Spark's launcher is given the secret ones.

PySpark is not imported here: the JVM may start before, and ``spark_context`` finds the context of this process only if
there is one. Every user of a machine sees command lines, so the launcher gets secrets in a file that only this user
reads.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millrace.configuration import spark_settings as meant
from millrace.datastream.job_settings import existing, is_flinks_and_missing
from millrace.spark import job_records
from millrace.spark.sessions.logs import log4j_path
from millrace.spark.standalone_daemons import SECRET, as_file, closed_pages
from millrace.util.folders import holds_sockets, scratch_folder

if TYPE_CHECKING:
    from pyspark import SparkContext


def spark_context() -> SparkContext | None:
    """The context if this process has one already."""
    pyspark = sys.modules.get("pyspark")
    return None if pyspark is None else pyspark.SparkContext._active_spark_context


LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class SessionWishes:
    """What a job wants of a session that has to be made."""

    parallelism: int
    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)
    jars: tuple[str, ...] = ()
    java_options: str | None = None
    """more options for the JVM; None: those of the class archive, if there is one"""
    computes: bool = False
    """whether Spark's own operators do the work, as in batch queries; elsewhere data only passes through its JVMs"""


def one_process(master: str) -> bool:
    """Whether a master runs everything in the driver's own JVM. ``local-cluster`` has executors of their own."""
    return master.startswith("local") and not master.startswith("local-cluster")


def one_machine(master: str) -> bool:
    """Whether all that Spark starts for a master runs on this machine."""
    return master.startswith("local")


def all_settings(master: str, log_file: str, wishes: SessionWishes, java_options: str) -> dict[str, str]:
    """The settings of a session: what Millrace asks of it, and on top what the configuration does."""
    configuration = wishes.configuration
    return {
        "spark.master": master,
        "spark.app.name": configuration.get("pipeline.name", "millrace"),
        **session_settings(master, log_file, wishes, java_options, _scratch()),
        **meant.spark_settings(configuration, meant.Target(master, wishes.parallelism)),
        **{key: str(value) for key, value in configuration.items() if key.startswith("spark.")},
    }


def _scratch() -> str:
    """The folder that the driver's supervisor removes with it, if sockets can lie there; else one of this process."""
    watched = job_records.scratch()
    return watched if watched is not None and holds_sockets(watched) else scratch_folder()


def session_settings(
    master: str, log_file: str, wishes: SessionWishes, java_options: str, scratch: str
) -> dict[str, str]:
    """What Millrace asks of a session that it makes; the user's own settings come on top.

    :param scratch: a folder for what is not needed without the driver: a JVM that is killed leaves its files behind.
    """
    logging_option = f"-Dlog4j2.configurationFile=file:{log4j_path(log_file)}"
    java = f"-Djava.io.tmpdir={scratch} {logging_option} {java_options}".strip()
    on_driver, on_executors = meant.java_options(wishes.configuration, meant.Target(master))
    settings = {
        **_doors(master),
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": _joined(java, on_driver),
        "spark.log.level": "WARN",
        # A task is to come back to the executor that has its state, not to go where most of its input lies.
        "spark.shuffle.reduceLocality.enabled": "false",
        "spark.python.daemon.module": "millrace.spark.workers.daemon",
        # Over TCP every task waits 40 ms for an acknowledgement that the other side delays.
        "spark.python.unix.domain.socket.enabled": "true",
        # Tasks that stay begin together: when an executor is being replaced Spark would look again after 15 s.
        "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    }
    if not wishes.computes:
        # Twenty epochs a second fill what the dashboard keeps by default (100,000 tasks) for twenty minutes: the JVM
        # would grow for as long.
        settings |= {
            "spark.ui.retainedJobs": "100",
            "spark.ui.retainedStages": "100",
            "spark.ui.retainedTasks": "2000",
            "spark.sql.ui.retainedExecutions": "100",
            # What epochs leave behind outlives the young generation: 4 MB a minute that are collected when the old one
            # is full, after hours of growth. Spark asks for a whole collection every half hour; it is cheap here.
            "spark.cleaner.periodicGC.interval": "5min",
        }
    if one_machine(master) or not wishes.computes:
        # Where data only passes through the JVM in large buffers, a simple collector will do. The second compiler would
        # take the cores that the Python workers need, for code that only copies bytes. Batch queries on a cluster have
        # both, since Spark computes them; those on one machine are short, mostly.
        settings |= {
            "spark.driver.extraJavaOptions": _joined(java, _lean(on_driver), on_driver),
            # Executors would write some lines for each task of each epoch, for as long as the job runs.
            "spark.executor.extraJavaOptions": _joined(logging_option, _lean(on_executors), on_executors),
        }
    elif on_executors:
        settings["spark.executor.extraJavaOptions"] = on_executors
    if one_process(master):
        settings |= {
            # At most: where streams pass through, it stays small. Spark's own operators, in batch mode, need it.
            "spark.driver.memory": "2g",
        }
        settings["spark.local.dir"] = scratch
    configured = [jar for jar in meant.jars(wishes.configuration) if not is_flinks_and_missing(jar)]
    if jars := [*wishes.jars, *(jar if _is_remote(jar) else existing(jar, "pipeline.jars") for jar in configured)]:
        settings["spark.jars"] = ",".join(dict.fromkeys(jars))
    return settings


def _doors(master: str) -> dict[str, str]:
    """Settings that keep other users of the machine out of Spark's ports and pages. On clusters of others the settings
    of these clusters decide."""
    # Spark's page has no login: it shows plans and settings, and lets every visitor end jobs.
    settings = {"spark.ui.enabled": "false", "spark.ui.killEnabled": "false"}
    if one_machine(master):
        # Else every process of the machine can put blocks into Spark that tasks unpickle.
        settings["spark.authenticate"] = "true"
        settings |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return settings


def _lean(given: str) -> str:
    """Options for a JVM that takes little memory, besides the options ``given`` by the user."""
    # With one compiler alone Java reserves 48 MB for compiled code. A hundred queries fill that, and then nothing is
    # compiled any more.
    compiler = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    return compiler if meant.chooses_collector(given) else f"-XX:+UseSerialGC {compiler}"


def _joined(*options: str) -> str:
    return " ".join(filter(None, options))


def _is_remote(path: str) -> bool:
    return "://" in path and not path.startswith("file:")


QUERY_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    # The plan moves a few large rows: compiling code for them takes longer than all of them together.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


_ARGUMENTS, _SHELL = "PYSPARK_SUBMIT_ARGS", "pyspark-shell"
_FILE, _DEFAULTS = "--properties-file", "--load-spark-defaults"


def secret_settings(master: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The secret of a session that has several processes on this machine, and what closes the pages of its master.

    Where all is one process, Spark makes a secret itself."""
    if one_process(master) or not one_machine(master):
        return {}
    found = {}
    if _says(settings, "spark.authenticate") and SECRET not in settings:
        found[SECRET] = secrets.token_urlsafe(32)
    if not _says(settings, "spark.ui.enabled") and "spark.ui.filters" not in settings:
        # Its master and workers have pages even so.
        found |= closed_pages()
    return found


def _says(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "").lower() == "true"


@contextlib.contextmanager
def settings_in_file(settings: Mapping[str, str]) -> Iterator[None]:
    """A launcher that starts inside finds the settings, on top of what the environment tells it already."""
    before = os.environ.get(_ARGUMENTS)
    words = shlex.split(before) if before else [_SHELL]
    with tempfile.NamedTemporaryFile("w", prefix="millrace-spark-", suffix=".conf", encoding="utf-8") as file:
        file.write(_without_file(words) + as_file(settings))
        file.flush()
        given = [_FILE, file.name, *([] if _DEFAULTS in words else [_DEFAULTS]), *words]
        os.environ[_ARGUMENTS] = shlex.join(given)
        try:
            yield
        finally:
            if before is None:
                del os.environ[_ARGUMENTS]
            else:
                os.environ[_ARGUMENTS] = before


def _without_file(words: list[str]) -> str:
    """What the file says that is named already, which is taken out: Spark reads one only."""
    if _FILE not in words[:-1]:
        return ""
    place = words.index(_FILE)
    with open(words[place + 1], encoding="utf-8") as file:
        text = file.read()
    del words[place : place + 2]
    return f"{text}\n"
