"""Tools that the suites share: workloads, baselines, timing, verification, tables."""
