"""Asks Flink's CEP operator: compiles the driver, and hands it cases."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tests.flink.cep.draw import Case

from millrace.testing.services.downloads import jars, java

SOURCES = Path(__file__).with_name("driver")
SECONDS = 3600
FLINK = "2.3.0"
HARNESS = (f"org.apache.flink:flink-runtime:{FLINK}:tests", f"org.apache.flink:flink-test-utils-junit:{FLINK}")
FLAGS = ("-Xmx2g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def flink_folder() -> Path:
    """PyFlink's folder in the environment that FLINK_VENV names."""
    environment = Path(os.environ.get("FLINK_VENV", ".venv-flink"))
    found = sorted(environment.glob("lib/python*/site-packages/pyflink"))
    if not found:
        raise SystemExit(f"{environment} has no apache-flink: run `make flink`, or name another one in FLINK_VENV")
    return found[-1]


@cache
def classpath() -> str:
    """Flink's jars, those of its test harness, and the driver's classes."""
    flink, harness = flink_folder() / "lib", jars("flink-harness", *HARNESS)
    return os.pathsep.join([str(compiled(flink, harness)), f"{flink}/*", f"{harness}/*"])


def compiled(flink: Path, harness: Path) -> Path:
    """The folder with the driver's classes, which is left when the process ends."""
    compiler = shutil.which("javac", path=str(Path(java()).resolve().parent)) or shutil.which("javac")
    if compiler is None:
        raise SystemExit("there is no javac: install a JDK 17 (Debian/Ubuntu: `apt-get install default-jdk`)")
    folder = _FOLDER.name
    command = [compiler, "-nowarn", "-d", folder, "-cp", os.pathsep.join([f"{flink}/*", f"{harness}/*"])]
    subprocess.run([*command, *map(str, sorted(SOURCES.glob("*.java")))], check=True, timeout=SECONDS)
    return Path(folder)


_FOLDER = tempfile.TemporaryDirectory(prefix="millrace-flink-cep-")


def ask(cases: Iterable[Case]) -> list[Case]:
    """The cases with Flink's answers."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    command = [java(), *FLAGS, "-cp", classpath(), "Cases"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise SystemExit(f"the driver failed:\n{done.stderr[-3000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]
