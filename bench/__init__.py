"""Measurements: timings belong here, not in the tests."""
