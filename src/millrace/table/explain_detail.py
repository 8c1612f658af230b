"""Under PyFlink's path: see ``millrace.table.settings.explain_detail``."""

from millrace.table.settings.explain_detail import *  # noqa: F403
from millrace.table.settings.explain_detail import __all__ as __all__
