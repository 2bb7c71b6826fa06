"""The build of machine code: what kernels are compiled for, and what is linked into one library."""
