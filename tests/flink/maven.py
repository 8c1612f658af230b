"""Compiles and runs programs in Java beside Flink's jars, which Maven fetches."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SECONDS = 4 * 3600
"""The longest that one command may take."""


def classpath(project: Path, folder: Path) -> str:
    """The jars of a Maven project.

    :param project: a folder with a ``pom.xml``.
    :param folder: where Maven writes the list.
    """
    file = folder / "classpath"
    goal = ["dependency:build-classpath", f"-Dmdep.outputFile={file}"]
    run([tool("mvn"), "-q", "-B", "-f", str(project / "pom.xml"), *goal])
    return file.read_text(encoding="utf-8").strip()


def compiled(project: Path, folder: Path, path: str) -> Path:
    """The folder with the classes of a project's sources."""
    classes = folder / "classes"
    sources = map(str, sorted(project.rglob("*.java")))
    run([tool("javac"), "-nowarn", "-d", str(classes), "-cp", path, *sources])
    return classes


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=SECONDS)


def tool(name: str) -> str:
    """:raises SystemExit: it is not installed."""
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"there is no {name}: install Maven and a JDK 17 (Debian/Ubuntu: `apt-get install maven`)")
    return found
