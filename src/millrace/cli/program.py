"""The user's program: which one it is, and running it as ``python program.py`` would."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import runpy
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import click

from millrace.cli.options import ProgramOptions
from millrace.util.similar import did_you_mean


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

    def run(self, extra_paths: tuple[str, ...] = (), afterwards: Callable[[], None] = lambda: None) -> None:
        """Run it as ``__main__``. What is called afterwards, if it ended well, still sees the program's classes."""
        with _surroundings(self, extra_paths):
            try:
                if self.is_module:
                    _become_main(runpy.run_module(self.target, run_name="__main__", alter_sys=True))
                else:
                    self._run_file()
            except SystemExit as end:
                if end.code in (None, 0):
                    afterwards()
                raise
            afterwards()

    def _run_file(self) -> None:
        # Not runpy.run_path: that takes the program's __main__ away as soon as its last line has run.
        with io.open_code(os.path.abspath(self.target)) as file:
            code = compile(file.read(), self.target, "exec")
        main = _become_main({"__file__": self.target, "__builtins__": builtins, "__cached__": None})
        exec(code, main.__dict__)


def _become_main(content: dict[str, Any]) -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__.update(content)
    sys.modules["__main__"] = main
    return main


def find_program(options: ProgramOptions) -> Program:
    """The program of a command line. Raises click's errors if there is none, or more than one."""
    if options.python is not None and options.module is not None:
        raise click.UsageError("-py and -pym both name a program: give one of them")
    if options.module is not None:
        return Program(options.module, True, options.words)
    if options.python is not None:
        return _file(options.python, options.words)
    if not options.words and options.jars:
        raise click.UsageError(f"{options.jars[0]} is a jar, and programs are written in Python: give one with -py")
    if not options.words:
        raise click.UsageError("which program? Give its file, or a module with -pym")
    return _file(options.words[0], options.words[1:])


def _file(path: str, arguments: tuple[str, ...]) -> Program:
    local = path.removeprefix("file://")
    if not os.path.exists(local):
        folder, name = os.path.split(local)
        beside = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        raise click.UsageError(f"no such program: {path}{did_you_mean(name, beside)}")
    if os.path.isdir(local):
        raise click.UsageError(f"the program {path} is a folder: give the file to run, or a module with -pym")
    if local.endswith(".jar"):
        raise click.UsageError(f"{path} is a jar: Millrace runs programs written in Python")
    return Program(local, False, arguments)


@contextlib.contextmanager
def _surroundings(program: Program, extra_paths: tuple[str, ...]) -> Iterator[None]:
    """``sys.argv``, ``sys.path`` and ``__main__`` as Python sets them for a program."""
    argv, path, main = sys.argv, sys.path, sys.modules["__main__"]
    sys.argv = [program.target, *program.arguments]
    # The first entry belongs to the script that is run, and that was `millrace` so far, unless Python was told to
    # have no such entry.
    rest = path if getattr(sys.flags, "safe_path", False) else path[1:]
    sys.path = [program.folder, *extra_paths, *rest]
    try:
        yield
    finally:
        sys.argv, sys.path, sys.modules["__main__"] = argv, path, main
