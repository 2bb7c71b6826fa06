"""Adapters for the libraries that call us: boosting rounds, epochs, cross-validation."""
