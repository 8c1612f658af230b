"""Bodies of answers, each a pure function of documents, with Flink's names and types."""
