"""Adapters to the libraries that train models: metrics in their own loops, in the form that each of them asks for."""
