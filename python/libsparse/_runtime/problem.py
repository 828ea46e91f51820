"""Problems: one computation with its operands as plain data, the common currency of everything that calls kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from libsparse._lang import assignment, dtypes, grammar
from libsparse._lang.assignment import Part
from libsparse._lang.errors import ShapeError, UnsupportedError
from libsparse._lang.records import NamedTuple
from libsparse._lang.user_functions import Definition
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import notes

if TYPE_CHECKING:
    from libsparse._compiler import kernel

# Index names in the order the field likes to use them.
_LETTERS = "ijklmnopqrstuvwxyzabcdefghIJKLMNOPQRSTUVWXYZABCDEFGH"


class Operand(NamedTuple):
    """A tensor as operations take and return it: everything but the dress of a `torch.Tensor`.

    Attributes:
        pattern: Where it has entries; None for a dense tensor.
        data: Values of a sparse tensor (None: only a pattern), or the dense tensor.
        fill: The value of elements that are not stored.
    """

    pattern: Pattern | None
    data: Tensor | None
    fill: int | float = 0

    @property
    def shape(self) -> torch.Size:
        """The shape."""
        if self.pattern is not None:
            return self.pattern.shape
        assert self.data is not None
        return self.data.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the values; bool where there are none."""
        return torch.bool if self.data is None else self.data.dtype

    @property
    def values(self) -> Tensor:
        """The values of a sparse tensor, ones where it is only a pattern; or the dense tensor."""
        if self.data is not None:
            return self.data
        return notes.apply(_ones, self.sparsity.size)

    @property
    def sparsity(self) -> Pattern:
        """The pattern of an operand that is sparse."""
        assert self.pattern is not None
        return self.pattern

    def with_data(self, data: Tensor | None) -> Operand:
        """The same pattern and fill value with other values."""
        return Operand(self.pattern, data, self.fill)

    def need_zero_fill(self, subject: str) -> None:
        """Elements that are not stored are 0.

        Raises:
            UnsupportedError: They are something else; `subject` names the operation.
        """
        if self.fill != 0:
            kept = "to_dense(), or ls.SparseTensor(A.pattern, A.values())"
            if self.fill is True:  # as of an inverted mask, of which the stored entries are those that are false
                kept = "A & B with a pattern B, or ls.from_mask(A.to_dense())"
            raise UnsupportedError(
                f"{subject} takes elements that are not stored for 0; in this tensor ({self}) they are {self.fill}: "
                f"use {kept}"
            )

    def __str__(self) -> str:
        """Shape and format, for messages."""
        kind = "dense" if self.pattern is None else str(self.pattern.format)
        return f"shape {tuple(self.shape)}, format {kind}"


def _ones(count: int) -> Tensor:
    """The values of a tensor that is only a pattern."""
    return torch.ones(1, dtype=torch.bool, device="cpu").expand(count)


