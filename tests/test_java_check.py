"""The Java check of ``scripts/check_java.sh`` and of ``millrace.spark.java``: same answers, same text. Needs no JVM."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.spark import java
from millrace.spark.java import JAVA_NEEDED, JavaInfo, JavaNotFoundError, parse_major, require_java

SCRIPT = Path(__file__).parents[1] / "scripts" / "check_java.sh"
SH = shutil.which("sh")

pytestmark = pytest.mark.skipif(SH is None or sys.platform == "win32", reason="needs a POSIX shell")

USABLE = {
    "Debian 17": (17, 'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian)'),
    "first of its major": (21, 'openjdk version "21" 2023-09-19\nOpenJDK Runtime Environment (build 21+35-2513)'),
    "early access": (25, 'openjdk version "25-ea" 2025-09-16'),
    "vendor's suffix": (17, 'java version "17.0.12-internal" 2024-07-16 LTS'),
    "options before it": (17, 'Picked up JAVA_TOOL_OPTIONS: -Dapp version "8"\nopenjdk version "17.0.2" 2022-01-18'),
    "warning before it": (21, 'OpenJDK 64-Bit Server VM warning: no "x" here\nopenjdk version "21.0.1" 2023-10-17'),
    "three digits": (100, 'openjdk version "100.0.1"'),
}
UNUSABLE = {
    "Java 8": (8, 'java version "1.8.0_402"\nJava(TM) SE Runtime Environment (build 1.8.0_402-b06)'),
    "Java 9": (9, 'openjdk version "9-internal"'),
    "Java 11": (11, 'openjdk version "11.0.2" 2019-01-15'),
    "Java 16": (16, 'openjdk version "16.0.2" 2021-07-20'),
    "no version": (None, "The operation could not be completed. Unable to locate a Java Runtime."),
    "nothing": (None, ""),
    "odd version": (None, 'openjdk version "next"'),
    "only the options": (None, 'Picked up _JAVA_OPTIONS: -Dsome version "21"'),
}


def fake_java(folder: Path, output: str, status: int = 0) -> Path:
    """An executable ``java`` in ``folder`` that prints ``output`` to stderr, as java does."""
    folder.mkdir(parents=True)
    executable = folder / "java"
    executable.write_text(f"#!/bin/sh\nprintf '%s\\n' {shlex.quote(output)} >&2\nexit {status}\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for PATH with what the script needs and no java: the machine's own must not be found."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("sh", "sed", "head"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    return folder


def script_says(environment: dict[str, str]) -> str | None:
    """Run the script: the one line that it prints, or None if it is silent and content."""
    assert SH
    done = subprocess.run([SH, str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=60)
    if done.returncode == 0:
        assert (done.stdout, done.stderr) == ("", "")
        return None
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(JAVA_NEEDED)
    return line


def check(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> JavaInfo | None:
    """What Python finds, having checked that the script agrees."""
    monkeypatch.setenv("PATH", environment["PATH"])
    if "JAVA_HOME" in environment:
        monkeypatch.setenv("JAVA_HOME", environment["JAVA_HOME"])
    else:
        monkeypatch.delenv("JAVA_HOME", raising=False)
    said = script_says(environment)
    if said is None:
        return require_java()
    with pytest.raises(JavaNotFoundError) as raised:
        require_java()
    assert str(raised.value) == said
    return None


@pytest.mark.parametrize(("major", "output"), [*USABLE.values(), *UNUSABLE.values()], ids=[*USABLE, *UNUSABLE])
def test_parse_major(major: int | None, output: str) -> None:
    assert parse_major(output) == major


@pytest.mark.parametrize(("major", "output"), USABLE.values(), ids=USABLE)
def test_usable_java_on_path(
    tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch, major: int, output: str
) -> None:
    executable = fake_java(tmp_path / "bin", output)
    environment = {"PATH": f"{executable.parent}{os.pathsep}{tools}"}
    assert check(monkeypatch, environment) == JavaInfo(str(executable), major)


@pytest.mark.parametrize(("major", "output"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_java_on_path(
    tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch, major: int | None, output: str
) -> None:
    executable = fake_java(tmp_path / "bin", output)
    assert check(monkeypatch, {"PATH": f"{executable.parent}{os.pathsep}{tools}"}) is None


def test_an_old_one_is_named(tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = fake_java(tmp_path / "bin", 'openjdk version "11.0.2" 2019-01-15')
    monkeypatch.setenv("PATH", f"{executable.parent}{os.pathsep}{tools}")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaNotFoundError, match=r"Found: .*/bin/java, which is Java 11$"):
        require_java()


def test_no_java_at_all(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, {"PATH": str(tools)}) is None


def test_java_that_fails_to_run(tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = fake_java(tmp_path / "bin", 'openjdk version "17.0.15"', status=1)
    assert check(monkeypatch, {"PATH": f"{executable.parent}{os.pathsep}{tools}"}) is None


@pytest.mark.parametrize(("home", "path", "found"), [("21.0.1", "17.0.15", 21), ("11.0.2", "17.0.15", None)])
def test_java_home_wins_over_path(
    tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch, home: str, path: str, found: int | None
) -> None:
    fake_java(tmp_path / "home with a space" / "bin", f'openjdk version "{home}"')
    on_path = fake_java(tmp_path / "bin", f'openjdk version "{path}"')
    environment = {
        "PATH": f"{on_path.parent}{os.pathsep}{tools}",
        "JAVA_HOME": str(tmp_path / "home with a space"),
    }
    info = check(monkeypatch, environment)
    assert (info and info.major) == found


def test_java_home_without_a_java(tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Spark would take JAVA_HOME and fail, so the java on PATH is no answer.
    on_path = fake_java(tmp_path / "bin", 'openjdk version "17.0.15"')
    environment = {"PATH": f"{on_path.parent}{os.pathsep}{tools}", "JAVA_HOME": str(tmp_path / "nothing")}
    assert check(monkeypatch, environment) is None


def test_empty_java_home_counts_as_none(tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = fake_java(tmp_path / "bin", 'openjdk version "17.0.15"')
    info = check(monkeypatch, {"PATH": f"{on_path.parent}{os.pathsep}{tools}", "JAVA_HOME": ""})
    assert info == JavaInfo(str(on_path), 17)


def test_java_that_hangs(tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "java").write_text("#!/bin/sh\nwhile :; do :; done\n")
    (folder / "java").chmod(0o755)
    monkeypatch.setattr(java, "_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{tools}")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaNotFoundError):
        require_java()


def test_the_text_is_one_line_that_says_what_to_do() -> None:
    assert "\n" not in JAVA_NEEDED
    for part in ("Java 17", "apt-get install openjdk-17-jre-headless", "brew install openjdk@17", "JAVA_HOME"):
        assert part in JAVA_NEEDED
