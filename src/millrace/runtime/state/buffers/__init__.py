"""Tables of elements that wait for their time."""
