"""Metrics: their names, parameters and records."""
