"""A command that runs a program: where its own options end and the program's arguments begin, as with ``flink run``."""

from __future__ import annotations

import click

from millrace.cli.spelling import spelled
from millrace.cli.texts.outline import Outlined

PROGRAM_OPTIONS = {"-py", "--python", "-pym", "--pyModule"}
"""Options that name the program, so that the first other word is already an argument of it."""


class ProgramCommand(Outlined):
    """Everything after the program belongs to the program, whatever it looks like.

    With ``-py program.py`` options may follow; the program's arguments begin with the first word that is none of them.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._separated(args))

    def _separated(self, args: list[str]) -> list[str]:
        """``args`` with ``--`` in front of the program's arguments, if ``-py`` or ``-pym`` names the program."""
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
        """The option that a word names, and whether the word holds its value too."""
        head, equals, _ = word.partition("=")
        options = {name: param for param in self.params if isinstance(param, click.Option) for name in param.opts}
        if head in options:
            return options[head], bool(equals)
        short = options.get(word[:2])
        if short is not None and not word.startswith("--"):
            return short, not short.is_flag
        return None, False
