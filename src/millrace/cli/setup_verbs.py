"""``millrace prepare``, ``demo``, ``new`` and ``doctor``: verbs for a new machine and a new project.

``prepare`` makes Spark start in half the time, once per machine. ``demo`` runs a program of the package as ``millrace
run`` would. ``new`` writes the files of the folder ``cli/new/template``. ``doctor`` checks installed versions, the
machine, configuration files and the cluster that they name: it shows one line for each check and, below, the cure of
what is wrong.
"""

from __future__ import annotations

import keyword
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from millrace.cluster.addresses import named_in

if TYPE_CHECKING:
    from packaging.requirements import Requirement

# The result of one check


class Verdict(Enum):
    """The severity of a finding."""

    GOOD = "ok"
    NOTE = "note"
    """something works less well than it could, or an optional part is missing"""
    BAD = "PROBLEM"
    """jobs will not run"""


@dataclass(frozen=True)
class Finding:
    """The subject of a check, its state, and how to fix it."""

    about: str
    verdict: Verdict
    text: str
    cure: str = ""
    """how to fix the problem: a command where there is one"""


def good(about: str, text: str) -> Finding:
    return Finding(about, Verdict.GOOD, text)


def note(about: str, text: str, cure: str = "") -> Finding:
    return Finding(about, Verdict.NOTE, text, cure)


def bad(about: str, text: str, cure: str) -> Finding:
    return Finding(about, Verdict.BAD, text, cure)


# The checks

DISTRIBUTION = "millrace-streaming"
PLACEHOLDER = "millrace"
"""name of a package on PyPI that is not this project's"""
PYTHON_SECONDS = 20
"""time limit for asking the workers' Python for its version (s)"""


def check_python() -> Iterator[Finding]:
    """Check the Python of the driver and of Spark's workers, which must have the same minor version."""
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
        said = subprocess.run([found, "-c", ask], capture_output=True, text=True, timeout=PYTHON_SECONDS).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return bad(about, f"PYSPARK_PYTHON={named} does not run: {error}", f"export PYSPARK_PYTHON={sys.executable}")
    ours = ".".join(map(str, sys.version_info[:2]))
    if said != ours:
        text = f"PYSPARK_PYTHON={named} is Python {said or '?'}, this is Python {ours}: functions can't be sent there"
        return bad(about, text, f"export PYSPARK_PYTHON={sys.executable}")
    return good(about, f"{said} ({found})")


def check_java() -> Iterator[Finding]:
    """Check the Java that Spark will use, and the class archive that halves its start time."""
    from millrace.spark.java import JavaNotFoundError, require_java

    try:
        found = require_java()
    except JavaNotFoundError as error:
        yield bad("Java", "none that is 17 or newer", str(error))
        return
    yield good("Java", f"{found.major} ({found.executable})")
    from millrace.spark.sessions.session import archive_path

    if os.path.exists(archive_path(found)):
        yield good("Spark's start", "prepared")
    else:
        yield note("Spark's start", "twice as long as it could be", "millrace prepare")


def check_distribution() -> Iterator[Finding]:
    """Check that the installed package is this project's, and not PyPI's ``millrace``."""
    try:
        yield good("Millrace", f"{metadata.version(DISTRIBUTION)}")
    except metadata.PackageNotFoundError:
        yield note("Millrace", "runs from a folder; it is not installed", f"pip install {DISTRIBUTION}")
    if any(each.metadata["Name"] == PLACEHOLDER for each in metadata.distributions()):
        text = f"the distribution '{PLACEHOLDER}' is installed: a stranger's placeholder, or an older checkout of ours"
        cure = f"pip uninstall {PLACEHOLDER}; pip install --force-reinstall --no-deps {DISTRIBUTION}"
        yield note("Millrace", text, cure)


def check_packages() -> Iterator[Finding]:
    """Check the required packages, and list the complete extras."""
    from packaging.requirements import InvalidRequirement, Requirement

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


