"""Help texts in the outline of Flink's command: an action, its syntax, its options with both their names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

import click


class Outlined(click.Command):
    """A command that Flink has, too: its help names every option of Flink's, also those that are refused."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_action(self, ctx, formatter)
        self.format_epilog(ctx, formatter)


def write_action(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """``Action "stop" ...``, how it is called, and what it takes."""
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
    """``-s,--fromSavepoint <path>`` and what it does; a row for each pair of a short and a long name."""
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
