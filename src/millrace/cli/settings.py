"""From the options of a command line to the configuration that its environments begin with."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

import click

from millrace.cli.options import ProgramOptions
from millrace.cli.program import Program
from millrace.cli.shipping import python_file, zip_folder

MASTER = "millrace.master"
SPARK_MASTER = "spark.master"
JARS = "pipeline.jars"


@dataclass(frozen=True)
class RunSettings:
    """What a program is run with."""

    configuration: dict[str, str] = field(repr=False)
    paths: tuple[str, ...]
    """what ``sys.path`` gets after the program's folder"""


def run_settings(options: ProgramOptions, program: Program, directory: str) -> RunSettings:
    """The configuration; zip files for the workers are made in ``directory``.

    An option beats its -D twin, and that beats the configuration files.

    :raises click.UsageError: a setting that is wrong.
    """
    from millrace.datastream.settings.dependencies import ARCHIVES, EXECUTABLE, FILES, REQUIREMENTS, import_path

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
    """What the files and -D say, checked.

    :raises click.UsageError: a setting that is wrong.
    """
    from millrace.configuration.files import file_settings
    from millrace.configuration.registry import with_new_names
    from millrace.configuration.telling import ConfigurationError, tell_about

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
    """A jar of -j, from the folder where the command is typed. One of Flink's that is missing is left out later."""
    from millrace.datastream.settings.dependencies import is_flinks_and_missing

    if "://" in path:
        return path
    if not is_flinks_and_missing(path):
        _require([path], "jar (-j)")
    return os.path.abspath(path)


def _require(paths: Iterable[str], what: str) -> None:
    """Raises click's error for one that is not there; paths with a scheme are looked for when the job begins."""
    for path in paths:
        name = path.partition("#")[0]
        if "://" not in name and not os.path.exists(name):
            raise click.UsageError(f"no such {what}: {name}")


def _absolute(archive: str) -> str:
    path, separator, target = archive.partition("#")
    return os.path.abspath(path) + separator + target
