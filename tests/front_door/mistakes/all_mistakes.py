"""All mistakes, topic by topic, in the order of the page."""

from __future__ import annotations

from types import ModuleType

from tests.front_door.mistakes.mistake import Mistake
from tests.front_door.mistakes.topics import commands, functions, programs, queries, state, table_api, tables

TOPICS: tuple[ModuleType, ...] = (programs, functions, state, table_api, queries, tables, commands)
"""each has a TITLE, MISTAKES, and perhaps an INTRODUCTION"""

MISTAKES: tuple[Mistake, ...] = tuple(mistake for topic in TOPICS for mistake in topic.MISTAKES)
