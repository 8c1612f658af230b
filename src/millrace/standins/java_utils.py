"""``pyflink.util.java_utils``: helpers for objects of Java, as far as these have stand-ins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from millrace.common.time import Duration
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.standins.java_gateway import JavaConfiguration, NoJavaError, get_gateway, stand_in

__all__ = [
    "add_jars_to_context_class_loader",
    "create_url_class_loader",
    "from_j_duration",
    "get_field",
    "get_field_value",
    "get_j_env_configuration",
    "invoke_method",
    "is_instance_of",
    "is_local_deployment",
    "load_java_class",
    "to_j_duration",
    "to_j_explain_detail_arr",
    "to_jarray",
]


def to_jarray(j_type: Any, arr: Sequence[Any]) -> list[Any]:
    """A Java array as a list."""
    return list(arr)


def load_java_class(class_name: str) -> Any:
    """The stand-in for a Java class.

    :raises NoJavaError: nothing does.
    """
    return stand_in(class_name)


def is_instance_of(java_object: Any, java_class: Any) -> bool:
    """:param java_class: what stands in for a class, or the name of the class.
    :raises NoJavaError: nothing stands in for it."""
    expected = stand_in(java_class) if isinstance(java_class, str) else java_class
    if not isinstance(expected, type):
        raise TypeError(f"a class or its name is expected, not {java_class!r}")
    return isinstance(java_object, expected)


def get_j_env_configuration(j_env: StreamExecutionEnvironment) -> JavaConfiguration:
    """The settings of an environment; changes to them take effect in the environment."""
    if not isinstance(j_env, StreamExecutionEnvironment):
        raise TypeError(f"an environment's _j_stream_execution_environment is expected, not {j_env!r}")
    return JavaConfiguration(j_env._configuration)


def is_local_deployment(j_configuration: JavaConfiguration) -> bool:
    return j_configuration.getString("execution.target") in ("local", "minicluster")


def to_j_duration(time_delta: timedelta | int) -> Duration:
    """:param time_delta: a number is of milliseconds."""
    if isinstance(time_delta, timedelta):
        return Duration.of_millis(round(time_delta.total_seconds() * 1000))
    return Duration.of_millis(time_delta)


def from_j_duration(j_duration: Duration) -> timedelta:
    return timedelta(milliseconds=j_duration.to_millis())


def to_j_explain_detail_arr(p_extra_details: Sequence[Any]) -> list[Any]:
    """The details unchanged."""
    return to_jarray(None, p_extra_details or [])


def invoke_method(
    obj: Any,
    object_type: str,
    method_name: str,
    args: Sequence[Any] | None = None,
    arg_types: Sequence[str] | None = None,
) -> Any:
    """Call a method of an object's stand-in.

    :raises NoJavaError: nothing stands in for the class, or what does has no such method.
    """
    stand_in(object_type)
    method = getattr(obj, method_name, None)
    if not callable(method):
        raise NoJavaError(f"{object_type}.{method_name}()")
    return method(*(args or []))


def get_field(cls: Any, field_name: str) -> Any:
    """:raises NoJavaError: always. Fields of Java classes are not here."""
    raise NoJavaError(f"the field {field_name} of {getattr(cls, '__name__', cls)}")


def get_field_value(java_obj: Any, field_name: str) -> Any:
    """:raises NoJavaError: always. Fields of Java objects are not here."""
    return get_field(type(java_obj), field_name)


def add_jars_to_context_class_loader(jar_urls: Sequence[str]) -> None:
    """:raises NoJavaError: there are any. Nothing could load them."""
    if jar_urls:
        raise NoJavaError(f"what is in {', '.join(jar_urls)}")


def create_url_class_loader(urls: Sequence[Any], parent_class_loader: Any) -> Any:
    """The parent, if there are no jars.

    :raises NoJavaError: there are any.
    """
    add_jars_to_context_class_loader([str(url) for url in urls])
    return parent_class_loader or get_gateway().jvm.Thread.currentThread().getContextClassLoader()
