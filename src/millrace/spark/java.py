"""Is there a Java that Spark can run on? Asked before pyspark is imported, whose own answer is a long traceback.

``scripts/check_java.sh`` makes the same check for ``make`` before there is a Python environment; the two must agree.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

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
