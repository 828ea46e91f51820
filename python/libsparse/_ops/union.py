"""Sums of two tensors, one of them or both sparse: compiled as a union, differentiated as a sampling at patterns."""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang import dtypes, operations
from libsparse._lang.errors import DtypeError, ShapeError, ToolchainError
from libsparse._lang.user_functions import Definition
from libsparse._runtime import dispatch, notes
from libsparse._runtime.problem import Einsum, Operand, Problem
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import alignment, contraction


def add(a: Operand, b: Operand) -> Operand:
    """`a + b`, entries where either has one, in the format of `a`.

    Raises:
        ShapeError: The shapes differ.
        DtypeError: An operand has no values.
    """
    if a.shape != b.shape:
        raise ShapeError(
            f"operand 0 ({a}) and operand 1 ({b}) differ in shape; sparse tensors are added only where shapes agree"
        )
    if a.data is None or b.data is None:
        raise DtypeError("a tensor that is only a pattern can't be added; give it values with with_values first")
    if a.sparsity is b.sparsity:
        return a.with_data(notes.apply(torch.add, a.data, b.data))
    dtype = torch.promote_types(a.dtype, b.dtype)
    return _computed(_Sum, _problem(a.sparsity.format, dtype), [a, b], dtype)


def add_dense(a: Operand, b: Operand, sign: str) -> Operand:
    """`a + b` or `a - b`, of which one is dense and broadcasts to the shape of the other: dense.

    Args:
        a: The first operand.
        b: The second one.
        sign: `"+"` or `"-"`.
    """
    shape = (b if a.pattern is None else a).shape
    letters = tuple(string.ascii_lowercase[: len(shape)])
    operands, inputs = [], []
    for operand in (a, b):
        if operand.pattern is None:
            run = [n == m for n, m in zip(operand.shape, shape[len(shape) - operand.ndim :], strict=True)]
            inputs.append(tuple(x for x, runs in zip(letters[len(shape) - operand.ndim :], run, strict=True) if runs))
            operands.append(Operand(None, operand.values[tuple(slice(None) if runs else 0 for runs in run)]))
        else:
            inputs.append(letters)
            operands.append(operand)
    dtype = torch.promote_types(a.dtype, b.dtype)
    problem = _dense_problem((inputs[0], inputs[1]), sign, dtype)
    return _computed(_Sum if sign == "+" else _Difference, problem, operands, dtype)


def _computed(node: type[_Sum], problem: Problem, operands: Sequence[Operand], dtype: torch.dtype) -> Operand:
    """A sum or difference; autograd follows it where it has to."""
    if tape.is_seen(operands):
        out, pattern = tape.compute(problem, contraction.unify(operands, dtype))
    elif tape.needed(operands):
        out, pattern = tape.follow(node, problem, contraction.unify(operands, dtype))
    else:
        out, pattern = dispatch.run(problem, operands)
    return Operand(pattern, out)


@functools.cache
def _dense_problem(inputs: tuple[tuple[str, ...], tuple[str, ...]], sign: str, dtype: torch.dtype) -> Problem:
    """A sum or difference of a sparse tensor and a dense one as a problem."""
    output = max(inputs, key=len)
    first, second = (",".join(letters) for letters in inputs)
    text = f"C({','.join(output)}) = A({first}) {sign} B({second})"
    return Problem(text, True, ("A", "B"), inputs, output, contraction.dense_format(len(output)), dtype=dtype)


@functools.cache
def _problem(format: Format, dtype: torch.dtype) -> Problem:
    """The sum of two tensors as a problem."""
    letters = tuple(string.ascii_lowercase[: len(format.levels)])
    indices = ",".join(letters)
    text = f"C({indices}) = A({indices}) + B({indices})"
    return Problem(text, True, ("A", "B"), (letters, letters), letters, format, dtype=dtype)


def apply(function: Callable[..., Tensor], a: Any, b: Any) -> tuple[Tensor, Pattern] | None:
    """A function of the elements of two tensors of one shape, by one kernel, entries where either has one.

    The values are those of zeros where an operand has no entry. None where the kernel might compute something else than
    torch, where a transform follows, and in the first calls on few entries: values that are brought to the union of the
    patterns serve any function, while each would be compiled.

    Args:
        function: That of torch.
        a: The first argument.
        b: The second one.
    """
    if not (isinstance(a, Operand) and isinstance(b, Operand)) or a.sparsity.traced or b.sparsity.traced:
        return None
    title = getattr(function, "__name__", "").strip("_")
    name = operations.ALIASES.get(title, title)
    if name not in _MERGED or not _merges(a, b):
        return None
    problem = _function_problem(name, a.sparsity.format, torch.bool if name in operations.LOGICAL else a.dtype)
    if a.sparsity.size + b.sparsity.size < alignment.MANY and not alignment.pays(problem):
        return None
    try:
        if name in _SHARES and tape.needed([a, b]):
            data, found = tape.follow(_Extremum, problem, [a, b])
        else:
            data, found = dispatch.run(problem, [a, b])
    except ToolchainError:  # there is no compiler, and torch can do it, too
        return None
    return None if found is None else (data, found)


_UNITES = frozenset({"add", "or", "bitwise_or", "max"})  # of truth values, a sum is a disjunction
_INTERSECTS = frozenset({"and", "bitwise_and", "min"})


