"""Where a program is to run, as the options of ``flink run`` say it: here, on a cluster, on YARN."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from millrace.cli.options import ProgramOptions, key_values
from millrace.cluster.remote.addresses import named_in

F = TypeVar("F", bound=Callable[..., Any])
"""Type of a command's function."""

LOCAL, REMOTE = "local", "remote"
_YARN = ("yarn-per-job", "yarn-session", "yarn-application", "yarn-cluster")
_KUBERNETES = ("kubernetes-session", "kubernetes-application")
TARGET = "execution.target"


@dataclass(frozen=True)
class Target:
    """Where, and how."""

    kind: str | None = None
    """``local``: in this process; ``remote``: on a cluster; None: on the cluster that runs, if one does"""
    address: str | None = None
    """of a cluster"""
    detached: bool = False
    isolated: bool = False
    """whether it gets a Spark of its own"""

    @property
    def wants_cluster(self) -> bool:
        """Whether it cannot run in this process."""
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
"""Options of old for YARN -> Spark's setting that means the same"""


def target_options(command: F) -> F:
    """Add the options; they arrive as a ``Target``, and what they say about Spark in the ``ProgramOptions``."""

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
    """The target with what the configuration says; those on YARN are local: this process is Spark's driver.

    Raises click's error for one that Millrace does not have.
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
    """Raises click's error for a target that there is not."""
    if kind in _KUBERNETES:
        raise click.UsageError(f"-t {kind}: nearest: --master k8s://HOST:PORT with -D spark.kubernetes...")
    if kind not in (LOCAL, REMOTE, *_YARN):
        raise click.UsageError(
            f"-t {kind}: there is no such target; nearest: {LOCAL}, {REMOTE}, {', '.join(_YARN)}, or --master URL"
        )


def on_yarn(program: ProgramOptions, target: Target, settings: bool) -> ProgramOptions:
    """The program with YARN as its Spark's master, if the target says so, or options that only YARN has."""
    kind = target.kind or dict(program.properties).get(TARGET)
    if kind in _YARN or target.address == "yarn-cluster" or (settings and program.master is None):
        return replace(program, master=program.master or "yarn")
    return program


def _name(names: tuple[str, str]) -> str:
    return names[1].lstrip("-").lower()


def _with_unit(name: str, text: str) -> str:
    """Memory without a unit is MB there."""
    return f"{text}m" if name.endswith(".memory") and text.isdecimal() else text
