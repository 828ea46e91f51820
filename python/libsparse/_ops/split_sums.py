"""Sums of terms with values where nothing is stored: the part that nothing sparse decides is taken out of each.

The sum of exp(A(i,j)) over j is that of exp(A(i,j)) - 1 over the entries of A, plus how many j there are. Sums that are
written `sum(...)` are split, too, each over the indices that nothing else has; those inside of functions of a term are
steps of their own, so that the term is one of an operand beside them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeGuard

from libsparse._lang import assignment, constants, operations
from libsparse._lang.assignment import Access, Call, Expr, Number
from libsparse._lang.constants import MISSING, Outside, Value
from libsparse._lang.user_functions import Definition


class Sums:
    """The sums of a right side, which share names.

    Attributes:
        counts: The indices whose extents are multiplied, by the name of the operand for their product.
        steps: Sums to be computed first, in this order.
    """

    def __init__(
        self, value: Expr, sparse: Sequence[str], given: Mapping[str, Any], functions: Mapping[str, Definition]
    ) -> None:
        """Take a right side, the names of sparse operands, what is known of names, and functions."""
        self._sparse, self._given, self._functions = sparse, given, functions
        self._taken = {node.name for node in assignment.walk(value) if isinstance(node, Access)}
        self._taken |= {index for node in assignment.walk(value) if isinstance(node, Access) for index in node.indices}
        self.counts: dict[str, tuple[str, ...]] = {}
        self.steps: list[tuple[Access, Expr]] = []

    def written(self, value: Expr, kept: set[str]) -> Expr:
        """A right side whose sums that are written `sum(...)` are split; the left side has the indices `kept`."""
        for node in [*assignment.walk(value, into_sums=False)]:
            if _is_sum(node):
                inner = node.args[0]
                split = self.split(inner, kept | _beside(value, node))
                if split is not inner:
                    value = _put(value, node, Call("sum", (split,)))
        return value

    def split(self, node: Expr, kept: set[str]) -> Expr:
        """A sum over the indices besides `kept`, with its terms split."""
        calls = []
        while isinstance(node, Call) and node.op in ("+", "-", "neg") and not node.region:
            calls.append(node)
            node = node.args[0]
        node = self._term(node, kept)
        for call in reversed(calls):
            node = _with(call, (node, *[self.split(arg, kept) for arg in call.args[1:]]))
        return node

    def _term(self, term: Expr, kept: set[str]) -> Expr:
        """A term of a sum; one that has a value where nothing is stored as two, the second without sparse operands."""
        written, begun, counts = term, len(self.steps), dict(self.counts)
        if assignment.indices(term) <= kept:
            return term
        term = self._without_sums(term, kept)
        indices = assignment.indices(term)
        accesses = [node for node in assignment.walk(term) if isinstance(node, Access)]
        stored = list(dict.fromkeys(access for access in accesses if access.name in self._sparse))
        part, beside = self._stored_part(term, stored)
        found = constants.outside(part, self._given, self._functions)
        simple = not any(access.windows or access.name in indices for access in accesses) and _summed_whole(term, kept)
        same = all(set(access.indices) == assignment.indices(part) for access in stored)
        splits = simple and same and bool(stored) and found[id(part)] is not MISSING
        apart = _without_sparse(part, found) if splits else None
        if apart is None or not _summed_whole(rest := _times(apart, beside), kept):
            self.steps, self.counts = self.steps[:begun], counts
            return written
        if apart in (Number(0), Number(0.0)):
            return _times(union(part, stored, self._functions), beside)
        inside = _times(union(Call("-", (part, apart)), stored, self._functions), beside)
        carried = assignment.indices(rest)
        missing = indices - kept - carried
        if not carried <= kept:  # else one loop nest would visit every place for both terms
            rest = self._step("rest", carried & kept, rest)
        return Call("+", (inside, Call("*", (rest, self._count(missing))) if missing else rest))

    def _stored_part(self, term: Expr, stored: Sequence[Access]) -> tuple[Expr, list[Expr]]:
        """The factors of a term that sparse operands decide, and the others where these have indices of their own."""
        factors: list[Expr] = []
        node = term
        while isinstance(node, Call) and node.op == "*" and not node.region:
            factors.insert(0, node.args[1])
            node = node.args[0]
        factors.insert(0, node)
        names = {access.name for access in stored}
        mine = [any(isinstance(n, Access) and n.name in names for n in assignment.walk(factor)) for factor in factors]
        if not any(mine) or all(mine) or all(set(access.indices) == assignment.indices(term) for access in stored):
            return term, []
        own = [factor for factor, is_mine in zip(factors, mine, strict=True) if is_mine]
        return _times(own[0], own[1:]), [factor for factor, is_mine in zip(factors, mine, strict=True) if not is_mine]

    def _without_sums(self, term: Expr, kept: set[str]) -> Expr:
        """A term with operands, which steps compute, for sums of one dimension at most inside of its functions."""
        for node in [*assignment.walk(term, into_sums=False)]:
            if _is_sum(node) and _counts_as_zero(term, node):
                inner, beside = node.args[0], kept | _beside(term, node)
                indices = assignment.indices(inner)
                free = indices & beside
                if len(free) <= 1 and free < indices:
                    term = _put(term, node, self._step("total", free, self.split(inner, beside)))
        return term

    def _step(self, name: str, indices: set[str], value: Expr) -> Access:
        """An operand for a sum that is computed first."""
        known = {*self._taken, *self.counts, *[step.name for step, _ in self.steps]}
        step = Access(assignment.fresh(name, known), tuple(sorted(indices)))
        self.steps.append((step, value))
        return step

    def _count(self, indices: set[str]) -> Access:
        """An operand for the number of values that indices have."""
        name = assignment.fresh("count", {*self._taken, *self.counts})
        self.counts[name] = tuple(sorted(indices))
        return Access(name)


def _times(value: Expr, factors: Sequence[Expr]) -> Expr:
    for factor in factors:
        value = Call("*", (value, factor))
    return value


def _is_sum(node: Expr) -> TypeGuard[Call]:
    return isinstance(node, Call) and node.op == "sum" and not node.region


def _beside(value: Expr, part: Expr) -> set[str]:
    """The indices that an expression has outside of a part of it."""
    all_of, own = (
        Counter(i for node in assignment.walk(expr) if isinstance(node, Access) for i in node.indices)
        for expr in (value, part)
    )
    return {*(all_of - own)}


def _put(value: Expr, part: Expr, other: Expr) -> Expr:
    """An expression with another one in place of a part of it; what has no such part stays the same object."""
    calls = []
    while value is not part and isinstance(value, Call):  # sums are deep to the left
        calls.append(value)
        value = value.args[0]
    result = other if value is part else value
    for call in reversed(calls):
        result = _with(call, (result, *[_put(arg, part, other) for arg in call.args[1:]]))
    return result


def _with(call: Call, args: tuple[Expr, ...]) -> Call:
    same = all(new is old for new, old in zip(args, call.args, strict=True))
    return call if same else call._replace(args=args)


def _counts_as_zero(term: Expr, part: Expr) -> bool:
    """Whether a part of a term may be 0 where it has no value: it is not divided by, nor is there a region above it."""
    node = term
    while node is not part:
        if not isinstance(node, Call) or node.region:
            return False
        place = next(n for n, arg in enumerate(node.args) if any(below is part for below in assignment.walk(arg)))
        if node.op in ("/", "div") and (place == 1 or not isinstance(node.args[1], Number) or not node.args[1].value):
            return False
        node = node.args[place]
    return True


def union(value: Expr, stored: Sequence[Access], functions: Collection[str]) -> Expr:
    """An expression that has a value where one of some operands stores an entry; where it had none before, 0."""
    entries: Expr = stored[0]
    for access in stored[1:]:
        entries = Call("+", (entries, access))
    calls = [node for node in assignment.walk(value) if isinstance(node, Call)]
    # More entries take no value away, unless a region says so: the value is there wherever it is without entries.
    always = not any(call.region or call.op in functions for call in calls)
    return Call("first", (value, entries), "0 & 1" if always else "1")


def _summed_whole(term: Expr, kept: set[str]) -> bool:
    """Whether no part of a term is summed before the term is.

    Factors distribute over additive terms, which are summed by themselves where they have different indices; what is
    inside of a function is summed where it is written `sum(...)`.
    """
    waiting = [term]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Call):
            continue
        if node.region or node.op not in ("+", "-", "*", "/", "neg"):
            if any(isinstance(part, Call) and part.op == "sum" for part in assignment.walk(node)):
                return False
            continue
        if node.op in ("+", "-") and len({frozenset(assignment.indices(arg) - kept) for arg in node.args}) > 1:
            return False
        waiting.extend(node.args)
    return True


def _without_sparse(node: Expr, found: Mapping[int, Value]) -> Expr | None:
    """An expression where nothing sparse is stored; None where it is not finite."""
    value = found[id(node)]
    if value is MISSING:
        return Number(0)
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if not isinstance(value, Outside):
        return Number(int(value) if isinstance(value, bool) else value)
    if not isinstance(node, Call):
        return node
    args = [_without_sparse(arg, found) for arg in node.args]
    if node.op in operations.SINGULAR and args[operations.SINGULAR[node.op]] in (Number(0), Number(0.0)):
        return None
    # Beside a number, an element would be summed first.
    if node.op == "+" and not node.region and Number(0) in args:
        return args[args[0] == Number(0)]
    if node.op == "-" and not node.region and args[1] == Number(0):
        return args[0]
    known = tuple([arg for arg in args if arg is not None])
    return node._replace(args=known) if len(known) == len(args) else None
