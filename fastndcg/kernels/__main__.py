"""``python -m fastndcg.kernels``: list each kernel, and where its machine code comes from."""

from fastndcg.kernels.listing import list_kernels

if __name__ == "__main__":
    print("\n".join(list_kernels()))
