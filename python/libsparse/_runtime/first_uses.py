"""First uses of patterns: products that would convert one go by the pattern as it is, until they have come a few times.

A product with a transpose, as the gradient of a product is one, takes a fraction of the time where the matrix stands in
the order of the result. But bringing it into that order takes as long as some products without, and a matrix of
a mini-batch is used once. To convert when the products without have taken as long as a conversion costs at most
twice as much as knowing beforehand how many are to come. That changes the order of sums, so the clock has no say: it is
the same call of each run.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

    from libsparse._compiler.kernel import Kernel
    from libsparse._storage.pattern import Pattern

    from .call import Call
    from .problem import Operand

Prepared: TypeAlias = Any
"""A problem with the way to compute it: `dispatch.Prepared`, which is defined above."""


_USES = 3  # as the compiler's `few_uses`


def begin(prepared: Prepared, call: Call) -> None:
    """Computes a problem by a call that is right for few uses, and another way after these."""
    call.tally.told = functools.partial(_end, weakref.ref(prepared))
    call.tally.waits = _USES


def _end(reference: weakref.ref[Prepared]) -> None:
    """A problem has been computed a few times."""
    prepared = reference()
    if prepared is not None and hasattr(prepared.variant, "tally"):  # and nobody has replaced the call meanwhile
        prepared.replace(Settling(prepared, prepared.variant))


class Settling:
    """In the place of a call that was right for few uses: the next one prepares what is right for many.

    Attributes:
        direct: The shortest way, which there is none of: what is prepared has one.
    """

    __slots__ = ("_call", "_prepared")
    direct: Any = None

    def __init__(self, prepared: Prepared, call: Call) -> None:
        """Take the problem, and the call that has computed it."""
        self._prepared, self._call = weakref.ref(prepared), call

    @property
    def kernel(self) -> Kernel:
        """The kernel of the first uses."""
        return self._call.kernel

    def __call__(self, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
        """Prepares, and computes."""
        prepared = self._prepared()
        if prepared is None:
            return self._call(operands)
        if prepared.variant is self:
            prepared.settle(operands)
        variant: Any = prepared.variant
        result: tuple[Tensor, Pattern | None] = self._call(operands) if variant is self else variant(operands)
        return result
