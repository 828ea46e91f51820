"""`evaluate`: assignments in TACO's notation, with operands by name."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from libsparse._autograd import tape
from libsparse._lang import assignment, dtypes, grammar, operations, user_functions
from libsparse._lang.assignment import Access, Call, Expr, Statement
from libsparse._lang.errors import FormatError, ShapeError, UnsupportedError
from libsparse._runtime import dispatch, promotion
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.format import Format
from libsparse._tensor import sparse_tensor

from . import einsum, expression_gradients, windows


def evaluate(
    text: str,
    *,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    **operands: Any,
) -> Any:
    """Computes an assignment such as `"y(i) = alpha * A(i,j) * x(j) + b(i)"`, or several separated by semicolons.

    Indices that are only on the right are reduced, per additive term: summed, or by the operator of `+=`, `*=`, `min=`,
    `max=`, `mean=`, `|=`, `&=`, `^=`. Where the name on the left is an operand or an earlier result, such a reduction
    takes its old elements, those that are stored, as one more term; `-=` and `/=` need an old one. A later assignment
    reads what earlier ones made, and the result is that of the last. `|=`, `&=` and `^=` reduce truth values, as any
    and all do.

    Terms of a sum inside of a function that have different indices are summed there: `max(A(i,j) * x(j) + b(i), 0)` is
    relu(A x + b), and `exp(A(i,j) - 1)` exp of a sum, but `exp(A(i,j) - B(i,j))` is summed itself. To be sure of the
    sum of exp, name what is summed first: `e(i,j) = exp(A(i,j) - 1); y(i) = e(i,j)`.

    `A(i(2:10:4),j)` is a part of a dimension, and so is `A(i([0,3,5]),j)`. On the left, `y(i(2:4)) = x(i)` is `y` with
    that part of it replaced; `y` has to be an operand or an earlier result. Nothing that is passed is modified.

    Operands and numbers are promoted as torch promotes them; `/`, `mean` and functions such as `exp` make floats of
    integers, which `//`, `%`, `fmod` and `pow` leave whole. `abs`, `real` and `imag` real values of complex ones.

    Functions have torch's names. A product and a function of one argument have a value where all arguments do, a
    sum, a comparison, min and max where some is, a quotient where the left one is; what isn't counts as zero there.
    `first[0 & ~1](a(i), b(i))` gives a call another region, over its numbered arguments; see `register`.

    Args:
        text: The assignments.
        format: The format of the result; None lets the compiler choose.
        reduce: The reduction of a plain `=`, as in `einsum`.
        combine: What `*` means, as in `einsum`.
        operands: The tensors and numbers by name.

    Raises:
        FormatError: The text is malformed, or a name is missing or unused.
        ShapeError: Extents do not agree.
        DivisionByZeroError: `//`, `%` or `fmod` of an integer and zero, in a term that exists; `where` computes only
            what it chooses.
    """
    *_, (_, _, _, value) = _results(text, operands, format, reduce, combine)
    return value


def problems(
    text: str, operands: Mapping[str, Any], format: str | Format | None, reduce: str, combine: str
) -> Iterator[tuple[Problem, Sequence[Operand]]]:
    """The problem for the right side of each assignment, and its operands; earlier ones are computed on the way."""
    for _, asked, plain, _ in _results(text, operands, format, reduce, combine, compute_last=False):
        yield asked, plain


def problem_of(
    text: str, operands: Mapping[str, Any], format: str | Format | None, reduce: str, combine: str
) -> tuple[Problem, Sequence[Operand]]:
    """The problem for the last assignment, and its operands in the order in which it names them.

    Raises:
        UnsupportedError: There is more to it than a problem.
    """
    *_, (job, asked, plain, _) = _results(text, operands, format, reduce, combine, compute_last=False)
    if not job.alone:
        raise UnsupportedError(f"{text!r}: the old elements of {job.target.name!r} come after; assign to another name")
    return asked, plain


def _results(
    text: str,
    operands: Mapping[str, Any],
    format: str | Format | None,
    reduce: str,
    combine: str,
    *,
    compute_last: bool = True,
) -> Iterator[tuple[_Job, Problem, Sequence[Operand], Any]]:
    if "=" not in text:
        raise FormatError(f"evaluate {text!r}: expected an assignment such as 'y(i) = A(i,j) * x(j)'")
    reduce = einsum.checked(reduce, combine)
    program = grammar.parse(text, user_functions.names())
    known = dict(operands)
    read: set[str] = set()
    for statement in program:
        last = statement is program[-1]
        job = _Job(text, statement, known, reduce if last or _reduces(statement) else "sum", combine)
        asked, plain = job.problem(format if last else None)
        read |= job.read
        if last:
            _check_used(text, operands, read)
        value = job.finish(asked, plain, format if last else None) if compute_last or not last else None
        known[statement.target.name] = value
        yield job, asked, plain, value


def _check_used(text: str, operands: Mapping[str, Any], read: set[str]) -> None:
    unused = sorted(set(operands) - read)
    if unused:
        raise FormatError(f"evaluate {text!r}: {unused[0]!r} is given and not used")


def _reduces(statement: Statement) -> bool:
    """Whether an assignment has indices on the right only."""
    return not _indices(statement.value).issubset(statement.target.indices)


def _indices(value: Expr) -> set[str]:
    return {index for node in assignment.walk(value) if isinstance(node, Access) for index in node.indices}


class _Job:
    """One assignment with what is known before it."""

    def __init__(self, text: str, statement: Statement, known: Mapping[str, Any], reduce: str, combine: str) -> None:
        self.text = text
        self.target, sign, self.value = statement
        self.known = known
        self.combine = combine
        self.old = known.get(self.target.name)
        self.sign = operations.REDUCTIONS.get(sign, sign)
        self.reduce = self.sign if self.sign in einsum.REDUCTIONS else reduce
        self.placed = bool(self.target.windows)
        self._check()
        # What can be part of the expression is: the old elements are a term of a sum.
        if self.old is not None and not self.placed and sign in ("+", "-"):
            self.value = Call(sign, (self.target, self.value))
            self.sign, self.reduce = "", "sum"
        self.alone = not self.placed and not (self.sign and self.old is not None)
        if not self.alone and not _indices(self.value).issuperset(self.target.indices):
            # The old elements say how long the indices are; where there is none, nothing is to be multiplied.
            self.value = Call("first", (self.value, self.target), "0 & 1" if self.sign in ("prod", "/") else "0")
        names = {node.name for node in assignment.walk(self.value) if isinstance(node, Access)}
        self.read = names | ({self.target.name} if self.sign or self.placed else set())

    def _check(self) -> None:
        name, kind = self.target.name, f"{self.sign}="
        if self.old is None and self.placed:
            raise ShapeError(
                f"evaluate {self.text!r}: {assignment.text(self.target)} is a part of {name!r}, which is not given; "
                f"pass {name}=..., of which the rest stays as it is"
            )
        if self.old is None and self.sign in ("-", "/"):
            raise FormatError(f"evaluate {self.text!r}: {name!r} has no old elements for {kind!r}; pass {name}=...")
        if self.old is not None and self.sign == "mean":
            raise FormatError(f"evaluate {self.text!r}: 'mean=' can't take old elements; assign it to another name")

    def problem(self, format: str | Format | None) -> tuple[Problem, Sequence[Operand]]:
        """The problem for the right side."""
        target = self.target._replace(windows=())
        if not self.alone:
            # What has no term is to leave the old elements as they are.
            read = [self.known.get(name) for name in self.read - {target.name}]
            sparse = any(isinstance(operand, sparse_tensor.SparseTensor) for operand in read)
            kept = isinstance(self.old, sparse_tensor.SparseTensor) and self.sign and target.indices and sparse
            format = "s" * len(target.indices) if kept else None
        return prepare(self.text, target, self.value, self.known, format, self.reduce, self.combine)

    def finish(self, asked: Problem, plain: Sequence[Operand], format: str | Format | None) -> Any:
        """The value of the assignment."""
        data, pattern = compute(asked, plain)
        # What has no term leaves old elements as they are.
        fill = 0 if self.sign and not self.alone else dtypes.identity(asked.reduce, data.dtype)
        made = einsum.finish(data, pattern, fill)
        if self.placed:
            return windows.place(self.text, self.old, self.target, made, self.sign)
        if self.alone:
            return made
        return windows.update(self.sign, self.old, made, self.target.indices, format)


def prepare(
    text: str,
    target: Access,
    value: Expr,
    operands: Mapping[str, Any],
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    *,
    definitions: Mapping[str, user_functions.Definition] | None = None,
    pattern_of: str | None = None,
    shape: tuple[int, ...] | None = None,
) -> tuple[Problem, Sequence[Operand]]:
    """The problem of one assignment, and its operands in the order in which it reads them.

    Args:
        text: What messages call it.
        target: The left side; if it has the name of an operand it gets another one.
        value: The right side.
        operands: What is known by name; names that are not read are ignored.
        format: The format of the result.
        reduce: The reduction.
        combine: What `*` means.
        definitions: Functions beside the registered ones.
        pattern_of: The operand whose pattern the result has to have.
        shape: The shape of the result, if the target has windows.
    """
    extra = tuple((definitions or {}).values())
    reading = _read(text, target, value, frozenset(operands), extra, user_functions.version())
    target, found, written = reading.target, reading.found, reading.text
    neutral = reduce if _is_product(reading.value) else "sum"
    plain = einsum.to_operands([operands[reading.origin[name]] for name in found], tuple(found), neutral)
    if reading.partly:
        value, found, plain = windows.resolve(reading.value, found, plain)
        written = str(Statement(target, "", value))
    wish = None if format is None or not target.indices else Format(format).resolve(len(target.indices))
    parts = tuple(access.windows for access in found.values()) if reading.partly else ()
    asked = Problem(
        written,
        True,
        tuple(found),
        tuple(access.indices for access in found.values()),
        target.indices,
        wish,
        reduce,
        combine,
        None if pattern_of is None else tuple(found).index(pattern_of),
        promotion.of_assignment(
            reading.text,
            dict(zip(found, plain, strict=True)),
            reading.functions,
            promotion.floats(reduce, combine),
        ),
        windows=parts if any(parts) else (),
        shape=shape,
        functions=reading.functions,
    )
    extents = asked.extents(plain)
    missing = [index for index in target.indices if index not in extents]
    if missing:
        raise ShapeError(f"evaluate {text!r}: index {missing[0]!r} of the result is in no operand")
    return asked, plain


def _is_product(value: Expr) -> bool:
    """Whether an expression is an access, or several combined by `*`."""
    if isinstance(value, Call):
        return value.op == "*" and all(map(_is_product, value.args))
    return isinstance(value, Access)


class _Reading(NamedTuple):
    """What is known of an assignment from its text and the names of its operands.

    Attributes:
        target: The left side, with a name of its own.
        value: The right side, in which every operand is read once.
        text: Both.
        origin: The operand that each name stands for.
        found: The access of each name.
        partly: Whether there are windows or diagonals among them.
        functions: The functions that it calls.
    """

    target: Access
    value: Expr
    text: str
    origin: dict[str, str]
    found: dict[str, Access]
    partly: bool
    functions: tuple[user_functions.Definition, ...]


@functools.lru_cache(maxsize=1024)
def _read(
    text: str,
    target: Access,
    value: Expr,
    operands: frozenset[str],
    extra: tuple[user_functions.Definition, ...],
    registered: int,
) -> _Reading:
    del registered  # names the functions that there are
    seen = [node for node in assignment.walk(value) if isinstance(node, Access)]
    indices = {index for access in (*seen, target) for index in access.indices}
    for access in seen:  # without indices it may be an index variable as a value
        if access.name not in operands and (access.indices or access.name not in indices):
            raise FormatError(f"evaluate {text!r}: {access.name!r} is not given; pass it as {access.name}=...")
    value, origin = assignment.distinct(value, operands & {access.name for access in seen})
    found = {name: access for name, access in assignment.accesses(value).items() if name in origin}
    if target.name in found:
        target = target._replace(name=assignment.fresh(target.name, {*found, *indices}))
    partly = any(a.windows or len(set(a.indices)) < len(a.indices) for a in found.values())
    functions = user_functions.needed(user_functions.calls(value), {made.name: made for made in extra})
    return _Reading(target, value, str(Statement(target, "", value)), origin, found, partly, functions)


def compute(asked: Problem, operands: Sequence[Operand]) -> Any:
    """Computes a problem; autograd follows it where it has to."""
    return expression_gradients.apply(asked, operands) if tape.needed(operands) else dispatch.run(asked, operands)
