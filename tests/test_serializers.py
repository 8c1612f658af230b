"""Objects in streams of bytes, and the environments of the shell."""

from __future__ import annotations

import io

from millrace.serializers import BatchedSerializer, PickleSerializer
from millrace.shell import s_env, st_env


def test_objects_come_back_one_by_one_and_in_batches() -> None:
    objects = [1, "a", None, {"b": [2.5]}]
    for serializer in (
        PickleSerializer(),
        BatchedSerializer(PickleSerializer(), 3),
        BatchedSerializer(PickleSerializer()),
    ):
        stream = io.BytesIO()
        serializer.serialize(objects, stream)
        stream.seek(0)
        assert list(serializer.deserialize(stream)) == objects
    stream.seek(0)
    assert len(list(PickleSerializer().deserialize(stream))) == 1


def test_the_shell_has_its_environments_ready() -> None:
    assert st_env.from_elements([(1, "a")], ["n", "t"]).get_schema().get_field_names() == ["n", "t"]
    assert s_env.get_parallelism() >= 1
