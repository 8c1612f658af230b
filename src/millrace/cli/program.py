"""Runs the user's program as ``python program.py`` would, with the configuration for its environments."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import click

from millrace.cli.options import ProgramOptions
from millrace.spark.archives import FolderTooLargeError, zip_modules
from millrace.util.names import did_you_mean


def python_file(entry: str) -> str:
    """The absolute path of a file or folder of ``-pyfs``. Raises click's error if there is none."""
    path = os.path.abspath(entry.removeprefix("file://"))
    if not os.path.exists(path):
        raise click.UsageError(f"no such Python file or folder (-pyfs): {entry}")
    return path


def zip_folder(folder: str, directory: str) -> str:
    """Zip all importable modules of ``folder``; returns the path of the file in ``directory``."""
    name = os.path.basename(folder) or "root"
    try:
        return zip_modules(folder, os.path.join(directory, f"{len(os.listdir(directory))}-{name}.zip"))
    except FolderTooLargeError as error:
        raise click.UsageError(
            f"{error}: keep the program in a folder of its own, or give --no-ship-folder and name what it imports "
            "with -pyfs"
        ) from error


@dataclass(frozen=True)
class Program:
    """The user's program: a file or a module, and its arguments."""

    target: str
    is_module: bool
    arguments: tuple[str, ...]

    @property
    def folder(self) -> str:
        """The folder that the program can import from, as with Python."""
        return os.getcwd() if self.is_module else os.path.dirname(os.path.abspath(self.target))

    def run(self, extra_paths: tuple[str, ...] = (), afterwards: Callable[[], None] = lambda: None) -> None:
        """Run the program as ``__main__``. If it ends well, later code can still use its classes."""
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


MASTER = "millrace.master"
SPARK_MASTER = "spark.master"
JARS = "pipeline.jars"


@dataclass(frozen=True)
class RunSettings:
    """The configuration and import path of a run."""

    configuration: dict[str, str] = field(repr=False)
    paths: tuple[str, ...]
    """paths that are added to ``sys.path`` after the program's folder"""


def run_settings(options: ProgramOptions, program: Program, directory: str) -> RunSettings:
    """Make the configuration; zip files for the workers are written to ``directory``.

    An option overrides its -D form, which overrides the configuration files.

    :raises click.UsageError: a setting that is wrong.
    """
    from millrace.datastream.job_settings import ARCHIVES, EXECUTABLE, FILES, REQUIREMENTS, import_path

    configuration = configured(options)
    master = options.master or configuration.pop(SPARK_MASTER, None) or configuration.get(MASTER)
    if master is not None:
        configuration[MASTER] = master
    if options.parallelism is not None:
        configuration["parallelism.default"] = str(options.parallelism)
    if options.archives:
        configuration[ARCHIVES] = ",".join(_absolute(archive) for archive in options.archives)
        _require(options.archives, "archive (-pyarch)")
    if options.requirements is not None:
        path, separator, folder = options.requirements.partition("#")
        _require([path], "file of requirements (-pyreq)")
        configuration[REQUIREMENTS] = os.path.abspath(path) + separator + (folder and os.path.abspath(folder))
    if options.executable is not None:
        configuration[EXECUTABLE] = options.executable
    files = options.files or tuple(filter(None, configuration.get(FILES, "").split(",")))
    found = [python_file(entry) for entry in files]
    paths = tuple(dict.fromkeys(import_path(file) for file in found))
    if master is not None and not master.startswith("local") and options.ship_folder:
        # Workers on this machine share its import path, those of a cluster get the folder.
        found.insert(0, zip_folder(program.folder, directory))
    if found:
        configuration[FILES] = ",".join(found)
    return RunSettings(configuration, paths)


def configured(options: ProgramOptions) -> dict[str, str]:
    """The checked configuration of files and -D options.

    :raises click.UsageError: a setting that is wrong.
    """
    from millrace.configuration.files import file_settings
    from millrace.configuration.registry import ConfigurationError, tell_about, with_new_names

    try:
        files = file_settings(options.config_dir)
        given = dict(options.properties)
        if options.jars:
            given[JARS] = ";".join([*filter(None, [given.get(JARS)]), *map(_jar, options.jars)])
        tell_about(given)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from None
    if {MASTER, SPARK_MASTER} & given.keys():
        files = {key: value for key, value in files.items() if key not in (MASTER, SPARK_MASTER)}
    return {**files, **with_new_names(given)}


def _jar(path: str) -> str:
    """The path of a jar of -j, relative to the working directory. A missing jar of Flink's own is dropped later."""
    from millrace.datastream.job_settings import is_flinks_and_missing

    if "://" in path:
        return path
    if not is_flinks_and_missing(path):
        _require([path], "jar (-j)")
    return os.path.abspath(path)


def _require(paths: Iterable[str], what: str) -> None:
    """Raise click's error for a missing path; paths with a scheme are checked when the job starts."""
    for path in paths:
        name = path.partition("#")[0]
        if "://" not in name and not os.path.exists(name):
            raise click.UsageError(f"no such {what}: {name}")


def _absolute(archive: str) -> str:
    path, separator, target = archive.partition("#")
    return os.path.abspath(path) + separator + target
