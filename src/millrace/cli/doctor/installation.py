"""Python, Java and packages: what is installed, and whether the versions fit."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement

from millrace.cli.doctor.finding import Finding, bad, good, note

DISTRIBUTION = "millrace-streaming"
PLACEHOLDER = "millrace"
"""what somebody else holds on PyPI under the name of our package"""
SECONDS = 20
"""how long the Python of workers has for saying its version"""


def python() -> Iterator[Finding]:
    """The Python of the driver, and that of Spark's workers, whose minor version must be the same."""
    yield good("Python", f"{platform.python_version()} ({sys.executable})")
    named = os.environ.get("PYSPARK_PYTHON")
    if named:
        yield _of_workers(named)


def _of_workers(named: str) -> Finding:
    about, found = "Python of Spark's workers", shutil.which(named)
    if found is None:
        return bad(about, f"PYSPARK_PYTHON={named} is not there", f"export PYSPARK_PYTHON={sys.executable}")
    ask = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    try:
        said = subprocess.run([found, "-c", ask], capture_output=True, text=True, timeout=SECONDS).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return bad(about, f"PYSPARK_PYTHON={named} does not run: {error}", f"export PYSPARK_PYTHON={sys.executable}")
    ours = ".".join(map(str, sys.version_info[:2]))
    if said != ours:
        text = f"PYSPARK_PYTHON={named} is Python {said or '?'}, this is Python {ours}: functions can't be sent there"
        return bad(about, text, f"export PYSPARK_PYTHON={sys.executable}")
    return good(about, f"{said} ({found})")


def java() -> Iterator[Finding]:
    """The Java that Spark will use, and the archive with which it starts in half the time."""
    from millrace.spark.java import JavaNotFoundError, require_java

    try:
        found = require_java()
    except JavaNotFoundError as error:
        yield bad("Java", "none that is 17 or newer", str(error))
        return
    yield good("Java", f"{found.major} ({found.executable})")
    from millrace.spark.sessions.class_archive import archive_path

    if os.path.exists(archive_path(found)):
        yield good("Spark's start", "prepared")
    else:
        yield note("Spark's start", "twice as long as it could be", "millrace prepare")


def distribution() -> Iterator[Finding]:
    """Whether the package is this project's: the one that PyPI calls ``millrace`` is not."""
    try:
        yield good("Millrace", f"{metadata.version(DISTRIBUTION)}")
    except metadata.PackageNotFoundError:
        yield note("Millrace", "runs from a folder; it is not installed", f"pip install {DISTRIBUTION}")
    if any(each.metadata["Name"] == PLACEHOLDER for each in metadata.distributions()):
        text = f"the distribution '{PLACEHOLDER}' is installed: a stranger's placeholder, or an older checkout of ours"
        cure = f"pip uninstall {PLACEHOLDER}; pip install --force-reinstall --no-deps {DISTRIBUTION}"
        yield note("Millrace", text, cure)


def packages() -> Iterator[Finding]:
    """What Millrace needs, and which extras are complete."""
    try:
        required = list(map(Requirement, metadata.requires(DISTRIBUTION) or []))
    except (metadata.PackageNotFoundError, InvalidRequirement):
        return
    core = [each for each in required if each.marker is None or each.marker.evaluate({"extra": ""})]
    wrong = [problem for each in core if (problem := _problem(each))]
    if wrong:
        yield bad("Packages", "; ".join(wrong), f"pip install --upgrade {DISTRIBUTION}")
    else:
        yield good("Packages", ", ".join(f"{each.name} {metadata.version(each.name)}" for each in core))
    yield from _extras(required)


def _extras(required: list[Requirement]) -> Iterator[Finding]:
    there: list[str] = []
    missing: list[str] = []
    for extra in sorted(_names_of_extras(required) - {"all", "dev"}):
        needs = [each for each in required if each.marker is not None and _belongs(each, extra)]
        broken = [problem for each in needs if (problem := _problem(each))]
        (missing if broken else there).append(extra)
    if there:
        yield good("Extras", ", ".join(there))
    if missing:
        yield note("Extras", f"not installed: {', '.join(missing)}", f"pip install '{DISTRIBUTION}[{missing[0]}]'")


def _names_of_extras(required: list[Requirement]) -> set[str]:
    return {name for each in required for name in re.findall(r"extra == ['\"]([^'\"]+)", str(each.marker or ""))}


def _belongs(requirement: Requirement, extra: str) -> bool:
    marker = requirement.marker
    return marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""})


def _problem(requirement: Requirement) -> str:
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is missing"
    if requirement.specifier.contains(version, prereleases=True):
        return ""
    return f"{requirement.name} {version} is not {requirement.specifier}"
