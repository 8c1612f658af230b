"""Options of ``flink run`` that mean nothing here, or nothing yet: each is refused with what to do instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
"""Type of a command's function."""

@dataclass(frozen=True)
class Refused:
    """An option, and the text that refuses it."""

    names: tuple[str, ...]
    text: str
    is_flag: bool = False

    @property
    def is_of_old(self) -> bool:
        """Whether Flink's command does not name it any more."""
        return self.names[0].startswith("-y") and self.names[0] != "-yid"


_CLASS = Refused(("-c", "--class"), "Millrace runs Python programs, not jars; nearest: -pym MODULE")
_ZOOKEEPER = Refused(
    ("-z", "--zookeeperNamespace"), "nothing is kept in ZooKeeper; nearest: -m ADDRESS, or the name of a cluster"
)
OF_INFO = (_CLASS,)
OF_VERBS = (
    Refused(("-yid", "--yarnapplicationId"), "jobs are not found by an application of YARN; nearest: -m ADDRESS"),
    _ZOOKEEPER,
)
REFUSED = (
    _CLASS,
    Refused(("-C", "--classpath"), "nearest: -D spark.jars=PATH, or env.add_jars() in the program"),
    Refused(
        ("-pyclientexec", "--pyClientExecutable"),
        "the program runs in the Python of this command; nearest: PYTHON -m millrace run",
    ),
    Refused(("-pypath", "--pyPythonPath"), "not in Millrace yet; nearest: -pyfs, or PYTHONPATH for local workers"),
    Refused(("-yat", "--yarnapplicationType"), "Spark names its applications' type itself; nearest: spark.yarn.tags"),
    Refused(("-yid", "--yarnapplicationId"), "a program cannot join an application of YARN; nearest: -m ADDRESS"),
    Refused(("-yj", "--yarnjar"), "there is no jar of Flink; nearest: -D spark.yarn.jars=PATH"),
    Refused(("-ynl", "--yarnnodeLabel"), "nearest: -D spark.yarn.executor.nodeLabelExpression=LABEL"),
    Refused(("-yq", "--yarnquery"), "nearest: `yarn top`, or the web page of YARN", is_flag=True),
    Refused(("-yt", "--yarnship"), "nearest: -pyfs for Python files, -pyarch for archives, -D spark.files=PATH"),
    _ZOOKEEPER,
    Refused(("-yz", "--yarnzookeeperNamespace"), "nothing is kept in ZooKeeper; nearest: execution.checkpointing.dir"),
)


def refuse_the_rest(command: F) -> F:
    """Add the options that ``run`` refuses."""
    return refusing(REFUSED)(command)


def refusing(options: Iterable[Refused]) -> Callable[[F], F]:
    """Adds refused options; the help shows those that Flink's help has."""

    def added(command: F) -> F:
        for refused in options:
            option = click.option(
                *refused.names,
                f"refused_{refused.names[1].lstrip('-').replace('-', '_')}",
                is_flag=refused.is_flag or None,  # False would let it stand without a value
                hidden=refused.is_of_old,
                expose_value=False,
                callback=_refuse(refused),
                metavar="VALUE",
                help=f"Refused: {refused.text}",
            )
            command = option(command)
        return command

    return added


def _refuse(refused: Refused) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value not in (None, False) and not context.resilient_parsing:
            raise click.UsageError(f"{'/'.join(refused.names)}: {refused.text}", context)

    return callback
