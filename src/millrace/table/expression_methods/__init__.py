"""The methods of ``Expression``, by subject. Each makes one node of the unbound tree."""
