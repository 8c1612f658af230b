"""Complex event processing: what finds patterns in the elements of a key, without any I/O."""
