"""Apache Kafka, by librdkafka."""
