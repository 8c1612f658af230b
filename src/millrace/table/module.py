"""Under PyFlink's path: see ``millrace.table.functions.function_catalog``."""

from millrace.table.functions.function_catalog import HiveModule, Module, ModuleEntry

__all__ = ["HiveModule", "Module", "ModuleEntry"]
