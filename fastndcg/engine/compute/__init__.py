"""
Metrics as functions that call kernels, a file a family, beside `metrics/families` and `kernels/metrics`.

A metric is ``name(chunk, m, out)``: it writes the value of each query. `m` is the task: the metric's cutoff, gain and
other choices. What metrics share is a function of what it depends on, whose values are kept by its arguments: see
`memo.py`.
"""
