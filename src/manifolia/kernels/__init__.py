"""Compiled loops on plain arrays. They know no estimator, never validate and never raise; each has a naive twin in the tests."""
