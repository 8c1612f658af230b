"""What a job begins with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from millrace.common.configuration import Configuration
from millrace.datastream.settings import ClaimMode, SavepointRestoreSettings, restore_settings, set_defaults

GIVEN = {"execution.state-recovery.path": "/given", "execution.state-recovery.claim-mode": "CLAIM"}


@pytest.fixture
def _command_line() -> Iterator[None]:
    set_defaults(Configuration.from_dict(dict(GIVEN)))
    yield
    set_defaults(None)


@pytest.mark.parametrize(
    ("configuration", "settings"),
    [
        ({}, SavepointRestoreSettings(None, False, ClaimMode.NO_CLAIM)),
        ({"execution.state-recovery.path": ""}, SavepointRestoreSettings()),
        (
            {
                "execution.state-recovery.path": "/sp",
                "execution.state-recovery.ignore-unclaimed-state": "true",
                "execution.state-recovery.claim-mode": "CLAIM",
            },
            SavepointRestoreSettings("/sp", True, ClaimMode.CLAIM),
        ),
        (
            {
                "execution.savepoint.path": "/old",
                "execution.savepoint.ignore-unclaimed-state": "true",
                "execution.savepoint-restore-mode": "legacy",
            },
            SavepointRestoreSettings("/old", True, ClaimMode.LEGACY),
        ),
        (
            {"execution.savepoint.path": "/old", "execution.state-recovery.path": "/new"},
            SavepointRestoreSettings("/new"),
        ),
        ({"execution.state-recovery.claim-mode": " No-Claim "}, SavepointRestoreSettings()),
    ],
)
def test_settings_come_from_the_configuration(
    configuration: dict[str, str], settings: SavepointRestoreSettings
) -> None:
    assert SavepointRestoreSettings.from_configuration(configuration) == settings


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("execution.state-recovery.claim-mode", "mine", "'mine' is no claim mode: use claim, no_claim or legacy"),
        ("execution.savepoint-restore-mode", "mine", "'mine' is no claim mode: use claim, no_claim or legacy"),
        ("execution.state-recovery.ignore-unclaimed-state", "maybe", "neither true nor false: 'maybe'"),
    ],
)
def test_a_wrong_value_is_named(key: str, value: str, reason: str) -> None:
    with pytest.raises(ValueError, match="could not parse") as raised:
        SavepointRestoreSettings.from_configuration({key: value})
    assert str(raised.value) == f"could not parse value {value!r} for key {key!r}: {reason}"


@pytest.mark.usefixtures("_command_line")
def test_the_savepoint_of_the_command_line_is_for_the_first_job() -> None:
    first, second = restore_settings(GIVEN, 0), restore_settings(GIVEN, 1)
    assert first == SavepointRestoreSettings("/given", False, ClaimMode.CLAIM)
    assert second == SavepointRestoreSettings()


@pytest.mark.usefixtures("_command_line")
def test_what_the_program_itself_sets_is_for_any_job() -> None:
    own = {**GIVEN, "execution.state-recovery.path": "/own"}
    assert restore_settings(own, 1).path == "/own"


def test_without_a_command_line_each_job_has_what_it_says() -> None:
    assert restore_settings(GIVEN, 3).path == "/given"
