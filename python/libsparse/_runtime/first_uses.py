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
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .call import Call
from .problem import Operand, of_product

if TYPE_CHECKING:
    from torch import Tensor

    from libsparse._compiler.kernel import Kernel
    from libsparse._storage.pattern import Pattern

Prepared: TypeAlias = Any
"""A problem with the way to compute it: `dispatch.Prepared`, which is defined above."""


_USES = 3  # as the compiler's `few_uses`


def begin(prepared: Prepared, call: Call, used: bool) -> None:
    """Computes a problem by a call that is right for few uses, and another way after these.

    Args:
        prepared: The problem.
        call: What computes it.
        used: Whether it was computed before on a pattern that nothing was kept for, which is one of the uses.
    """
    call.tally.told = functools.partial(_end, weakref.ref(prepared))
    call.tally.waits = _USES - used


def _end(reference: weakref.ref[Prepared]) -> None:
    """A problem has been computed a few times."""
    prepared = reference()
    if prepared is not None and isinstance(prepared.variant, Call):  # and nobody has replaced the call meanwhile
        prepared.replace(Settling(prepared, prepared.variant))


class Settling:
    """In the place of a call that was right for few uses: the next one prepares what is right for many."""

    __slots__ = ("_call", "_prepared")

    def __init__(self, prepared: Prepared, call: Call) -> None:
        """Take the problem, and the call that has computed it."""
        self._prepared, self._call = weakref.ref(prepared), call

    @property
    def kernel(self) -> Kernel:
        """The kernel of the first uses."""
        return self._call.kernel

    @property
    def direct(self) -> Callable[..., Tensor] | None:
        """The shortest way, where the call has one: of a matrix and a dense operand."""
        return None if self._call.direct is None else self._product

    def _product(self, *given: Any, **into: Tensor) -> Tensor:
        prepared, short = self._prepared(), self._call.direct
        assert short is not None
        pattern = None if prepared is None or prepared.pattern is None else prepared.pattern()
        if pattern is not None:
            operands = of_product(pattern, *given)
            call = self._settled(operands)
            if isinstance(call, Call) and call.direct is None:
                call.make_direct(operands)
            if call is not self:
                short = call.direct or short
        return short(*given, **into)

    def _settled(self, operands: Sequence[Operand]) -> Any:
        """What computes the problem now."""
        prepared = self._prepared()
        if prepared is None:
            return self._call
        if prepared.variant is self:
            prepared.settle(operands)
        return prepared.variant

    def __call__(self, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
        """Prepares, and computes."""
        result: tuple[Tensor, Pattern | None] = self._settled(operands)(operands)
        return result