def of_patterns(title: str, operands: Sequence[Operand]) -> Operand | None:
    """A function of two tensors of one shape that are only patterns, which is only a pattern; None of others.

    Args:
        title: The name of torch's function.
        operands: Its operands.
    """
    name = operations.ALIASES.get(title, title)
    if len(operands) != 2 or not (name in _UNITES or name in _INTERSECTS):
        return None
    a, b = operands
    plain = a.data is None and b.data is None and a.pattern is not None and b.pattern is not None
    if not plain or a.fill or b.fill or a.shape != b.shape or tape.is_seen(operands):
        return None
    if name in _UNITES:
        return Operand(alignment.union([a.sparsity, b.sparsity]), None)
    letters = tuple(string.ascii_lowercase[: a.ndim])
    _, pattern = contraction.contract(Einsum((letters, letters), letters, a.sparsity.format), operands)
    return Operand(pattern, None)


def over(below: Pattern, above: Pattern) -> tuple[Pattern, Tensor] | None:
    """The union of two patterns, and the place of each of its entries among those of both, one behind the other.

    Where both have an entry, it is that of `above`: its numbers are the greater ones, of which a kernel takes the
    greatest. None where kernels don't merge the format, and without a compiler.
    """
    format, first, second = below.format, below.size, above.size
    if format != above.format or format != format.writable or format.pads or below.block or below.traced:
        return None
    if first + second > dtypes.INT32_MAX or tape.is_seen([Operand(below, None)]):
        return None
    numbers = torch.arange(1, first + second + 1, dtype=torch.int32, device="cpu").split([first, second])
    operands = [Operand(pattern, n) for pattern, n in zip((below, above), numbers, strict=True)]
    try:
        found, pattern = dispatch.compute(_function_problem("max", format, torch.int32), operands)
    except ToolchainError:
        return None
    return None if pattern is None else (pattern, found.sub_(1))


# Functions that kernels compute as torch does.
_MERGED = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "max", "min"})


def _merges(a: Operand, b: Operand) -> bool:
    """Whether a kernel may merge two operands, neither of which has a fill value of its own."""
    plain = a.data is not None and b.data is not None and a.fill == b.fill == 0
    if not plain or a.dtype is not b.dtype or a.dtype not in _ORDERED or a.shape != b.shape or a.sparsity is b.sparsity:
        return False
    if tape.is_seen([a, b]) or tape.is_transformed([a, b]):
        return False
    format = a.sparsity.format
    return format == format.writable and not any(x.sparsity.format.pads or x.sparsity.block for x in (a, b))


_ORDERED = frozenset(dtype for dtype in dtypes.CODES if dtype != torch.bool and not dtype.is_complex)


@functools.lru_cache(maxsize=256)
def _function_problem(name: str, format: Format, dtype: torch.dtype) -> Problem:
    letters = tuple(string.ascii_lowercase[: len(format.levels)])
    indices = ",".join(letters)
    text = f"C({indices}) = {name}[0 | 1](A({indices}), B({indices}))"
    return Problem(text, True, ("A", "B"), (letters, letters), letters, format, dtype=dtype)


class _Sum(tape.Node):
    """A sum: the gradient of an operand is that of the result, where the operand has its values."""

    __slots__ = ()
    reads_operands = False

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        return [self._gradient(number, grad) if want else None for number, want in enumerate(wanted)]

    def _gradient(self, number: int, grad: Tensor) -> Tensor:
        pattern, letters, output = self.patterns[number], self.problem.inputs[number], self.problem.output
        if pattern is None:
            repeated = [dim for dim, letter in enumerate(output) if letter not in letters]
            return notes.apply(lambda g: g.sum(repeated), grad) if repeated else grad
        if self.pattern is not None:
            return alignment.gathered(grad, self.pattern, pattern)
        return pattern.spread(alignment.sampled(grad, pattern))


class _Difference(_Sum):
    """A difference: the gradient of the second operand is negative."""

    __slots__ = ()

    def _gradient(self, number: int, grad: Tensor) -> Tensor:
        return super()._gradient(number, notes.apply(torch.neg, grad) if number else grad)


class _Extremum(tape.Node):
    """The greater or lesser of two tensors: the gradient goes to it, and in halves to both where they are equal."""

    __slots__ = ()

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        return [self._gradient(number, datas, grad) if want else None for number, want in enumerate(wanted)]

    def _gradient(self, number: int, datas: Sequence[Tensor], grad: Tensor) -> Tensor:
        pattern, other, result = self.patterns[number], self.patterns[1 - number], self.pattern
        assert pattern is not None
        assert other is not None
        assert result is not None
        own, beside = datas[number].detach(), alignment.gathered(datas[1 - number].detach(), other, pattern)
        operands = [Operand(pattern, data) for data in (own, beside, alignment.gathered(grad, result, pattern))]
        data, found = tape.compute(_share_problem(self.problem, pattern.format, grad.dtype), operands)
        assert found is not None
        return pattern.resample(data, found)


# The share of an element in the gradient: as torch has it, also of NaN.
_SHARES = {
    name: Definition("share", ("x", "y", "z"), (("every", f"where({loses}(x, y), 0, where(eq(x, y), z / 2, z))"),))
    for name, loses in (("max", "lt"), ("min", "gt"))
}


@functools.lru_cache(maxsize=256)
def _share_problem(problem: Problem, format: Format, dtype: torch.dtype) -> Problem:
    """The shares of A in the gradient of the greater or lesser of A and B, at the entries of A."""
    function = next(function for name, function in _SHARES.items() if f"= {name}[" in problem.text)
    a, b, g, out = (f"{letter}({','.join(problem.output)})" for letter in "ABGS")
    text, inputs = f"{out} = share({a}, {b}, {g})", (problem.output,) * 3
    functions = (function,)
    return Problem(
        text, True, ("A", "B", "G"), inputs, problem.output, format, pattern_of=0, dtype=dtype, functions=functions
    )
