"""The limit that kernels and the code around them share."""

MAX_RANK = 2**31 - 1  # ranks are int32: the longest query, and the cutoff of kernels for metrics without one
