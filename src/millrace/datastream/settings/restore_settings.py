"""What a job begins with: the savepoint or checkpoint that its configuration names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from millrace.common.config_values import to_boolean
from millrace.datastream.settings.defaults import get_defaults

__all__ = ["ClaimMode", "SavepointRestoreSettings", "restore_settings"]

PATH = "execution.state-recovery.path"
IGNORE_UNCLAIMED = "execution.state-recovery.ignore-unclaimed-state"
CLAIM_MODE = "execution.state-recovery.claim-mode"
_OLDER = {
    PATH: "execution.savepoint.path",
    IGNORE_UNCLAIMED: "execution.savepoint.ignore-unclaimed-state",
    CLAIM_MODE: "execution.savepoint-restore-mode",
}
"""The names that the options had in Flink 1."""

T = TypeVar("T")
"""Type of an option's value."""


class ClaimMode(Enum):
    """To whom the files belong that a job was restored from."""

    CLAIM = "claim"
    """to the job: it deletes them when it no longer needs them"""
    NO_CLAIM = "no_claim"
    """to the user: the job's first checkpoint does not build on them"""
    LEGACY = "legacy"
    """to the user, but checkpoints may build on them"""

    @staticmethod
    def of(text: str) -> ClaimMode:
        """From ``claim``, ``NO_CLAIM``, ... Raises ``ValueError`` for other words."""
        try:
            return ClaimMode(text.strip().lower().replace("-", "_"))
        except ValueError:
            raise ValueError(f"{text!r} is no claim mode: use claim, no_claim or legacy") from None


@dataclass(frozen=True)
class SavepointRestoreSettings:
    """Where a job takes its first state from."""

    path: str | None = None
    """a savepoint or checkpoint; None: the job begins with empty state"""
    allow_non_restored_state: bool = False
    """whether the savepoint may have state that no operator of the job takes"""
    claim_mode: ClaimMode = ClaimMode.NO_CLAIM

    @staticmethod
    def from_configuration(configuration: Mapping[str, str]) -> SavepointRestoreSettings:
        """From ``execution.state-recovery.*`` or its older names. Raises ``ValueError`` naming the key."""
        return SavepointRestoreSettings(
            _read(configuration, PATH, str, "") or None,
            _read(configuration, IGNORE_UNCLAIMED, to_boolean, False),
            _read(configuration, CLAIM_MODE, ClaimMode.of, ClaimMode.NO_CLAIM),
        )


def _read(configuration: Mapping[str, str], key: str, convert: Callable[[str], T], default: T) -> T:
    """The value of a key, or of its older name."""
    name = key if key in configuration else _OLDER[key]
    if name not in configuration:
        return default
    try:
        return convert(configuration[name])
    except ValueError as error:
        raise ValueError(f"could not parse value {configuration[name]!r} for key {name!r}: {error}") from None


def restore_settings(configuration: Mapping[str, str], index: int) -> SavepointRestoreSettings:
    """The settings of the job that a program submits as its ``index``-th (0, 1, ...).

    What the command line says is meant for the first job: the state of another would not fit a second one.
    """
    settings = SavepointRestoreSettings.from_configuration(configuration)
    given = SavepointRestoreSettings.from_configuration(get_defaults().to_dict())
    return SavepointRestoreSettings() if index > 0 and settings == given else settings
