"""What differs between OpenSearch and the versions of Elasticsearch."""

from __future__ import annotations

from dataclasses import dataclass

JSON = "application/json"
LINES = "application/x-ndjson"
_COMPATIBLE = "application/vnd.elasticsearch+{}; compatible-with=8"


@dataclass(frozen=True)
class Dialect:
    """
    :ivar title: for messages.
    :ivar json: the type of contents that are one document; ``lines`` of those that are many.
    :ivar product: whether answers say that they come from Elasticsearch, as those of 7.14 and later do.
    :ivar distribution: what a server says of itself; "": nothing, as Elasticsearch.
    :ivar points_in_time: whether all pages of a search are asked of a point in time; else they are scrolled through.
    """

    title: str
    json: str = JSON
    lines: str = LINES
    product: bool = False
    distribution: str = ""
    points_in_time: bool = False

    def problem(self, version: str, distribution: str, said_product: bool) -> str | None:
        """Why a server is none of this kind; None if it is.

        :param version: that it says of itself.
        """
        if distribution != self.distribution:
            return f"it is {distribution or 'Elasticsearch'} {version}"
        if self.product and not said_product:
            return f"its answers have no header X-Elastic-Product; it says version {version}"
        if self is ELASTICSEARCH_7 and not version.startswith("7."):
            return f"it is Elasticsearch {version}"
        if self is ELASTICSEARCH_8 and version.partition(".")[0] not in ("8", "9"):
            return f"it is Elasticsearch {version}"
        return None


OPENSEARCH = Dialect("OpenSearch", distribution="opensearch")
ELASTICSEARCH_7 = Dialect("Elasticsearch 7")
ELASTICSEARCH_8 = Dialect(
    "Elasticsearch 8", _COMPATIBLE.format("json"), _COMPATIBLE.format("x-ndjson"), product=True, points_in_time=True
)
