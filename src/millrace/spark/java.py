"""Java for Spark: whether there is one that Spark can run on, and how Spark's launcher would start a driver's JVM.

It is asked before pyspark is imported, whose own answer is a long traceback. ``scripts/check_java.sh`` makes the same
check for ``make`` before there is a Python environment; the two must agree. Nothing here imports PySpark, so the JVM
can be on its way before that is done.

To ask the launcher takes a JVM of its own. ``millrace prepare`` asks it once, with a mark in the place of the options
that differ from session to session. The answer is kept in the user's cache and holds as long as Java and PySpark are
the files that they were, and where nothing but Millrace's settings says how Spark starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec

from millrace.util.folders import make_private


def user_cache(*names: str) -> str:
    """A path in the user's cache directory; nothing is made there."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "millrace", *names)


MINIMUM_JAVA = 17
"""Spark 4 runs on no older one."""

JAVA_NEEDED = (
    "Millrace needs Java 17 or newer, looked for in JAVA_HOME, then on PATH. "
    "Debian/Ubuntu: `apt-get install openjdk-17-jre-headless`; macOS: `brew install openjdk@17`; "
    "or set JAVA_HOME to one that you have"
)
"""What to tell a user without a usable Java: one line."""

_VERSION = re.compile(r'^(?!Picked up )[^"\n]*version "([^"\n]*)"', re.MULTILINE)
# Up to Java 8 the major version was the second number: 1.8.0_402.
_MAJOR = re.compile(r"(?:1\.)?([0-9]+)")
_TIMEOUT_SECONDS = 10


class JavaNotFoundError(RuntimeError):
    """No Java, or a too old one, which is named."""

    def __init__(self, found: str = "") -> None:
        super().__init__(f"{JAVA_NEEDED}. Found: {found}" if found else JAVA_NEEDED)


@dataclass(frozen=True)
class JavaInfo:
    """A Java that Spark can run on."""

    executable: str
    major: int


def require_java() -> JavaInfo:
    """The Java that Spark will use: JAVA_HOME's, or else the first on PATH.

    :raises JavaNotFoundError: if that is missing, does not run or is older than Java 17.
    """
    # Spark's launcher runs $JAVA_HOME/bin/java whenever JAVA_HOME is set, so a good java on PATH would not help then.
    home = os.environ.get("JAVA_HOME")
    executable = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if executable is None:
        raise JavaNotFoundError
    major = parse_major(_version_output(executable))
    if major is None:
        raise JavaNotFoundError(f"{executable}, which does not say its version")
    if major < MINIMUM_JAVA:
        raise JavaNotFoundError(f"{executable}, which is Java {major}")
    return JavaInfo(executable, major)


def parse_major(output: str) -> int | None:
    """The major version in the output of ``java -version``, or None if there is none."""
    version = _VERSION.search(output)
    major = _MAJOR.match(version.group(1)) if version else None
    return int(major.group(1)) if major else None


def _version_output(executable: str) -> str:
    """What ``java -version`` prints (to stderr, as a rule); nothing if it does not run."""
    try:
        done = subprocess.run(
            [executable, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""Java reports every class that it leaves out, on standard output."""


def class_options(path: str) -> str:
    """Options for a JVM that maps the classes of an archive."""
    return f"-XX:SharedArchiveFile={path} {QUIET}"


_MARK = "-Dmillrace.options=here"
_MEMORY = "137m"
"""what the launcher is asked for, to be found again in its answer"""
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
_LAUNCHER_SECONDS = 60
_OTHERS = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_")
"""Variables that begin so may tell Spark's scripts how a JVM is to be started."""
_HARMLESS = ("SPARK_LOCAL_IP", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_HOSTNAME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")


@dataclass(frozen=True)
class JavaCommand:
    """How a JVM of a driver is started on this machine."""

    java: JavaInfo
    archive: str
    """the classes of Spark, see ``class_archive``"""
    stamp: list[list[int]]
    words: list[str]
    """the launcher's answer up to the class that is run, with a mark for the options"""

    def line(self, memory: str, options: list[str]) -> list[str]:
        """The command of the server that a driver's Python talks to."""
        place = self.words.index(_MARK)
        words = [*self.words[:place], *options, *self.words[place + 1 :]]
        return [f"-Xmx{memory}" if word == f"-Xmx{_MEMORY}" else word for word in words] + [_GATEWAY]


def spark_home() -> str:
    """The folder of the installed PySpark, which is not imported."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None, "PySpark is installed"
    return os.path.dirname(spec.origin)


def remember(java: JavaInfo, archive: str) -> None:
    """Ask the launcher, and keep its answer. Where it cannot be understood, there is none."""
    home = spark_home()
    asked = [java.executable, "-cp", os.path.join(home, "jars", "*"), "org.apache.spark.launcher.Main", _SUBMIT]
    settings = (f"spark.driver.memory={_MEMORY}", f"spark.driver.extraJavaOptions={_MARK}")
    asked += [word for setting in settings for word in ("--conf", setting)] + ["pyspark-shell"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}
    environment |= {"SPARK_HOME": home, "SPARK_SCALA_VERSION": "2.13"}
    done = subprocess.run(asked, capture_output=True, env=environment, timeout=_LAUNCHER_SECONDS, check=True)
    # Words end with a zero; what the launcher says beside them comes before an empty word and a line end.
    words = done.stdout.decode().partition("\0\n")[2].split("\0")
    if _MARK not in words or f"-Xmx{_MEMORY}" not in words or _SUBMIT not in words:
        return
    found = JavaCommand(java, archive, _stamp(java.executable, home), words[: words.index(_SUBMIT)])
    path = _path(java.executable, home)
    make_private(os.path.dirname(path))
    with open(f"{path}.{os.getpid()}.tmp", "w", opener=_private) as file:
        json.dump(asdict(found), file)
    os.replace(file.name, path)


def remembered(environment: Mapping[str, str]) -> JavaCommand | None:
    """What was remembered, if it holds here."""
    if any(name.startswith(_OTHERS) and name not in _HARMLESS for name in environment):
        return None
    java_home = environment.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(java_home, "bin") if java_home else environment.get("PATH"))
    if java is None:
        return None
    home = spark_home()
    try:
        if any(os.scandir(os.path.join(home, "conf"))):
            return None
    except FileNotFoundError:
        pass  # no folder with settings
    try:
        with open(_path(java, home)) as file:
            read = json.load(file)
        found = JavaCommand(**{**read, "java": JavaInfo(**read["java"])})
        return found if found.stamp == _stamp(java, home) and os.path.exists(found.archive) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _path(java: str, home: str) -> str:
    key = hashlib.sha256("\n".join([os.path.realpath(java), home]).encode()).hexdigest()[:16]
    return user_cache(f"java-command-{key}.json")


def _stamp(java: str, home: str) -> list[list[int]]:
    """Changes with what the command is made of."""
    files = (os.path.realpath(java), os.path.join(home, "version.py"), os.path.join(home, "jars"))
    return [[status.st_mtime_ns, status.st_size] for status in map(os.stat, files)]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL, 0o600)
