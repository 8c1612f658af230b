"""Topics of Kafka as tables: connectors ``kafka`` and ``upsert-kafka``."""
