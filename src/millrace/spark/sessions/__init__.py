"""The Spark session: how it starts, and where its log goes."""
