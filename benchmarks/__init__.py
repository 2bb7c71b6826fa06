"""Benchmarks of fastndcg: pytest files on pytest-benchmark."""
