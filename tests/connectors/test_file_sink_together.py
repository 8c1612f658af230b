"""What the file sink writes of many elements at once: the same files as one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rings import examples

from millrace.common.serialization import Encoder
from millrace.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from millrace.testing.connectors.runtime import Clock, ElementContext, WriterContext

texts = st.lists(st.one_of(st.text(max_size=6), st.integers(), st.none()), max_size=12)


@settings(max_examples=examples(40))
@given(texts, st.sampled_from(["UTF-8", "ascii", "latin-1", "utf-16", "utf-16-le", "utf-7", "iso2022_jp"]))
def test_an_encoder_gives_the_same_bytes(values: list[Any], charset: str) -> None:
    encoder: Any = Encoder.simple_string_encoder(charset)
    remaining = iter(values)
    found = encoder.encode_together(remaining)
    if found is None:
        assert list(remaining) == values, "nothing is taken"
    else:
        assert found == b"".join(map(encoder.encode, values))


class ByText(BucketAssigner):
    def get_bucket_id(self, element: Any, context: Any) -> str:
        return f"first={element[:1]}"


ASSIGNERS: dict[str, Any] = {
    "one": BucketAssigner.base_path_bucket_assigner,
    "clock": BucketAssigner.date_time_bucket_assigner,
    "text": ByText,
}


def files(base: Path, chunks: list[list[str]], together: bool, assigner: str, part_size: int) -> list[tuple[str, str]]:
    """The folder and the content of each finished file."""
    policy = RollingPolicy.default_rolling_policy(part_size=part_size)
    builder = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
    sink = builder.with_bucket_assigner(ASSIGNERS[assigner]()).with_rolling_policy(policy).build()
    writer, context = sink.create_writer(WriterContext(0, 1, 1, Clock())), ElementContext()
    for chunk in chunks:
        remaining = iter(chunk)
        if together:
            writer.write_together(chunk, remaining, context)
        for element in remaining:
            writer.write(element, context)
    writer.flush(True)
    parts = writer.prepare_commit()
    writer.close()
    return [(Path(part.target).parent.name, Path(part.in_progress).read_text()) for part in parts]


@pytest.mark.parametrize("assigner", ASSIGNERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(10))
@given(
    chunks=st.lists(st.lists(st.sampled_from(["a", "bb", "c" * 9]), max_size=5), min_size=1, max_size=5),
    part_size=st.sampled_from([1, 10, 1000]),
)
def test_the_same_files(tmp_path: Path, assigner: str, chunks: list[list[str]], part_size: int) -> None:
    both = [
        files(tmp_path / name / "out", chunks, together, assigner, part_size)
        for name, together in (("together", True), ("each", False))
    ]
    assert sorted(content for _, content in both[0]) == sorted(content for _, content in both[1])
    if assigner != "one":
        assert sorted(both[0]) == sorted(both[1])
