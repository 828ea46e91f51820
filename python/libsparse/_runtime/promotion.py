"""Promotion of whole expressions, as torch promotes: tensors before tensors without dimensions before plain numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch

from libsparse._lang import assignment, dtypes, grammar, operations, user_functions
from libsparse._lang.dtypes import Number
from libsparse._lang.user_functions import Definition

from .problem import Operand


class _Kinds(NamedTuple):
    """The types in an expression: dtypes of tensors with and without dimensions, and numbers of each category."""

    tensors: torch.dtype | None = None
    scalars: torch.dtype | None = None
    numbers: tuple[Number, ...] = ()

    def dtype(self) -> torch.dtype | None:
        """The dtype that they promote to; None where there is nothing but patterns."""
        if self.tensors is None or self.scalars is None:
            found = self.tensors or self.scalars
        else:
            sample = torch.empty(1, dtype=self.tensors, device="cpu")
            found = dtypes.whole(torch.result_type(sample, torch.empty((), dtype=self.scalars, device="cpu")))
        return dtypes.weakly(found, self.numbers)

    def real(self) -> _Kinds:
        """The same with the parts of complex ones."""
        numbers = tuple(abs(n) if isinstance(n, complex) else n for n in self.numbers)
        tensors, scalars = self.tensors, self.scalars
        return _Kinds(tensors and tensors.to_real(), scalars and scalars.to_real(), numbers)


def common(operands: Iterable[Operand], numbers: Iterable[Number] = ()) -> torch.dtype | None:
    """The dtype that operands and plain numbers promote to; None for patterns alone."""
    operands, numbers = list(operands), tuple(numbers)
    found = {o.data.dtype for o in operands if o.data is not None}
    if len(found) == 1 and not numbers:
        return found.pop()
    return _merge([*(_of(operand) for operand in operands), _Kinds(numbers=numbers)]).dtype()


def floats(reduce: str, combine: str) -> tuple[Number, ...]:
    """The numbers that a reduction and a combination add: 1.0 where they make floating values of integers."""
    return (1.0,) if reduce == "mean" or operations.is_floating(combine) else ()


def of_assignment(
    text: str, given: Mapping[str, Operand], functions: tuple[Definition, ...] = (), numbers: tuple[Number, ...] = ()
) -> torch.dtype | None:
    """The dtype of the right side of an assignment; None for patterns alone.

    Args:
        text: The assignment.
        given: The operands by name.
        functions: The user's functions that it calls.
        numbers: Literals beside those of the text.
    """
    return _of_assignment(text, tuple((name, _of(operand)) for name, operand in given.items()), functions, numbers)


@functools.lru_cache(maxsize=1024)
def _of_assignment(
    text: str, given: tuple[tuple[str, _Kinds], ...], functions: tuple[Definition, ...], numbers: tuple[Number, ...]
) -> torch.dtype | None:
    (statement,) = grammar.parse(text, tuple(definition.name for definition in functions))
    found = _Typing(functions).kinds(statement.value, dict(given))
    return _merge([found, _Kinds(numbers=numbers)]).dtype()


def _of(operand: Operand) -> _Kinds:
    if operand.data is None:
        return _Kinds()
    dtype = operand.data.dtype
    return _Kinds(dtype) if operand.shape else _Kinds(scalars=dtype)


def _merge(kinds: Iterable[_Kinds]) -> _Kinds:
    found = list(kinds)
    return _Kinds(
        dtypes.promote(k.tensors for k in found if k.tensors is not None),
        dtypes.promote(k.scalars for k in found if k.scalars is not None),
        tuple({(type(n), n): n for k in found for n in k.numbers}.values()),
    )


class _Typing:
    """The types of expressions, with the user's functions that they call."""

    def __init__(self, functions: tuple[Definition, ...]) -> None:
        self._functions = {definition.name: definition for definition in functions}
        self._known: dict[tuple[str, tuple[_Kinds, ...]], _Kinds] = {}

    def kinds(self, expr: assignment.Expr, given: Mapping[str, _Kinds]) -> _Kinds:
        """From the leaves up, without recursion: sums may have thousands of terms."""
        waiting: list[_Kinds] = []
        for node in reversed(list(assignment.walk(expr))):
            if isinstance(node, assignment.Call):
                waiting.append(self._call(node.op, tuple([waiting.pop() for _ in node.args])))
            else:
                waiting.append(_leaf(node, given))
        return waiting.pop()

    def _call(self, op: str, args: tuple[_Kinds, ...]) -> _Kinds:
        if op in self._functions:
            return self._defined(self._functions[op], args)
        kinds = _merge(args)
        if operations.is_floating(op):
            kinds = kinds._replace(numbers=(*kinds.numbers, 1.0))
        return kinds.real() if op in operations.PARTS else kinds

    def _defined(self, definition: Definition, args: tuple[_Kinds, ...]) -> _Kinds:
        """The types of all bodies of a function: a result has one dtype wherever it is."""
        if (definition.name, args) not in self._known:
            given = dict(zip(definition.params, args, strict=False))  # the compiler says where arguments are missing
            bodies = [user_functions.body(body, self._functions) for _, body in definition.cases]
            self._known[definition.name, args] = _merge(self.kinds(body, given) for body in bodies)
        return self._known[definition.name, args]


def _leaf(node: assignment.Access | assignment.Number, given: Mapping[str, _Kinds]) -> _Kinds:
    if isinstance(node, assignment.Number):
        return _Kinds(numbers=(node.value,))
    return given.get(node.name, _Kinds())  # where it is not given it is an index variable as a value
