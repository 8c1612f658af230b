"""A client of SQL gateways: Millrace's own, and Flink's."""