class Problem(NamedTuple):
    """A computation without its operands; hashable.

    Attributes:
        text: The einsum specification or the assignment.
        is_expr: Whether `text` is an assignment.
        names: The name of each operand for messages and the compiler.
        inputs: The indices of each operand.
        output: The indices of the result.
        output_format: The format of the result, None to let the compiler choose.
        reduce: How terms are reduced.
        combine: How factors are combined.
        pattern_of: The operand whose pattern the result has to have, None for none.
        dtype: The dtype of the result, None to promote those of the operands. Kernels convert values as they read them.
        schedule: Commands in place of the compiler's choices, "" for none.
        windows: The windows of each operand, () for one without; () if there are none at all.
        shape: The shape of a result that is written through windows, None of any other.
        functions: The definitions of the user's functions that `text` calls.
        temporary: Whether the result is one of a step that no user sees.
        step: Whether this is one step of several, which is not divided again.
        divided: Whether each step is to be a kernel of its own, as autograd needs it.
    """

    text: str
    is_expr: bool
    names: tuple[str, ...]
    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    output_format: Format | None = None
    reduce: str = "sum"
    combine: str = "mul"
    pattern_of: int | None = None
    dtype: torch.dtype | None = None
    schedule: str = ""
    windows: tuple[tuple[Part, ...], ...] = ()
    shape: tuple[int, ...] | None = None
    functions: tuple[Definition, ...] = ()
    temporary: bool = False
    step: bool = False
    divided: bool = False

    def title(self, number: int) -> str:
        """The name of an operand in messages."""
        if self.is_expr:
            return f"operand {self.names[number]!r}"
        return f"operand {number} ({''.join(self.inputs[number])!r})"

    def extents(self, operands: Sequence[Operand]) -> dict[str, int]:
        """The extent of every index.

        Raises:
            ShapeError: Operands disagree with each other or with the number of their indices.
        """
        found: dict[str, int] = {}
        for number, (indices, operand) in enumerate(zip(self.inputs, operands, strict=True)):
            shape = self._counted(number, operand) if self.windows else operand.shape
            if len(indices) != len(shape):
                raise ShapeError(
                    f"{self.title(number)} has {len(indices)} indices and {len(shape)} dimensions ({operand}); "
                    "give each dimension one index"
                )
            for index, extent in zip(indices, shape, strict=True):
                if found.setdefault(index, extent) != extent:
                    raise self._disagreement(index, number, extent, operands)
        return found

    def _disagreement(self, index: str, number: int, extent: int, operands: Sequence[Operand]) -> ShapeError:
        """The error for an operand in which an index has another extent than in one before it."""
        title = f"{self.title(number)} ({operands[number]}) has extent {extent} for index {index!r}"
        other = next(n for n, indices in enumerate(self.inputs) if index in indices)
        first = self._counted(other, operands[other])[self.inputs[other].index(index)]
        return ShapeError(
            f"{title}, but {self.title(other)} ({operands[other]}) has {first}; an index has one extent everywhere: "
            "check the shapes, or transpose an operand"
        )

    def result_shape(self, extents: dict[str, int]) -> tuple[int, ...]:
        """The shape of the result, given the extents of the indices."""
        return self.shape or tuple(extents[index] for index in self.output)

    def _counted(self, number: int, operand: Operand) -> Sequence[int]:
        """How many coordinates of each dimension of an operand its indices run over."""
        windows = self.windows[number] if self.windows else ()
        if not windows or len(windows) != operand.ndim:
            return operand.shape
        return [
            n if w is None else w.resolved(n, self.title(number)).extent
            for w, n in zip(windows, operand.shape, strict=True)
        ]


def of_step(step: kernel.Step, problem: Problem, *, last: bool) -> Problem:
    """One step of a problem, as a problem."""
    called = tuple(definition.name for definition in problem.functions)
    (statement,) = grammar.parse(step.expr, called)
    accesses = assignment.accesses(statement.value)
    windows = tuple(accesses[name].windows for name in step.operands)
    of = None
    if last and problem.pattern_of is not None and problem.names[problem.pattern_of] in step.operands:
        of = step.operands.index(problem.names[problem.pattern_of])
    output_format = problem.output_format if last else None
    if output_format is None and step.format:
        output_format = Format(step.format)
    return Problem(
        step.expr,
        True,
        step.operands,
        tuple(accesses[name].indices for name in step.operands),
        step.indices,
        output_format,
        pattern_of=of,
        dtype=dtypes.DTYPES[step.dtype],
        windows=windows if any(windows) else (),
        shape=problem.shape if last else None,
        functions=problem.functions,
        temporary=step.temporary,
        step=True,
    )


class Anew(NamedTuple):
    """Computes a problem with operands of any patterns; equal to what computes the same problem in the same way."""

    run: Callable[[Problem, Sequence[Operand]], Any]
    problem: Problem

    def __call__(self, operands: Sequence[Operand]) -> Any:
        """Compute it."""
        return self.run(self.problem, operands)


class Computed(NamedTuple):
    """A function of operands that no kernel computes; equal to what computes the same in the same way.

    Attributes:
        function: It takes the operands, then `given`, and returns dense elements.
        given: What doesn't depend on patterns.
        has_extents: Whether it depends on extents.
    """

    function: Callable[..., Tensor]
    given: tuple[Hashable, ...]
    has_extents: bool = False

    def anew(self) -> Computed:
        """What computes it of other patterns."""
        return self

    def __call__(self, operands: Sequence[Operand]) -> tuple[Tensor, None]:
        """Compute it."""
        return self.function(operands, *self.given), None


