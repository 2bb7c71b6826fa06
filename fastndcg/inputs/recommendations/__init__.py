"""Recommended items, interactions, and data about items."""
