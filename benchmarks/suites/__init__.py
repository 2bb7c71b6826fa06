"""Suites of benchmarks, one module each (see `benchmarks.lib.suite.SUITES`)."""
