"""
Sums without any rounding: a number of 2,240 bits in limbs of 32, which holds every sum of float64.

bits    (n,)  uint64, float64 values as their bits
limbs   (N_LIMBS,) int64: limb i counts 2^(32 i - 1074); each takes 2^31 additions before it may overflow
counts  (3,)  int64: values that are NaN, infinite, infinite below zero
"""

import numpy as np

from fastndcg.kernels.jit import kernel

N_LIMBS = 70
LOW = (1 << 32) - 1
FRACTION = (1 << 52) - 1
SPECIAL = 0x7FF
NAN, INFINITE, MINUS_INFINITE = 0, 1, 2


@kernel
def add_up(bits, out_limbs, out_counts):
    """Add values to the limbs; those that are not finite are counted."""
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
    """Bring every limb to 0 … 2^32 − 1, the last aside, which has the sign."""
    for i in range(out_limbs.shape[0] - 1):
        over = out_limbs[i] >> 32
        out_limbs[i] -= over << 32
        out_limbs[i + 1] += over
