"""Reads configuration files: ``config.yaml`` of Flink 2, nested or flat, and ``flink-conf.yaml`` of older versions.

Also the settings of logs: their sizes and their directory (``env.log.max`` and the like).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from millrace.common.configuration import to_bytes_count, to_int, to_text
from millrace.common.files import store_settings
from millrace.configuration.own_options import LOG_FILE_BYTES
from millrace.configuration.registry import ConfigurationError, find, options, tell_about, with_new_names
from millrace.util.logs import LogLimits

logger = logging.getLogger("millrace")

CURRENT, OLDER = "config.yaml", "flink-conf.yaml"
DIRECTORIES = ("MILLRACE_CONF_DIR", "FLINK_CONF_DIR")
"""Environment variables that name the directory; the first one that is set is used."""
_NOTHING = (None, "", "~", "null", "(none)")
"""Values that mean "no value": YAML's, and those in Flink's documentation."""
FALLBACK = "conf"
"""The default directory, below the working directory."""


def configuration_directory(named: str | None = None) -> tuple[Path | None, bool]:
    """The directory of the configuration files, and whether it was named or is the default; None: there is none."""
    for directory in (named, *(os.environ.get(variable) for variable in DIRECTORIES)):
        if directory:
            return Path(directory), True
    fallback = Path(FALLBACK)
    return (fallback if fallback.is_dir() else None), False


def file_settings(named: str | None = None) -> dict[str, str]:
    """The settings of the configuration files, under the keys' newest names; empty without files. The files are read
    once.

    :param named: the directory, instead of the one that the environment names.
    :raises ConfigurationError: a named directory has no file, a file can't be read, or a value is wrong.
    """
    directory, sure = configuration_directory(named)
    found = {} if directory is None else dict(_settings_of(str(directory.absolute()), sure))
    store_settings.use_in_process(found)
    return found


@lru_cache(maxsize=8)
def _settings_of(directory: str, sure: bool) -> Mapping[str, str]:
    settings = read_directory(Path(directory), sure)
    tell_about(settings)
    return with_new_names(settings)


def read_directory(directory: Path, sure: bool = True) -> dict[str, str]:
    """The settings in a directory's file, with the keys of the file.

    :param sure: whether the directory is known to contain configuration. Otherwise a ``config.yaml`` without any known
        key
        is taken for another program's.
    """
    current, older = directory / CURRENT, directory / OLDER
    if current.is_file():
        try:
            settings = dict(_flat(_yaml(current), str(current)))
        except ConfigurationError:
            if not sure and not older.is_file():
                logger.debug("%s is not read", current, exc_info=True)
                return {}
            raise
        if sure or any(find(key) for key in settings):
            if older.is_file():
                logger.warning("%s is not read, since there is %s", older, current)
            return settings
    if older.is_file():
        return dict(_lines(older))
    if sure:
        raise ConfigurationError(f"there is neither {CURRENT} nor {OLDER} in {directory}")
    return {}


def _yaml(file: Path) -> Any:
    try:
        import yaml
    except ImportError:
        raise ConfigurationError(
            f"{file} needs the package PyYAML: pip install 'millrace-streaming[config]'; {OLDER} is read without"
        ) from None
    try:
        # Values stay as they are written: Flink's types are not YAML's.
        return yaml.load(file.read_text("utf-8"), Loader=yaml.BaseLoader)
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file}: {error}") from None
    except yaml.YAMLError as error:
        # What the error says of the text may be a secret.
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise ConfigurationError(
            f"{file}{where}: this is no YAML; a value with special characters needs quotes"
        ) from None


def _flat(value: Any, file: str, key: str = "") -> Iterator[tuple[str, str]]:
    """Flatten nested keys to dotted ones; a map stays a map if its key takes one."""
    if value in _NOTHING:
        return
    if isinstance(value, dict) and not _takes_map(key):
        for name, part in value.items():
            yield from _flat(part, file, f"{key}.{name}" if key else str(name))
    elif not key:
        raise ConfigurationError(f"{file}: expected are keys and values")
    else:
        yield key, to_text(value)


def _takes_map(key: str) -> bool:
    option = options().get(key)
    return option is not None and option.fact.type == "map"


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    """Parse ``key: value`` lines; `` #`` begins a comment."""
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        text = "" if line.lstrip().startswith("#") else line.split(" #", 1)[0].strip()
        key, colon, value = text.partition(": ")
        value = _unquoted(value.strip())
        if colon and key.strip() and value:
            if value not in _NOTHING:
                yield key.strip(), value
        elif text and not text.endswith(":"):  # a key without a value is left out, as in Flink
            # What stands there may be a secret.
            raise ConfigurationError(f"{file}, line {number}: expected is 'key: value', with a space after the colon")


def _unquoted(value: str) -> str:
    """A value without quotes around it, as in Flink's documentation; YAML would drop them, too."""
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted and value[0] not in value[1:-1] else value


# Logs

DIRECTORY = "env.log.dir"
OLDER_FILES = "env.log.max"
FILE_BYTES = LOG_FILE_BYTES.key


def log_limits(configuration: Mapping[str, str]) -> LogLimits:
    """The log limits that ``env.log.max`` and ``millrace.log.max-file-size`` set.

    :raises ValueError: one of them is nonsense.
    """
    older, size = configuration.get(OLDER_FILES), configuration.get(FILE_BYTES)
    found = LogLimits(
        LogLimits.file_bytes if size is None else to_bytes_count(size),
        LogLimits.older_files if older is None else to_int(older),
    )
    if found.file_bytes < 1 or found.older_files < 0:
        raise ValueError(f"{FILE_BYTES} must be a byte at least, {OLDER_FILES} not less than 0")
    return found
