"""Classes of sizes: what shares a kernel and the decisions behind it, so that a new mini-batch finds both.

Each class is named by a representative, which the compiler is told in place of the number itself.
"""

from __future__ import annotations

_STEP = 4  # bits: the classes of what varies from batch to batch are powers of 16


def width(n: int) -> int:
    """The class of an extent that no sparse level stores: as a rule the width of a layer, which is the same in every call.

    Below 8, and for multiples of 8 up to 64, a class has one member, and kernels are compiled for exactly that.
    """
    if n < 8:
        return n
    if n < 64:
        return n if n % 8 == 0 else 8 * (n // 8) + 1
    return n if n == 64 else (1 << (n.bit_length() - 1)) + 1


def extent(n: int) -> int:
    """The class of an extent that a sparse level stores, of which costs need no more than the magnitude.

    No representative is one of `width`'s exact classes: the kernel has to take every member.
    """
    return 9 if n < 64 else _middle(n.bit_length() - 7, 64) + 1


def entries(n: int) -> int:
    """The class of a number of entries."""
    return _middle(max(n.bit_length() - 1, 0), 1)


def _middle(bits: int, start: int) -> int:
    return 4 * start << bits // _STEP * _STEP
