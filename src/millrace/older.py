"""Maps deprecated names to the modules of ``millrace.legacy``, which are loaded when a program uses one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from millrace.util import fallback

__all__ = ["OlderNames", "add_older_names", "remove_older_names"]

_ROOM = "millrace.legacy"

_METHODS = (
    # class of today, module of the room, methods
    (
        "TableEnvironment",
        "table_environments",
        """
        connect execute explain from_table_source insert_into register_function register_java_function register_table
        register_table_sink register_table_source scan set_parallelism sql_update
        """,
    ),
    ("CatalogFunction", "table_methods", "is_generic"),
    ("Table", "table_methods", "create_temporal_table_function"),
    ("TableConfig", "table_environments", "get_max_idle_state_retention_time get_min_idle_state_retention_time"),
    ("TableConfig", "table_environments", "set_configuration set_idle_state_retention_time"),
    ("TableConfig", "table_environments", "get_decimal_context get_null_check set_decimal_context set_null_check"),
    ("EnvironmentSettings", "table_environments", "from_configuration is_blink_planner to_configuration"),
    ("TableEnvironment", "table_methods", "getPlanner"),
    ("TableEnvironment", "table_environments", "query_config"),
    (
        "CheckpointConfig",
        "stream_settings",
        """
        enable_externalized_checkpoints get_externalized_checkpoint_cleanup is_prefer_checkpoint_for_recovery
        set_externalized_checkpoint_cleanup set_prefer_checkpoint_for_recovery
        """,
    ),
    (
        "ExecutionConfig",
        "stream_settings",
        """
        add_default_kryo_serializer disable_auto_type_registration get_default_input_dependency_constraint
        get_execution_mode get_registered_types_with_kryo_serializer_classes get_restart_strategy
        is_auto_type_registration_disabled register_kryo_type register_pojo_type register_type_with_kryo_serializer
        set_default_input_dependency_constraint set_execution_mode set_restart_strategy
        """,
    ),
    (
        "StreamExecutionEnvironment",
        "stream_settings",
        "add_default_kryo_serializer register_type register_type_with_kryo_serializer",
    ),
    ("Builder", "table_environments", "use_any_planner use_blink_planner use_old_planner"),
    (
        "StreamExecutionEnvironment",
        "stream_operations",
        "get_stream_time_characteristic set_stream_time_characteristic",
    ),
    ("StreamExecutionEnvironment", "connectors", "generate_sequence read_file"),
    ("StreamExecutionEnvironment", "restart_strategies", "get_restart_strategy set_restart_strategy"),
    ("DataStream", "stream_operations", "count_window_all time_window_all"),
    ("KeyedStream", "stream_operations", "time_window"),
    ("KeyedStream", "stream_operations", "fold"),
    ("WindowedStream", "stream_operations", "fold"),
    ("AllWindowedStream", "stream_operations", "fold"),
    ("DataStream", "stream_operations", "split"),
    ("DataStream", "connectors", "write_as_csv write_as_text"),
)

_ARGUMENTS = {
    **dict.fromkeys(("DataStream.key_by", "KeyedStream.key_by", "ConnectedStreams.key_by"), "stream_operations"),
    "StreamTableEnvironment.create": "table_environments",
    "Table.alias": "table_methods",
    "Table.insert_into": "table_methods",
    **dict.fromkeys(("udf", "udtf", "udaf", "udtaf"), "table_methods"),
}
"""Functions with deprecated arguments -> the module with their ``todays_arguments``."""

_CAPITAL = re.compile("[A-Z]")
_STAND_INS = {(cls, name): home for cls, home, names in _METHODS for name in names.split()}


class OlderNames:
    """Finds the module of a deprecated name."""

    def method(self, owner: type, name: str) -> Callable[..., Any] | None:
        for cls in owner.__mro__:
            home = _STAND_INS.get((cls.__name__, name))
            if home is not None:
                return getattr(_load(home), name)  # type: ignore[no-any-return]
        todays = _CAPITAL.sub(lambda found: f"_{found[0].lower()}", name)
        # What programs reach behind PyFlink's objects has Java's names: env._j_stream_execution_environment.getConfig()
        found = getattr(owner, todays, None) if todays != name else None
        return found if callable(found) else None

    def arguments(
        self, function: str, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        home = _ARGUMENTS.get(function)
        if home is None or not _may_be_older(function, args, keywords):
            return args, keywords
        return _load(home).todays_arguments(function, args, keywords)  # type: ignore[no-any-return]

    def expressions(self, text: str) -> Sequence[Any] | None:
        return _load("text_expressions").read_expressions(text)  # type: ignore[no-any-return]


def _may_be_older(function: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether arguments may be deprecated ones, so that loading ``millrace.legacy`` is worthwhile."""
    if not keywords.keys().isdisjoint(("udf_type", "table_config", "key_type_info")):
        return True
    if any(type(arg).__name__ == "TableConfig" for arg in args):
        return True
    texts = [arg for arg in args if isinstance(arg, str)]
    return (function == "Table.insert_into" and len(texts) > 1) or any("," in text for text in texts)


def add_older_names(name: str, module: ModuleType) -> None:
    """Add the names that only ``pyflink.<name>`` has to a module, also for ``import *``.

    These are deprecated ones, and those that are not there yet.
    """
    from millrace.pyflink_names import NAMES
    from millrace.pyflink_names.public_module import each

    entry = NAMES.get(name)
    homes = {} if entry is None else {older: place for place, older, _ in each(entry.older)}
    refused = [] if entry is None else [missing for _, missing, _ in each(entry.not_yet)]
    if not (homes or refused) or hasattr(module.__dict__.get("__getattr__"), "_before"):
        return
    before = module.__dict__.get("__getattr__")

    def __getattr__(attribute: str) -> Any:
        home = homes.get(attribute)
        if home is not None:
            return getattr(import_module(f"millrace.{home}"), attribute)
        if before is None:
            raise AttributeError(f"module {module.__name__!r} has no attribute {attribute!r}")
        return before(attribute)

    __getattr__.__dict__["_before"] = before
    if before is not None:
        for older in homes:  # a name of today that was used before is in the module itself
            module.__dict__.pop(older, None)
    module.__dict__["__getattr__"] = __getattr__
    if "__all__" in module.__dict__:
        __getattr__.__dict__["_all"] = module.__dict__["__all__"]
        module.__dict__["__all__"] = list(dict.fromkeys([*module.__dict__["__all__"], *homes, *refused]))


def remove_older_names(module: ModuleType) -> None:
    """Undo ``add_older_names``."""
    added = module.__dict__.get("__getattr__")
    if not hasattr(added, "_before"):
        return
    before = getattr(added, "_before")  # noqa: B009  # a function has no such attribute of its own
    if hasattr(added, "_all"):
        module.__dict__["__all__"] = getattr(added, "_all")  # noqa: B009
    if before is None:
        del module.__dict__["__getattr__"]
    else:
        module.__dict__["__getattr__"] = before


def install() -> None:
    """Install the lookup of deprecated methods and texts."""
    fallback.install(OlderNames())


def _load(home: str) -> ModuleType:
    return import_module(f"{_ROOM}.{home}")
