"""The programs of ``benchmarks.cep``: the same jobs for Millrace, for Flink in Java, and in SQL for both."""
