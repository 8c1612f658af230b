"""The command itself: what it can do, in the outline of Flink's command, and its answer to a word that is none."""

from __future__ import annotations

import sys

import click

from millrace.cli.texts.outline import write_action
from millrace.util.similar import close_to

_OF_FLINK = ("run", "list", "info", "savepoint", "stop", "cancel")
"""the actions that Flink's message names, in its order"""


class Actions(click.Group):
    """A group whose help holds that of all actions which Flink's command has, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            click.echo("Please specify an action.")
            click.echo(ctx.get_help())
            ctx.exit(1)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if self.get_command(ctx, word) is None:
            self._refuse(word)
        return super().resolve_command(ctx, args)

    def _refuse(self, word: str) -> None:
        if word.startswith("-"):
            return  # click says that there is no such option
        named = ", ".join(f'"{each}"' for each in _OF_FLINK[:-1])
        click.echo(f'"{word}" is not a valid action.\n')
        click.echo(f'Valid actions are {named}, or "{_OF_FLINK[-1]}".')
        others = [each for each in self.commands if each not in _OF_FLINK]
        click.echo(f"Millrace has these, too: {', '.join(others)}.\n")
        meant = close_to(word, self.commands)
        if meant is not None:
            click.echo(f'Did you mean "millrace {meant}"?\n')
        click.echo("Specify the version option (-v or --version) to print the version of Millrace.\n")
        click.echo("Specify the help option (-h or --help) to get help on the command.")
        sys.exit(1)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("millrace <ACTION> [OPTIONS] [ARGUMENTS]\n\n")
        formatter.write(f"{self.help}\n\nThe following actions are available:\n")
        for name in (*_OF_FLINK, "checkpoint"):
            command = self.commands[name]
            write_action(command, click.Context(command, info_name=name, parent=ctx), formatter)
        formatter.write("\n")
        with formatter.section("More actions, whose help `millrace ACTION -h` shows"):
            others = [name for name in self.commands if name not in (*_OF_FLINK, "checkpoint")]
            formatter.write_dl([(name, self.commands[name].get_short_help_str(60)) for name in others])
        click.Command.format_options(self, ctx, formatter)
