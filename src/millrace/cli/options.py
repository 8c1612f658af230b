"""Options of commands that run a program, and of its target: this process, a cluster, YARN.

``run`` and ``info`` share most of them; those of savepoints are for ``run``. The target is given as in ``flink run``.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from millrace.cluster.addresses import named_in

F = TypeVar("F", bound=Callable[..., Any])
"""Type of a command's function."""


@dataclass(frozen=True)
class ProgramOptions:
    """The options that a command line gives for a program."""

    words: tuple[str, ...] = ()
    python: str | None = None
    module: str | None = None
    jars: tuple[str, ...] = ()
    parallelism: int | None = None
    properties: tuple[tuple[str, str], ...] = ()
    master: str | None = None
    files: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    requirements: str | None = None
    executable: str | None = None
    pyflink: bool = False
    ship_folder: bool = True
    config_dir: str | None = None


def _property(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return key_values(values)


def key_values(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The keys and values of -D options. Raises click's error for an option that is not key=value."""
    pairs = []
    for value in values:
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{value!r} is not key=value, as in -D pipeline.max-parallelism=128")
        pairs.append((key.strip(), text))
    return tuple(pairs)


def _comma_list(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


_PROGRAM: tuple[Callable[[F], F], ...] = (
    click.argument("words", metavar="PROGRAM [ARGS]...", nargs=-1, type=click.UNPROCESSED),
    click.option("-py", "--python", metavar="FILE", help="The program, if not given as an argument."),
    click.option("-pym", "--pyModule", "module", metavar="NAME", help="A module to run as the program."),
    click.option(
        "-j",
        "--jarfile",
        "jars",
        multiple=True,
        metavar="FILE",
        help="A jar for Spark, like -D pipeline.jars=FILE. Flink's own (flink-...jar) need not be there.",
    ),
    click.option("--pyflink", is_flag=True, help="Let `import pyflink` in the program mean Millrace."),
    # Taken without effect: the job always ends with this command, which is what it asks for.
    click.option(
        "-sae",
        "--shutdownOnAttachedExit",
        is_flag=True,
        expose_value=False,
        help="Without effect: Ctrl-C cancels the job anyway.",
    ),
)
_SURROUNDINGS: tuple[Callable[[F], F], ...] = (
    click.option("-p", "--parallelism", type=click.IntRange(1), metavar="N", help="Subtasks of each operator."),
    click.option(
        "-D",
        "properties",
        multiple=True,
        callback=_property,
        metavar="KEY=VALUE",
        help="Set any configuration key of Flink, Millrace or Spark (spark.*). May be repeated.",
    ),
    click.option(
        "--config-dir",
        "--configDir",
        "config_dir",
        metavar="DIR",
        help="Where config.yaml is.  [default: $MILLRACE_CONF_DIR, $FLINK_CONF_DIR, ./conf]",
    ),
    click.option(
        "--master",
        metavar="URL",
        help="Spark to run on: local[*], spark://..., yarn, k8s://...  [default: local[parallelism]]",
    ),
    click.option(
        "-pyfs",
        "--pyFiles",
        "files",
        callback=_comma_list,
        metavar="A,B",
        help=".py, .zip, .whl files and folders that the program and the workers import from.",
    ),
    click.option(
        "-pyarch",
        "--pyArchives",
        "archives",
        callback=_comma_list,
        metavar="A,B#DIR",
        help="Archives to unpack on every worker.",
    ),
    click.option(
        "-pyreq",
        "--pyRequirements",
        "requirements",
        metavar="FILE#DIR",
        help="requirements.txt whose packages the workers import; from DIR, if given, and not from the network.",
    ),
    click.option("-pyexec", "--pyExecutable", "executable", metavar="PATH", help="Python of the workers."),
    click.option(
        "--ship-folder/--no-ship-folder",
        default=True,
        help="Send the Python files beside the program to the workers of a cluster.  [default: yes]",
    ),
)
_SURROUNDING_NAMES = (
    *("parallelism", "properties", "master"),
    *("files", "archives", "requirements", "executable", "ship_folder", "config_dir"),
)


def program_options(command: F) -> F:
    """Add the options of a program; the command gets them as one ``ProgramOptions`` in the argument ``program``."""
    return _with(command, (*_PROGRAM, *_SURROUNDINGS), tuple(ProgramOptions.__dataclass_fields__))


def pyflink_anyway(command: F) -> F:
    """Add ``--pyflink`` to a verb where it has no effect: PyFlink's names always mean Millrace there."""
    return click.option(
        "--pyflink",
        is_flag=True,
        expose_value=False,
        help="Without effect: `import pyflink` of functions means Millrace anyway.",
    )(command)


def surroundings_options(command: F) -> F:
    """Add the options of a program's environment; the command gets them as ``program_options`` does."""
    return _with(command, _SURROUNDINGS, _SURROUNDING_NAMES)


def _with(command: F, options: tuple[Callable[[F], F], ...], names: tuple[str, ...]) -> F:
    def collected(**values: Any) -> Any:
        chosen = ProgramOptions(**{name: values.pop(name) for name in names})
        return command(program=chosen, **values)

    collected.__doc__ = command.__doc__
    collected.__name__ = command.__name__
    # Options that the command itself added below this decorator.
    collected.__click_params__ = list(getattr(command, "__click_params__", ()))  # type: ignore[attr-defined]
    decorated: Any = collected
    for option in reversed(options):
        decorated = option(decorated)
    result: F = decorated
    return result


def _savepoint_path(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """The path of a savepoint; local paths are relative to the working directory."""
    return value if value is None or "://" in value else os.path.abspath(value.removeprefix("file:"))


_SAVEPOINT_OPTIONS: tuple[Callable[[F], F], ...] = (
    click.option(
        "-s",
        "--fromSavepoint",
        "path",
        callback=_savepoint_path,
        metavar="PATH",
        help="Begin the program's first job with the state of this savepoint or checkpoint.",
    ),
    click.option(
        "-n",
        "--allowNonRestoredState",
        "allow_non_restored",
        is_flag=True,
        help="Leave out state of the savepoint that no operator of the job takes.",
    ),
    click.option(
        "-cm",
        "--claimMode",
        "-rm",
        "--restoreMode",
        "claim_mode",
        type=click.Choice(("claim", "no_claim", "legacy"), case_sensitive=False),
        help="Whether the job owns the savepoint and deletes it in the end.  [default: no_claim]",
    ),
)


def savepoint_options(command: F) -> F:
    """Add the options of a restore; the command gets them as configuration in the argument ``savepoint``."""

    @functools.wraps(command)
    def collected(path: str | None, allow_non_restored: bool, claim_mode: str | None, **values: Any) -> Any:
        from millrace.datastream.settings import CLAIM_MODE, IGNORE_UNCLAIMED, PATH

        given = {PATH: path, IGNORE_UNCLAIMED: "true" if allow_non_restored else None, CLAIM_MODE: claim_mode}
        return command(savepoint=tuple((key, text) for key, text in given.items() if text is not None), **values)

    decorated: Any = collected
    for option in reversed(_SAVEPOINT_OPTIONS):
        decorated = option(decorated)
    result: F = decorated
    return result


# Targets


LOCAL, REMOTE = "local", "remote"
_YARN = ("yarn-per-job", "yarn-session", "yarn-application", "yarn-cluster")
_KUBERNETES = ("kubernetes-session", "kubernetes-application")
TARGET = "execution.target"


@dataclass(frozen=True)
class Target:
    """Where a program runs, and whether the command waits."""

    kind: str | None = None
    """``local``: in this process; ``remote``: on a cluster; None: on the cluster that runs, if one does"""
    address: str | None = None
    """address of the cluster, if one is named"""
    detached: bool = False
    isolated: bool = False
    """whether the program gets a Spark of its own"""

    @property
    def wants_cluster(self) -> bool:
        """Whether the program cannot run in this process."""
        return self.kind == REMOTE or self.address is not None or self.detached


_OPTIONS: tuple[Callable[[F], F], ...] = (
    click.option("-d", "--detached", is_flag=True, help="Return when the job has begun; it runs on the cluster."),
    click.option("-m", "--jobmanager", "address", metavar="ADDRESS", help="host:port of a cluster, or its name."),
    click.option(
        "-t",
        "--target",
        "-e",
        "--executor",
        "kind",
        metavar="WHERE",
        help="local (in this process), remote (on a cluster) or yarn-...",
    ),
    click.option("--isolated", is_flag=True, help="On the cluster with a Spark of its own, which ends with it."),
)
_YARN_SETTINGS = {
    ("-yn", "--yarncontainer"): "spark.executor.instances",
    ("-ys", "--yarnslots"): "spark.executor.cores",
    ("-yjm", "--yarnjobManagerMemory"): "spark.driver.memory",
    ("-ytm", "--yarntaskManagerMemory"): "spark.executor.memory",
    ("-ynm", "--yarnname"): "pipeline.name",
    ("-yqu", "--yarnqueue"): "spark.yarn.queue",
}
"""Deprecated options for YARN -> Spark's equivalent setting"""


def target_options(command: F) -> F:
    """Add the target's options; the command gets a ``Target``, and Spark's settings are added to its
    ``ProgramOptions``."""

    @functools.wraps(command)
    def collected(program: ProgramOptions, **values: Any) -> Any:
        found = {name: values.pop(_name(names)) for names in _YARN_SETTINGS for name in [_YARN_SETTINGS[names]]}
        given = {name: _with_unit(name, text) for name, text in found.items() if text is not None}
        yarn = key_values(values.pop("yarn_properties"))
        detached = [values.pop("detached"), values.pop("yarn_detached")]
        kind, address = values.pop("kind"), values.pop("address")
        target = Target(kind, address, any(detached), values.pop("isolated"))
        program = replace(program, properties=(*given.items(), *yarn, *program.properties))
        chosen = on_yarn(program, target, bool(given or yarn))
        return command(program=chosen, target=resolved(program, target), **values)

    decorated: Any = collected
    for names in _YARN_SETTINGS:
        decorated = click.option(*names, _name(names), hidden=True)(decorated)
    decorated = click.option("-yD", "yarn_properties", multiple=True, hidden=True)(decorated)
    decorated = click.option("-yd", "--yarndetached", "yarn_detached", is_flag=True, hidden=True)(decorated)
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    result: F = decorated
    return result


def resolved(program: ProgramOptions, target: Target) -> Target:
    """The target, completed by the configuration.

    YARN's targets become local: this process is Spark's driver. Raises click's error for a target that Millrace does
    not have.
    """
    configuration = dict(program.properties)
    kind = target.kind or configuration.get(TARGET)
    if target.address == "yarn-cluster":
        return replace(target, kind=LOCAL, address=None)
    if kind in (None, LOCAL, REMOTE):
        named = named_in(configuration) if kind == REMOTE else None
        return replace(target, kind=kind, address=target.address or named)
    check_kind(kind)
    return replace(target, kind=LOCAL)


def check_kind(kind: str) -> None:
    """Raise click's error for an unknown target."""
    if kind in _KUBERNETES:
        raise click.UsageError(f"-t {kind}: nearest: --master k8s://HOST:PORT with -D spark.kubernetes...")
    if kind not in (LOCAL, REMOTE, *_YARN):
        raise click.UsageError(
            f"-t {kind}: there is no such target; nearest: {LOCAL}, {REMOTE}, {', '.join(_YARN)}, or --master URL"
        )


def on_yarn(program: ProgramOptions, target: Target, settings: bool) -> ProgramOptions:
    """The program with YARN as its Spark's master, if the target or options for YARN ask for it."""
    kind = target.kind or dict(program.properties).get(TARGET)
    if kind in _YARN or target.address == "yarn-cluster" or (settings and program.master is None):
        return replace(program, master=program.master or "yarn")
    return program


def _name(names: tuple[str, str]) -> str:
    return names[1].lstrip("-").lower()


def _with_unit(name: str, text: str) -> str:
    """A size of memory with its unit; without a unit YARN's options mean MB."""
    return f"{text}m" if name.endswith(".memory") and text.isdecimal() else text
