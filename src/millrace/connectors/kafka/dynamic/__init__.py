"""A Kafka source over several clusters, which a metadata service names."""
