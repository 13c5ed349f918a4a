"""Compiled loops on plain arrays. They never validate and never raise; each has a naive twin in the tests."""
