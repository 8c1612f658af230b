"""Under PyFlink's path: see ``millrace.table.settings.changelog_mode``."""

from millrace.table.settings.changelog_mode import *  # noqa: F403
from millrace.table.settings.changelog_mode import __all__ as __all__