class Einsum(NamedTuple):
    """A reduction of combined operands over indices, without the operands; hashable.

    Attributes:
        inputs: The indices of each operand, none of them twice in one operand.
        output: The indices of the result.
        output_format: The format of the result, None to let the compiler choose.
        reduce: How terms are reduced.
        combine: How factors are combined.
        pattern_of: The operand whose pattern the result has to have.
        dtype: The dtype of the result, None to promote those of the operands.
    """

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    output_format: Format | None = None
    reduce: str = "sum"
    combine: str = "mul"
    pattern_of: int | None = None
    dtype: torch.dtype | None = None

    def problem(self) -> Problem:
        """The problem with these indices, which commands of a schedule name."""
        text = ",".join(map("".join, self.inputs)) + "->" + "".join(self.output)
        names = tuple(f"A{number}" for number in range(len(self.inputs)))
        return Problem(text, False, names, *self)


@functools.lru_cache(maxsize=4096)
def product(einsum: Einsum, implied: bool = False) -> Problem:
    """The problem of an einsum, its indices renamed in order of appearance so that spellings share kernels.

    It names no dtype where that is implied, because the operands promote to it anyway.
    """
    found = dict.fromkeys(index for term in einsum.inputs for index in term)
    if len(found) > len(_LETTERS):
        raise UnsupportedError(f"einsum: {len(found)} indices; up to {len(_LETTERS)} are supported")
    letters = dict(zip(found, _LETTERS, strict=False))
    terms = tuple(tuple(letters[index] for index in term) for term in einsum.inputs)
    output = tuple(letters[index] for index in einsum.output)
    return einsum._replace(inputs=terms, output=output, dtype=None if implied else einsum.dtype).problem()


def stored(pattern: Pattern, values: Tensor) -> Tensor:
    """Values as kernels read them.

    Raises:
        ShapeError: There are not as many as the pattern has entries: somebody resized them.
    """
    if values.numel() != pattern.size:
        raise ShapeError(f"values has {values.numel()} elements, the pattern stores {pattern.size} entries")
    if values.is_conj() or values.is_neg():
        values = values.resolve_conj().resolve_neg()
    return values if values.is_contiguous() else values.contiguous()


def of_product(pattern: Pattern, *given: Any) -> list[Operand]:
    """A matrix and a dense operand; given are values, if the matrix has some, the dense one, and how many threads."""
    *values, dense, _ = given
    return [Operand(pattern, values[0] if values else None), Operand(None, dense)]


def stored_values(operand: Operand) -> Tensor:
    """The values of a sparse operand that has some, as kernels read them."""
    assert operand.pattern is not None
    assert operand.data is not None
    return stored(operand.pattern, operand.data)


def dense_order(tensor: Tensor) -> tuple[int, ...]:
    """The order in which a kernel can read a dense tensor: that of its strides, or the identity after a copy."""
    identity = tuple(range(tensor.ndim))
    if tensor.is_contiguous():
        return identity
    strides = tensor.stride()
    order = tuple(sorted(identity, key=lambda d: -strides[d]))
    return order if tensor.permute(order).is_contiguous() else identity


def dense_text(order: Sequence[int]) -> str:
    """The format of a dense tensor that is stored in `order`."""
    letters = "d" * len(order)
    return letters if order == tuple(range(len(order))) else f"{letters}:{','.join(map(str, order))}"


def key(problem: Problem, operands: Sequence[Operand]) -> tuple[Any, ...]:
    """The key of a prepared call; the identity of patterns stands for everything about them."""
    parts: list[Any] = [problem]
    for pattern, data, _ in operands:
        if pattern is not None:
            parts.append((id(pattern), None if data is None else data.dtype))
        else:
            assert data is not None
            parts.append((data.dtype, data.shape, data.stride()))
    return tuple(parts)
