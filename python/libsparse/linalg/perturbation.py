"""Eigenvalues and singular values as functions of the matrix: their gradients, and the gradients of these.

A value is `l^H A r` of its vectors, and its change `l^H dA r` (Hellmann and Feynman). The gradient, `l r^H` at the
entries, changes as the vectors do (Magnus 1985, On differentiating eigenvalues and eigenvectors): what that takes is
computed for gradients of gradients alone. Each function below is the derivative of another, in either mode.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

import libsparse as ls

from .batches import Function, one_by_one


class Spectrum(Protocol):
    """What values and vectors belong to a matrix; the vectors are kept, in one tensor of k columns."""

    @property
    def name(self) -> str:
        """The function that errors name."""
        ...

    @property
    def pattern(self) -> ls.Pattern:
        """That of the matrix."""
        ...

    @property
    def real(self) -> bool:
        """Whether values are."""
        ...

    def find(self, A: ls.SparseTensor) -> tuple[Tensor, Tensor]:
        """The values (k,), and the vectors."""
        ...

    def sides(self, A: ls.SparseTensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """The columns l and r with `l^H A r` the values: (m, k) and (n, k)."""
        ...

    def respond(
        self, A: ls.SparseTensor, C: ls.SparseTensor, vectors: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Columns p and q such that `l^H C r` changes by `p^H dA r + l^H dA q` where A does by dA.

        They are multiplied by weights (k,), q by their conjugates; what has the weight 0 is not looked for.
        """
        ...


class _Held:
    """A spectrum, as what torch's transforms don't look into."""

    def __init__(self, spectrum: Spectrum) -> None:
        self.spectrum = spectrum

    def matrix(self, values: Tensor) -> ls.SparseTensor:
        return ls.SparseTensor(self.spectrum.pattern, values.detach())

    def forms(self, matrix: Any, left: Tensor, right: Tensor) -> Tensor:
        """`l^H A r`, (k,)."""
        found: Tensor = (left.conj() * (matrix @ right)).sum(0)
        return found.real if self.spectrum.real and found.is_complex() else found

    def outer(self, left: Tensor, right: Tensor) -> Tensor:
        """The sum of `l r^H` at the entries."""
        return ls.sddmm(ls.SparseTensor(self.spectrum.pattern), left, right.mH).values()


def values_of(A: ls.SparseTensor, spectrum: Spectrum) -> tuple[Tensor, Tensor]:
    """The values, differentiable twice in those of A, and the vectors, which are constant."""
    found: tuple[Tensor, Tensor] = _Values.apply(A.values(), _Held(spectrum))
    return found


class _Function(Function):
    """A function of tensors and of what is held, all of which it saves."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.held = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)


@one_by_one
class _Values(_Function):
    """The values and the vectors of A."""

    @staticmethod
    def forward(values: Tensor, held: _Held) -> tuple[Tensor, Tensor]:
        return held.spectrum.find(held.matrix(values))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        values, ctx.held = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(values, output[1])
        ctx.save_for_forward(values, output[1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Any) -> tuple[Tensor, None]:
        values, vectors = ctx.saved_tensors
        return _Gradient.apply(values, grad, vectors, ctx.held), None

    @staticmethod
    def jvp(ctx: Any, change: Tensor, _: None) -> tuple[Tensor, None]:
        values, vectors = ctx.saved_tensors
        return _Form.apply(values, change, vectors, ctx.held), None


@one_by_one
class _Gradient(_Function):
    """The sum of `weight l r^H` at the entries."""

    @staticmethod
    def forward(values: Tensor, weights: Tensor, vectors: Tensor, held: _Held) -> Tensor:
        left, right = held.spectrum.sides(held.matrix(values), vectors)
        return held.outer(left * weights, right)

    @staticmethod
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
        values, weights, vectors = ctx.saved_tensors
        own = _Turned.apply(values, weights, change, vectors, ctx.held) if ctx.needs_input_grad[0] else None
        return own, _Form.apply(values, change, vectors, ctx.held), None, None

    @staticmethod
    def jvp(ctx: Any, change: Tensor | None, weights_change: Tensor | None, *_: None) -> Any:
        values, weights, vectors = ctx.saved_tensors
        parts = [] if change is None else [_Turned.apply(values, weights, change, vectors, ctx.held)]
        parts += [] if weights_change is None else [_Gradient.apply(values, weights_change, vectors, ctx.held)]
        return sum(parts[1:], parts[0])


@one_by_one
class _Form(_Function):
    """`l^H C r`, with the vectors of A and another matrix C."""

    @staticmethod
    def forward(values: Tensor, change: Tensor, vectors: Tensor, held: _Held) -> Tensor:
        return held.forms(held.matrix(change), *held.spectrum.sides(held.matrix(values), vectors))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
        values, change, vectors = ctx.saved_tensors
        own = _Turned.apply(values, grad, change, vectors, ctx.held) if ctx.needs_input_grad[0] else None
        return own, _Gradient.apply(values, grad, vectors, ctx.held), None, None

    @staticmethod
    def jvp(ctx: Any, values_change: Tensor | None, change: Tensor | None, *_: None) -> Any:
        values, other, vectors = ctx.saved_tensors
        parts = [] if values_change is None else [_Turning.apply(values, other, values_change, vectors, ctx.held)]
        parts += [] if change is None else [_Form.apply(values, change, vectors, ctx.held)]
        return sum(parts[1:], parts[0])


class _Last(_Function):
    """A function that has no derivative, as third ones of values would need it."""

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise ls.UnsupportedError(
            f"{ctx.held.spectrum.name}: third derivatives of values are asked for; they have two, so let no graph be "
            "made of the second (create_graph=True)"
        )

    jvp = backward


@one_by_one
class _Turned(_Last):
    """The gradient of the weighted sum of `l^H C r` by A."""

    @staticmethod
    def forward(values: Tensor, weights: Tensor, change: Tensor, vectors: Tensor, held: _Held) -> Tensor:
        A = held.matrix(values)
        left, right = held.spectrum.sides(A, vectors)
        p, q = held.spectrum.respond(A, held.matrix(change), vectors, weights)
        return held.outer(p, right) + held.outer(left, q)


@one_by_one
class _Turning(_Last):
    """The change of `l^H C r` where A changes."""

    @staticmethod
    def forward(values: Tensor, other: Tensor, change: Tensor, vectors: Tensor, held: _Held) -> Tensor:
        A, by = held.matrix(values), held.matrix(change)
        left, right = held.spectrum.sides(A, vectors)
        p, q = held.spectrum.respond(A, held.matrix(other), vectors, vectors.new_ones(vectors.shape[1]))
        return held.forms(by, p, right) + held.forms(by, left, q)
