"""When files and partitions become visible, and what is done then."""