GIGABYTE = 1 << 30
LEAST_MEMORY, LEAST_DISK = 2 * GIGABYTE, 2 * GIGABYTE
"""Memory and disk space (bytes) that Spark's JVM, its workers and their spilled data need at least."""


def check_resources() -> Iterator[Finding]:
    """Check processors, memory and space for temporary files."""
    slots = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = _memory()
    text = f"{slots} processors" + (f", {memory / GIGABYTE:.1f} GB of memory" if memory else "")
    if memory and memory < LEAST_MEMORY:
        yield note("Machine", f"{text}: little for a JVM and its workers", "Set spark.driver.memory to a lower value.")
    else:
        yield good("Machine", text)
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    text = f"{folder}: {free / GIGABYTE:.1f} GB free"
    if free < LEAST_DISK:
        yield note("Temporary files", text, "Free some, or set SPARK_LOCAL_DIRS and TMPDIR to another folder.")
    else:
        yield good("Temporary files", text)


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


def check_folders() -> Iterator[Finding]:
    """Check that the run folder can be written to by this user only."""
    from millrace.cluster.run_folder import run_folder

    try:
        yield good("Folder of running jobs", run_folder())
    except (OSError, RuntimeError, ValueError) as error:
        yield bad("Folder of running jobs", str(error), "Set MILLRACE_RUN_DIR to a folder that only you can write to.")


def check_names() -> Iterator[Finding]:
    """Check that this machine's name resolves: Spark looks it up when it starts."""
    name = socket.gethostname()
    local = os.environ.get("SPARK_LOCAL_IP")
    try:
        yield good("Name of this machine", f"{name} is {socket.gethostbyname(name)}")
    except OSError as error:
        text = f"{name} has no address ({error.strerror or error})"
        if local:
            yield good("Name of this machine", f"{text}; SPARK_LOCAL_IP={local} is used")
        else:
            yield bad("Name of this machine", text, "export SPARK_LOCAL_IP=127.0.0.1, or add the name to /etc/hosts")


def check_ports() -> Iterator[Finding]:
    """Check that servers may listen on the loopback interface."""
    try:
        with closing(socket.socket()) as made:
            made.bind(("127.0.0.1", 0))
    except OSError as error:
        yield bad("Ports", f"can't listen on 127.0.0.1: {error}", "Allow local sockets: Spark needs them.")
    else:
        yield good("Ports", "servers may listen on 127.0.0.1")


CLUSTER_SECONDS = 5
"""time limit for an answer of the cluster (s)"""


def check_configuration() -> Iterator[Finding]:
    """Check that the configuration files can be read, and find keys without effect."""
    from millrace.configuration.files import configuration_directory, read_directory
    from millrace.configuration.registry import find, known_names
    from millrace.util.names import did_you_mean

    directory, sure = configuration_directory()
    if directory is None:
        yield good("Configuration", "no files; defaults hold")
        return
    try:
        settings = read_directory(directory, sure)
    except (OSError, ValueError, RuntimeError) as error:
        yield bad("Configuration", str(error), f"Correct the file in {directory}.")
        return
    unknown = [key for key in settings if not key.startswith("spark.") and find(key) is None]
    yield good("Configuration", f"{len(settings)} settings in {directory}")
    for key in unknown:
        yield note("Configuration", f"nothing reads '{key}'{did_you_mean(key, known_names())}")
    yield from cluster(settings)


def cluster(settings: Mapping[str, str]) -> Iterator[Finding]:
    """Check that the configured cluster answers; no finding if none is configured."""
    host = settings.get("rest.address")
    if not host:
        return
    port = int((named_in(settings) or "").rpartition(":")[2])
    try:
        socket.create_connection((host, port), timeout=CLUSTER_SECONDS).close()
    except OSError as error:
        text = f"nothing answers at {host}:{port} ({error.strerror or error})"
        yield note("Cluster", text, "millrace cluster start, there; or correct rest.address and rest.port")
    else:
        yield good("Cluster", f"{host}:{port} answers")


