"""Under PyFlink's path: see ``millrace.table.settings.environment_settings``."""

from millrace.table.settings.environment_settings import *  # noqa: F403
from millrace.table.settings.environment_settings import __all__ as __all__
