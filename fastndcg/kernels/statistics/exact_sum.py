"""
Exact summation of float64 values with a superaccumulator (U. Kulisch): a fixed-point number that holds every sum.

The number has 2,240 bits in limbs of 32 bits.

bits    (n,)        uint64, the bits of float64 values
limbs   (N_LIMBS,)  int64, limb i counts multiples of 2^(32 i - 1074); after 2^31 additions it may overflow
counts  (3,)        int64, the numbers of NaN, +inf and -inf
"""

import numpy as np

from fastndcg.kernels.jit import kernel

N_LIMBS = 70
LOW = (1 << 32) - 1
FRACTION = (1 << 52) - 1
SPECIAL = 0x7FF
# places in `counts`
NAN = 0
INFINITE = 1
MINUS_INFINITE = 2


@kernel
def add_up(bits, out_limbs, out_counts):
    """Add finite values to the limbs, and count the others."""
    for i in range(bits.shape[0]):
        exponent = np.int64((bits[i] >> np.uint64(52)) & np.uint64(SPECIAL))
        mantissa = np.int64(bits[i] & np.uint64(FRACTION))
        sign = 1 - 2 * np.int64(bits[i] >> np.uint64(63))
        if exponent == SPECIAL:
            out_counts[NAN if mantissa != 0 else INFINITE if sign > 0 else MINUS_INFINITE] += 1
            continue
        if exponent > 0:
            mantissa += FRACTION + 1
            exponent -= 1
        limb = exponent >> 5
        lower = (mantissa & LOW) << (exponent & 31)
        upper = (mantissa >> 32) << (exponent & 31)
        out_limbs[limb] += sign * (lower & LOW)
        out_limbs[limb + 1] += sign * ((lower >> 32 & LOW) + (upper & LOW))
        out_limbs[limb + 2] += sign * (upper >> 32)


@kernel
def carry(out_limbs):
    """Propagate carries: every limb is then from 0 to 2^32 − 1, except the last limb, which has the sign."""
    for i in range(out_limbs.shape[0] - 1):
        over = out_limbs[i] >> 32
        out_limbs[i] -= over << 32
        out_limbs[i + 1] += over
