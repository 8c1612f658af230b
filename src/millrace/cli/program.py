"""The user's program: which one it is, and running it as ``python program.py`` would."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import click

from millrace.cli.options import ProgramOptions


@dataclass(frozen=True)
class Program:
    """A file or a module, and its arguments."""

    target: str
    is_module: bool
    arguments: tuple[str, ...]

    @property
    def folder(self) -> str:
        """What the program can import from without further ado."""
        return os.getcwd() if self.is_module else os.path.dirname(os.path.abspath(self.target))

    def run(self, extra_paths: tuple[str, ...] = ()) -> None:
        """Run it to its end as ``__main__``."""
        with _surroundings(self, extra_paths):
            if self.is_module:
                runpy.run_module(self.target, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(self.target, run_name="__main__")


def find_program(options: ProgramOptions) -> Program:
    """The program of a command line. Raises click's errors if there is none, or more than one."""
    if options.python is not None and options.module is not None:
        raise click.UsageError("-py and -pym both name a program: give one of them")
    if options.module is not None:
        return Program(options.module, True, options.words)
    if options.python is not None:
        return _file(options.python, options.words)
    if not options.words:
        raise click.UsageError("which program? Give its file, or a module with -pym")
    return _file(options.words[0], options.words[1:])


def _file(path: str, arguments: tuple[str, ...]) -> Program:
    local = path.removeprefix("file://")
    if not os.path.exists(local):
        raise click.UsageError(f"no such program: {path}")
    if os.path.isdir(local):
        raise click.UsageError(f"the program {path} is a folder: give the file to run, or a module with -pym")
    if local.endswith(".jar"):
        raise click.UsageError(f"{path} is a jar: Millrace runs programs written in Python")
    return Program(local, False, arguments)


@contextlib.contextmanager
def _surroundings(program: Program, extra_paths: tuple[str, ...]) -> Iterator[None]:
    """``sys.argv`` and ``sys.path`` as Python sets them for a program."""
    argv, path = sys.argv, sys.path
    sys.argv = [program.target, *program.arguments]
    # The first entry belongs to the script that is run, and that was `millrace` so far, unless Python was told to
    # have no such entry.
    rest = path if getattr(sys.flags, "safe_path", False) else path[1:]
    sys.path = [program.folder, *extra_paths, *rest]
    try:
        yield
    finally:
        sys.argv, sys.path = argv, path
