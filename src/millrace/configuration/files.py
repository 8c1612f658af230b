"""Configuration files: ``config.yaml`` of Flink 2, nested or flat, and ``flink-conf.yaml`` of older versions; and how
much of logs is kept, and where (``env.log.max`` and the like).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from millrace.common.config_values import to_bytes_count, to_int, to_text
from millrace.common.files import store_settings
from millrace.configuration.own_options import LOG_FILE_BYTES
from millrace.configuration.registry import ConfigurationError, find, options, tell_about, with_new_names
from millrace.util.logs import LogLimits

logger = logging.getLogger("millrace")

CURRENT, OLDER = "config.yaml", "flink-conf.yaml"
DIRECTORIES = ("MILLRACE_CONF_DIR", "FLINK_CONF_DIR")
"""Variables of the environment that name the directory; the first that is set counts."""
_NOTHING = (None, "", "~", "null", "(none)")
"""Values that say that a key has none: YAML's, and what Flink's documents print."""
FALLBACK = "conf"
"""The directory if none is named, below the working directory."""


def configuration_directory(named: str | None = None) -> tuple[Path | None, bool]:
    """Where the files are, and whether that was said, or is the fallback. None: there are none."""
    for directory in (named, *(os.environ.get(variable) for variable in DIRECTORIES)):
        if directory:
            return Path(directory), True
    fallback = Path(FALLBACK)
    return (fallback if fallback.is_dir() else None), False


def file_settings(named: str | None = None) -> dict[str, str]:
    """What the files say, with new names for older ones; empty if there are none. They are read once.

    :param named: the directory, instead of the environment's.
    :raises ConfigurationError: a directory that is named and has no file, a file that can't be read, a wrong value.
    """
    directory, sure = configuration_directory(named)
    found = {} if directory is None else dict(_settings_of(str(directory.absolute()), sure))
    store_settings.use(found)
    return found


@lru_cache(maxsize=8)
def _settings_of(directory: str, sure: bool) -> Mapping[str, str]:
    settings = read_directory(Path(directory), sure)
    tell_about(settings)
    return with_new_names(settings)


def read_directory(directory: Path, sure: bool = True) -> dict[str, str]:
    """The settings in a directory's file, as they stand there.

    :param sure: whether the directory is meant to be one of configuration. Otherwise a ``config.yaml`` without any key
        that is known belongs to somebody else.
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
    """Nested keys as one with dots; a map stays one if its key takes a map."""
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
    """``key: value``, a line each; what follows `` #`` is a comment."""
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
    """A value without the quotes that Flink's documents put round texts; YAML would drop them, too."""
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted and value[0] not in value[1:-1] else value


# Logs

DIRECTORY = "env.log.dir"
OLDER_FILES = "env.log.max"
FILE_BYTES = LOG_FILE_BYTES.key


def log_limits(configuration: Mapping[str, str]) -> LogLimits:
    """What ``env.log.max`` and ``millrace.log.max-file-size`` say.

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
