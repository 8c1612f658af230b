"""An archive of Spark's classes in the form that the JVM maps at its start: Spark then starts in half the time.

Reading, checking and linking 15,000 classes from 280 jars is most of what a JVM does when Spark starts. Java can
store the result of one such start (``-XX:ArchiveClassesAtExit``) and begin the next one from there. ``make_archive``
does that once per machine, user, Java and PySpark; sessions use the archive if it is there. A JVM that finds an
archive unfit ignores it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import pyspark

from millrace.spark.java import JavaInfo, require_java
from millrace.spark.sessions.class_options import QUIET, class_options
from millrace.spark.sessions.java_command import remember
from millrace.spark.user_cache import user_cache
from millrace.util.private_folder import make_private

TIMEOUT_SECONDS = 300

_TRAINING = """
from pyspark import SparkContext
from millrace.spark.sessions.session import SessionWishes, make_session
from millrace.datastream import StreamExecutionEnvironment
session = make_session(SessionWishes(2, java_options={options!r}))
jvm = SparkContext._gateway.proc
env = StreamExecutionEnvironment.get_execution_environment(spark=session).set_parallelism(2)
with env.from_collection([1, 2]).key_by(lambda v: v).map(lambda v: v).execute_and_collect() as results:
    list(results)
session.stop()
SparkContext._gateway.shutdown()
jvm.stdin.close()
jvm.wait(timeout={timeout})
"""


def archive_path(java: JavaInfo | None = None) -> str:
    """Where the archive of this Java and this PySpark is, or would be: in the user's cache directory."""
    java = java or require_java()
    home = os.path.dirname(os.path.abspath(pyspark.__file__))
    identity = "\n".join([os.path.realpath(java.executable), str(java.major), home, pyspark.__version__])
    key = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return user_cache(f"spark-{pyspark.__version__}-{key}.jsa")


def archive_options(java: JavaInfo | None = None) -> str:
    """The JVM options that use the archive; empty without one. Who knows the Java already saves asking it again."""
    path = archive_path(java)
    return class_options(path) if os.path.exists(path) else ""


def make_archive() -> str:
    """Start Spark once with a small job in a process of its own and archive its classes; returns the path.

    Takes about half a minute and 160 MB. Raises ``RuntimeError`` if no archive came out.
    """
    java = require_java()
    path = archive_path(java)
    make_private(os.path.dirname(path))
    temporary = f"{path}.{os.getpid()}.tmp"
    program = _TRAINING.format(options=f"-XX:ArchiveClassesAtExit={temporary} {QUIET}", timeout=TIMEOUT_SECONDS)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
        if not os.path.exists(temporary):
            raise RuntimeError(f"Java made no class archive: {(done.stderr or done.stdout).strip()[-500:]}")
        os.replace(temporary, path)
        remember(java, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return path
