"""The command line as Flink's command takes it: spelling of options, help texts, refused options, program arguments.

Long options may have one dash. A command that runs a program has its own options before the program's file, and the
program's arguments after it. An option of ``flink run`` without a meaning here is refused with advice.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NoReturn, TypeVar

import click

from millrace.util.names import close_to

# Spelling of options


def spelled(word: str, options: Iterable[click.Option]) -> str:
    """A word of a command line, with two dashes if it is a long option.

    :raises click.NoSuchOption: a short option with a value that looks like a long option: ``-savepoint`` would be
        ``-s avepoint``.
    """
    if not word.startswith("-") or word.startswith("--"):
        return word
    by_name = {name: option for option in options for name in (*option.opts, *option.secondary_opts)}
    head = word.partition("=")[0]
    if head in by_name or len(head) <= 2:
        return word
    if f"-{head}" in by_name:
        return f"-{word}"
    short = by_name.get(word[:2])
    if short is not None and not short.is_flag and head[1:].isalpha():
        meant = _meant(head[1:], short)
        if meant is not None:
            raise click.NoSuchOption(head, possibilities=[meant])
    return word


def all_spelled(words: Iterable[str], options: list[click.Option]) -> Iterator[str]:
    """All words up to ``--``, and what follows it."""
    ended = False
    for word in words:
        ended = ended or word == "--"
        yield word if ended else spelled(word, options)


def _meant(name: str, option: click.Option) -> str | None:
    """The long option that a word is similar to."""
    long = [each for each in option.opts if each.startswith("--")]
    inside = [each for each in long if name.casefold() in each.casefold()]
    close = close_to(name, [each[2:] for each in long])
    return inside[0] if inside else close and f"--{close}"


# Help texts


class Outlined(click.Command):
    """A command that Flink has, too: its help lists all of Flink's options, also those that are refused."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_action(self, ctx, formatter)
        self.format_epilog(ctx, formatter)


def write_action(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the help of an action: ``Action "stop" ...``, its usage and its options."""
    paragraphs = (command.help or "").strip().split("\n\n")
    first, *others = [" ".join(each.split()) for each in paragraphs]
    formatter.write(f'\nAction "{command.name}": {first}\n\n')
    syntax = " ".join(each for each in command.collect_usage_pieces(ctx) if each)
    formatter.write(f"  Syntax: {command.name} {syntax}\n")
    for text in others:
        formatter.write("\n")
        with formatter.indentation():
            formatter.write_text(text)
    formatter.write(f'  "{command.name}" action options:\n')
    rows = [row for each in command.get_params(ctx) if isinstance(each, click.Option) for row in _rows(each, ctx)]
    formatter.indent()
    formatter.indent()
    formatter.write_dl(sorted(rows, key=lambda row: row[0].lower()), col_max=42)
    formatter.dedent()
    formatter.dedent()


def _rows(option: click.Option, ctx: click.Context) -> Iterator[tuple[str, str]]:
    """Rows of the help: ``-s,--fromSavepoint <path>`` and its description, one for each pair of short and long
    option."""
    record = option.get_help_record(ctx)
    if record is None:
        return
    short = [name for name in option.opts if not name.startswith("--")]
    long = [name for name in (*option.opts, *option.secondary_opts) if name not in short]
    value = "" if option.is_flag else f" <{_called(option, ctx)}>"
    for names in zip_longest(short, long) if short else [long]:
        yield ",".join(name for name in names if name is not None) + value, record[1]


def _called(option: click.Option, ctx: click.Context) -> str:
    return option.make_metavar(ctx).strip("[]<>").lower()


# Options that are refused

F = TypeVar("F", bound=Callable[..., Any])
"""Type of a command's function."""


@dataclass(frozen=True)
class Refused:
    """A refused option, with the text of its error."""

    names: tuple[str, ...]
    text: str
    is_flag: bool = False

    @property
    def is_of_old(self) -> bool:
        """Whether current versions of Flink no longer have the option."""
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
    """Adds refused options to a command; the help shows those that Flink's help has."""

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


# Commands that run a program

PROGRAM_OPTIONS = {"-py", "--python", "-pym", "--pyModule"}
"""Options that name the program: all words after them are its options and arguments."""


class ProgramCommand(Outlined):
    """A command that runs a program: everything after the program belongs to it.

    With ``-py program.py`` options may follow; the program's arguments begin with the first word that is none of them.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._separated(args))

    def _separated(self, args: list[str]) -> list[str]:
        """Insert ``--`` before the program's arguments in ``args``, if ``-py`` or ``-pym`` names the program."""
        named = False
        position = 0
        args = list(args)
        options = [param for param in self.params if isinstance(param, click.Option)]
        while position < len(args):
            word = args[position]
            if word == "--" or (not named and not word.startswith("-")):
                return args
            args[position] = word = spelled(word, options)
            option, attached = self._option(word)
            if option is None:
                if named:
                    return [*args[:position], "--", *args[position:]]
                return args  # click says what is wrong with it
            named = named or not PROGRAM_OPTIONS.isdisjoint(option.opts)
            position += 1 if option.is_flag or attached else 2
        return args

    def _option(self, word: str) -> tuple[click.Option | None, bool]:
        """The option that a word names, and whether the word contains its value, too."""
        head, equals, _ = word.partition("=")
        options = {name: param for param in self.params if isinstance(param, click.Option) for name in param.opts}
        if head in options:
            return options[head], bool(equals)
        short = options.get(word[:2])
        if short is not None and not word.startswith("--"):
            return short, not short.is_flag
        return None, False


# Requests that fail

_LINE = "-" * 60


@contextlib.contextmanager
def failing(text: str) -> Iterator[None]:
    """Errors of the code inside end the command, with this text and the reason."""
    from millrace.cluster.control import ElsewhereError

    try:
        yield
    except ElsewhereError as error:
        failed(text, str(error))


def failed(text: str, cause: str) -> NoReturn:
    """Report a failed request, and exit."""
    click.echo(f"\n{_LINE}\n The program finished with the following exception:\n", err=True)
    click.echo(text, err=True)
    click.echo(f"Caused by: {cause}", err=True)
    sys.exit(1)
