"""Takes over what a program sets: checked, and with new names for older ones."""

from __future__ import annotations

from millrace.common.configuration import Configuration
from millrace.configuration.registry import with_new_names
from millrace.configuration.telling import tell_about

__all__ = ["settled"]


def settled(configuration: Configuration) -> Configuration:
    """A copy in which each value of an older name is there under the new one, too.

    :raises ConfigurationError: a value that its key cannot have, or one that it would be wrong to ignore.
    """
    texts = configuration.to_dict()
    tell_about(texts)
    copy = Configuration(configuration)
    for key, value in with_new_names(texts).items():
        if not copy.contains_key(key):
            copy.set_string(key, value)
    return copy
