"""Machine instructions that Numba puts into kernels. Nothing here is imported unless a kernel is compiled."""
