"""Formulas: integer expressions that the compiler hands over as JSON, evaluated on numbers or on whole arrays.

`libsparse/ir/formula.go` defines them: a number, a name, or a list of an operator, or of an array's name, and its
operands.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

Formula = int | str | list[Any]
_FACTOR: Final = -7046029254386353131  # 0x9E3779B97F4A7C15 as int64: Fibonacci hashing


def compiled(formula: Formula) -> Callable[[Mapping[str, Any]], Any]:
    """A function of what the names stand for: ints, tensors of one length, and arrays that are indexed.

    It returns an int, or an int64 or bool tensor where a name stands for one.
    """
    if isinstance(formula, int):
        return lambda _: formula
    if isinstance(formula, str):
        return operator.itemgetter(formula)
    head, *rest = formula
    operands = [compiled(operand) for operand in rest]
    apply = _OPERATORS.get(head)
    if apply is None:
        (index,) = operands
        return lambda names: _element(names[head], index(names))
    if len(operands) == 2:
        left, right = operands
        return lambda names: apply(left(names), right(names))
    return lambda names: apply(*(operand(names) for operand in operands))


def of_words(formula: Formula) -> Callable[[Sequence[int]], int] | None:
    """A function of the words of a block alone, of which `slot3` names word 3; None where a formula reads arrays."""
    if isinstance(formula, int):
        return lambda _: formula
    if isinstance(formula, str):
        return operator.itemgetter(int(formula.removeprefix("slot")))
    head, *rest = formula
    apply, operands = _OPERATORS.get(head), [of_words(operand) for operand in rest]
    if apply is None or head == "hash" or len(operands) != 2:
        return None
    left, right = operands
    if left is None or right is None:
        return None
    if head == "*" and rest[0] == 1:
        return right
    if isinstance(rest[1], int):
        number = rest[1]
        return lambda block: int(apply(left(block), number))
    return lambda block: int(apply(left(block), right(block)))


class Deferred:
    """The length of an array, made of its formula when it is asked for, which that of a dense result never is."""

    __slots__ = ("_formula", "_function", "_made", "_of_words")

    def __init__(self, formula: Formula) -> None:
        self._formula, self._made = formula, False
        self._function: Callable[[Mapping[str, Any]], Any] | None = None
        self._of_words: Callable[[Sequence[int]], int] | None = None

    def of_slot(self) -> tuple[int, int] | None:
        """A word of a block and a number whose sum this is, as `["+", ["*", 1, "slot1"], 1]`; None for others.

        The word is -1 where there is none.
        """
        formula, addend = self._formula, 0
        if isinstance(formula, list) and formula[0] == "+" and isinstance(formula[2], int):
            _, formula, addend = formula
        if isinstance(formula, list) and formula[:2] == ["*", 1]:
            formula = formula[2]
        if isinstance(formula, int):
            return -1, formula + addend
        return (int(formula.removeprefix("slot")), addend) if isinstance(formula, str) else None

    def __call__(self, block: Sequence[int], names: Callable[[], Mapping[str, Any]]) -> int:
        """The value of the formula, of the words of a block, or where it reads arrays, of names."""
        if not self._made:
            self._of_words = of_words(self._formula)
            self._function = compiled(self._formula) if self._of_words is None else None
            self._made = True
        if self._of_words is not None:
            return self._of_words(block)
        assert self._function is not None
        return int(self._function(names()))


def _element(array: Tensor, at: int | Tensor) -> int | Tensor:
    return array[at].to(torch.int64) if isinstance(at, Tensor) else int(array[at])


def _of_tensors(
    on_numbers: Callable[[Any, Any], Any], on_tensors: Callable[[Tensor, Tensor], Tensor]
) -> Callable[[Any, Any], Any]:
    def apply(x: Any, y: Any) -> Any:
        if isinstance(x, Tensor) or isinstance(y, Tensor):
            return on_tensors(_tensor(x), _tensor(y))
        return on_numbers(x, y)

    return apply


def _tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else torch.tensor(value, device="cpu")


def _hash(key: Tensor, size: Tensor) -> Tensor:
    """The place of each key in a table whose size is a power of two; 0 where the table has one place or none."""
    bits = torch.log2(size.clamp(min=2).to(torch.float64)).to(torch.int64)
    return ((key * _FACTOR) >> (64 - bits)) & (size - 1).clamp(min=0)


def _select(condition: Any, then: Any, otherwise: Any) -> Any:
    if isinstance(condition, Tensor):
        return torch.where(condition, then, otherwise)
    return then if condition else otherwise


_OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "min": _of_tensors(min, torch.minimum),
    "max": _of_tensors(max, torch.maximum),
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&&": operator.and_,
    "||": operator.or_,
    "hash": _hash,
    "select": _select,
}
