"""OpenSearch and Elasticsearch: one client of ours for all of them, a sink, a source, look-ups."""