# The verbs


@click.command()
def prepare() -> None:
    """Archive Spark's classes for a faster start (about half a minute, 160 MB in the user's cache directory)."""
    from millrace.spark.java import JavaNotFoundError
    from millrace.spark.sessions.session import archive_path, make_archive

    try:
        click.echo(f"Archiving Spark's classes in {archive_path()} ...", err=True)
        make_archive()
    except (JavaNotFoundError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error


@click.command()
def demo() -> None:
    """Run two small programs on orders of a shop: event time in Python, and a query in SQL.

    Everything comes with the package; the last line says where, to read it and to go on from there.
    """
    from millrace.cli.options import LOCAL, ProgramOptions, Target
    from millrace.cli.run import start

    with resources.as_file(resources.files("millrace.cli.demo")) as folder:
        start(ProgramOptions((str(folder / "shop.py"),)), Target(LOCAL), (), no_restart=True)


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_FILES = {
    "job.py.txt": "job.py",
    "test_job.py.txt": "test_job.py",
    "config.yaml.txt": "conf/config.yaml",
    "Makefile.txt": "Makefile",
    "requirements.txt": "requirements.txt",
    "README.md.txt": "README.md",
    "gitignore.txt": ".gitignore",
}
"""file of the template -> its name in the project"""


class ProjectError(ValueError):
    """The project can't be made: its name is invalid, or its folder is not empty."""


def write_project(folder: Path) -> list[Path]:
    """Write the files of a project, named after its folder.

    :return: the written files, relative to the folder.
    :raises ProjectError: the name is invalid, or the folder is not empty.
    """
    name = folder.name
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ProjectError(
            f"a name has letters, digits, - and _ and begins with a letter, as in `millrace new clicks`: "
            f"{name or str(folder)!r} can't be one"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ProjectError(f"{folder} is there already and is not empty")
    for source, target in _FILES.items():
        text = resources.files("millrace.cli.new").joinpath("template").joinpath(source).read_text(encoding="utf-8")
        path = folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{{name}}", name), encoding="utf-8")
    return list(map(Path, _FILES.values()))


@click.command()
@click.argument("name", type=click.Path(path_type=Path))
def new(name: Path) -> None:
    """Make a folder NAME with a job, its test, configuration and a Makefile."""

    try:
        written = write_project(name)
    except ProjectError as error:
        raise click.ClickException(str(error)) from error
    for each in written:
        click.echo(f"{name / each}")
    click.echo(f"\nNow:  cd {name} && make run     (or `make test`, which needs no Java)")


_COLOURS = {Verdict.GOOD: "green", Verdict.NOTE: "yellow", Verdict.BAD: "red"}


def findings() -> Iterator[Finding]:
    """Run all checks, one after the other."""
    looks: tuple[Callable[[], Iterator[Finding]], ...] = (
        check_distribution,
        check_python,
        check_java,
        check_packages,
        check_resources,
        check_folders,
        check_names,
        check_ports,
        check_configuration,
    )
    for look in looks:
        yield from look()


@click.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Look at Python, Java, packages, folders, ports, configuration and cluster, and say what mends them.

    Ends with 1 if jobs can't run here.
    """
    broken = 0
    for each in findings():
        broken += each.verdict is Verdict.BAD
        click.echo(f"{click.style(f'{each.verdict.value:>7}', fg=_COLOURS[each.verdict])}  {each.about}: {each.text}")
        if each.cure:
            click.echo(f"         -> {each.cure}")
    if broken:
        click.echo(f"{broken} problem{'s' * (broken > 1)} to solve before jobs run here.")
        context.exit(1)
    click.echo("Jobs can run here.")


COMMANDS = (prepare, demo, new, doctor)
