"""How Spark's launcher would start a driver's JVM, remembered: to ask it takes a JVM of its own at every start.

``millrace prepare`` asks it once, with a mark in the place of the options that differ from session to session. What is
remembered holds as long as Java and PySpark are the files that they were, and where nothing but our own settings says
how Spark starts. Nothing here imports PySpark, so the JVM can be on its way before that is done.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec

from millrace.spark.java import JavaInfo
from millrace.spark.user_cache import user_cache
from millrace.util.private_folder import make_private

_MARK = "-Dmillrace.options=here"
_MEMORY = "137m"
"""what the launcher is asked for, to be found again in its answer"""
_SUBMIT = "org.apache.spark.deploy.SparkSubmit"
_GATEWAY = "org.apache.spark.api.python.PythonGatewayServer"
_TIMEOUT_SECONDS = 60
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
    done = subprocess.run(asked, capture_output=True, env=environment, timeout=_TIMEOUT_SECONDS, check=True)
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
