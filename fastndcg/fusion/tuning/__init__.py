"""Tune the weights and parameters of rank fusions on judged queries."""
