"""Benchmarks of fastndcg: `python -m benchmarks run SUITE`."""
