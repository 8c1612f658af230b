"""Helpers without a subject of their own; ``exceptions`` and ``api_stability_decorators`` are also PyFlink's
modules."""
