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
from libsparse._runtime import dispatch, likes, notes
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


def apply(function: Callable[..., Tensor], *operands: Any) -> tuple[Tensor, Pattern] | None:
    """A function of the elements of tensors of one shape, by one kernel, entries where any has one.

    The values are those of zeros where an operand has no entry. None where the kernel might compute something else than
    torch, where a transform follows, and in the first calls on few entries: values that are brought to the union of the
    patterns serve any function, while each would be compiled.

    Args:
        function: That of torch.
        operands: Its arguments.
    """
    if any([not isinstance(operand, Operand) or operand.sparsity.traced for operand in operands]):
        return None
    title = getattr(function, "__name__", "").strip("_")
    name = operations.ALIASES.get(title, title)
    if len(operands) != _MERGED.get(name) or not _merges(name, operands):
        return None
    dtype = torch.bool if name in operations.LOGICAL else operands[-1].dtype
    problem = _function_problem(name, operands[0].sparsity.format, dtype)
    if sum([operand.sparsity.size for operand in operands]) < alignment.MANY and not likes.pays(problem):
        return None
    try:
        if name in _SHARES and tape.needed(operands):
            data, found = tape.follow(_NODES[name], problem, operands)
        else:
            data, found = dispatch.run(problem, operands)
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


_OF_TRUTHS = frozenset({"and", "or", "xor"})
# Functions that kernels compute as torch does, and how many arguments they take.
_MERGED = {**dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "max", "min", *_OF_TRUTHS), 2), "where": 3}


def _merges(name: str, operands: Sequence[Operand]) -> bool:
    """Whether a kernel may merge operands, none of which has a fill value of its own."""
    first, *others = operands
    if any([o.data is None or o.fill != 0 or o.shape != first.shape for o in operands]):
        return False
    compared = others if name == "where" else operands  # dtypes are those of values, beside a condition
    known = _TRUTHS if name in _OF_TRUTHS else _ORDERED
    alike = compared[0].dtype in known and all([o.dtype is compared[0].dtype for o in compared])
    if (
        not alike
        or (name == "where" and first.dtype != torch.bool)
        or all([o.pattern is first.pattern for o in others])
    ):
        return False
    if tape.is_seen(operands) or tape.is_transformed(operands):
        return False
    format = first.sparsity.format
    return format == format.writable and not any(x.sparsity.format.pads or x.sparsity.block for x in operands)


_TRUTHS = frozenset({torch.bool})
_ORDERED = frozenset(dtype for dtype in dtypes.CODES if dtype != torch.bool and not dtype.is_complex)


@functools.lru_cache(maxsize=256)
def _function_problem(name: str, format: Format, dtype: torch.dtype) -> Problem:
    letters = tuple(string.ascii_lowercase[: len(format.levels)])
    indices, names = ",".join(letters), tuple("ABX"[: _MERGED[name]])
    arguments = ", ".join(f"{operand}({indices})" for operand in names)
    text = f"C({indices}) = {name}[{' | '.join(map(str, range(len(names))))}]({arguments})"
    return Problem(text, True, names, (letters,) * len(names), letters, format, dtype=dtype)


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


class _Function(tape.Node):
    """A function of which the gradient of each argument is one of elements at the entries of that."""

    __slots__ = ("_name",)

    def __init__(self, name: str, problem: Problem, patterns: Sequence[Pattern | None]) -> None:
        super().__init__(problem, patterns)
        self._name = name

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        return [self._gradient(number, datas, grad) if want else None for number, want in enumerate(wanted)]

    def _gradient(self, number: int, datas: Sequence[Tensor], grad: Tensor) -> Tensor:
        pattern, result = self.patterns[number], self.pattern
        assert pattern is not None
        assert result is not None
        reads, function = _SHARES[self._name][number]
        operands = []
        for n in reads:
            other, data = self.patterns[n], datas[n].detach()
            assert other is not None
            operands.append(Operand(pattern, alignment.gathered(data, other, pattern)))
        operands.append(Operand(pattern, alignment.gathered(grad, result, pattern)))
        data, found = tape.compute(_share_problem(function, pattern.format, grad.dtype), operands)
        assert found is not None
        return pattern.resample(data, found)


_Share = tuple[tuple[int, ...], Definition]


def _share(*reads: int, of: str) -> _Share:
    """What an argument has of the gradient: a function of x and y, the arguments that are read, and z, the gradient."""
    return reads, Definition("share", (*("x", "y")[: len(reads)], "z"), (("every", of),))


def _shares_of_extrema(loses: str) -> tuple[_Share, ...]:
    of = f"where({loses}(x, y), 0, where(eq(x, y), z / 2, z))"
    return _share(0, 1, of=of), _share(1, 0, of=of)


# As torch has them, also of NaN and of infinite gradients; a condition has none.
_SHARES: dict[str, tuple[_Share, ...]] = {
    "max": _shares_of_extrema("lt"),
    "min": _shares_of_extrema("gt"),
    "where": (_share(of="0"), _share(0, of="where(x, z, 0)"), _share(0, of="where(x, 0, z)")),
}


_NODES = {name: functools.partial(_Function, name) for name in _SHARES}  # one of each, by which recipes are compared


@functools.lru_cache(maxsize=256)
def _share_problem(function: Definition, format: Format, dtype: torch.dtype) -> Problem:
    """What an argument has of a gradient as a problem, all of which has the entries of the argument."""
    letters = tuple(string.ascii_lowercase[: len(format.levels)])
    indices = ",".join(letters)
    text = f"S({indices}) = share({', '.join(f'{name}({indices})' for name in function.params)})"
    names, inputs = function.params, (letters,) * len(function.params)
    return Problem(text, True, names, inputs, letters, format, pattern_of=0, dtype=dtype, functions=(function,))
