"""`explain`: the compiler's account of a computation, and how close its time comes to the machine's limit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch

from libsparse._compiler import native, request
from libsparse._lang.errors import DtypeError, FormatError, UnsupportedError
from libsparse._ops import contraction, einsum_reader, evaluate
from libsparse._runtime import dispatch, promotion, tuned
from libsparse._runtime.panels import Panels
from libsparse._runtime.problem import Operand, Problem, key, product
from libsparse._runtime.requests import is_few, to_request
from libsparse._storage import threads
from libsparse._storage.format import Format

from . import limits, pages

_SECTION = re.compile(r"^== (.*) ==$\n", re.MULTILINE)
_OPEN = {"call", "schedule", "time"}  # sections that a notebook shows at once


class Explanation(str):
    """The compiler's account; prints as text, shows as HTML in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        first, *rest = _SECTION.split(self)
        sections = [
            pages.section(name, text, opened=name in _OPEN) for name, text in zip(rest[::2], rest[1::2], strict=True)
        ]
        return pages.page([pages.block(first), *sections] if first.strip() else sections)

    def __repr__(self) -> str:
        """The text itself, so that a prompt shows it readably."""
        return str(self)


def explain(
    text: str | Callable[..., Any],
    *operands: Any,
    stage: str | None = None,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    measure: bool | None = None,
    **named: Any,
) -> Explanation:
    """Says how a computation is done: operands, formats, schedule, loops, C, and times.

    Of a function it says which operations `ls.compile` puts together, and why others are computed by themselves; the
    function is called once.

    Args:
        text: An einsum specification, or an assignment with operands by name; or a function, compiled or not.
        operands: The operands of an einsum, or the arguments of a function.
        stage: The name of one stage of the compiler; None for all, with facts about the operands and times.
        format: As in `einsum`.
        reduce: As in `einsum`.
        combine: As in `einsum`.
        measure: Whether to run it a few times; None does so where it has been run on these operands before.
        named: The operands of an assignment.

    Example:
        >>> A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
        >>> "forall" in ls.explain("ij,j->i", A, torch.ones(2), stage="concrete")
        True
    """
    if callable(text):
        from libsparse._fusion.report import report  # needed by functions only

        return Explanation(report(text, operands, named, stage))
    if not isinstance(text, str):
        raise DtypeError(
            f"explain: text is a {type(text).__name__}; expected an einsum such as 'ij,jk->ik', or a function"
        )
    if named or "=" in text:
        problems = evaluate.problems(text, named, format, reduce, combine)
    else:
        question, plain = contraction.fold(*einsum_reader.read(text, operands, format, reduce, combine))
        problems = iter([(product(question), plain)])
    return Explanation("\n".join(_account(problem, plain, stage, measure) for problem, plain in problems))


def _account(problem: Problem, operands: Sequence[Operand], stage: str | None, measure: bool | None) -> str:
    tuned = _as_called(problem, operands)
    if tuned is not problem:
        with suppress(UnsupportedError, FormatError):  # as calls do, which compute by the compiler's schedule then
            return _told(tuned, operands, stage, measure)
    return _told(problem, operands, stage, measure)


def _told(problem: Problem, operands: Sequence[Operand], stage: str | None, measure: bool | None) -> str:
    question = request.complete(to_request(problem, operands), "")
    if stage is not None:
        return native.explain_request(question, stage)
    account = native.explain_request(question, "")
    return f"== call ==\n{_call(problem, operands)}\n\n{account}\n== time ==\n{_time(problem, operands, measure)}\n"


def _as_called(problem: Problem, operands: Sequence[Operand]) -> Problem:
    """A problem with the schedule that calls use since measurements have shown it to be faster, if there is one."""
    if not problem.schedule and request.tuned():
        for same in (problem, problem._replace(dtype=None)):  # calls name no dtype that follows from the operands
            if (found := tuned.schedule(same, operands)) is not None:
                return problem._replace(schedule=found)
    return problem


def _call(problem: Problem, operands: Sequence[Operand]) -> str:
    lines = [problem.text]
    for name, operand in zip(problem.names, operands, strict=True):
        pattern, shape = operand.pattern, " x ".join(map(str, operand.shape)) or "a number"
        if pattern is None:
            lines.append(f"{name}: {shape}, dense, {operand.dtype}")
            continue
        kind = "a pattern without values" if operand.data is None else str(operand.dtype)
        share = pattern.nnz / max(math.prod(pattern.shape), 1)
        lines.append(f"{name}: {shape}, {pattern.format}, {kind}, {pattern.nnz} entries ({share:.3g})")
        if spread := str(pattern.statistics):
            lines.append(f"   {spread}")
        if kept := pattern.derived:
            lines.append(f"   derived and kept, {kept.bytes / 2**20:.3g} MiB: {', '.join(kept)}")
    prepared = _prepared(problem, operands)
    if prepared is not None and isinstance(prepared.variant, Panels):
        number, width = prepared.variant.divided
        lines.append(f"the rows of {problem.names[number]} go by panels of {width}, whose copies stay in a near cache")
    if is_few(problem, operands):
        lines.append("the first 3 calls with a pattern convert nothing, and add to the result all over it")
    return "\n".join([*lines, f"threads: at most {threads.count()}"])


def _time(problem: Problem, operands: Sequence[Operand], measure: bool | None) -> str:
    if not (_prepared(problem, operands) is not None if measure is None else measure):
        advice = "not measured: it has not been run on these operands; measure=True does"
        dtype = problem.dtype or promotion.common(operands) or torch.float32
        count = _stored(problem, operands)
        if count is None:
            return advice
        bound = limits.of(problem, operands, dtype, count * dtype.itemsize)
        return f"{advice}\nat best {limits.duration(bound.seconds)}: {bound}"
    with torch.no_grad():
        values, pattern = dispatch.run(problem, operands)
        taken = limits.fastest(lambda: dispatch.run(problem, operands), seconds=0.2)
    bound = limits.of(problem, operands, values.dtype, limits.size(Operand(pattern, values)))
    return (
        f"measured {limits.duration(taken)}, the fastest of a few calls with all that surrounds the kernel\n"
        f"at best {limits.duration(bound.seconds)}: {bound}\n"
        f"this is {bound.seconds / taken:.1%} of the machine's limit"
    )


def _stored(problem: Problem, operands: Sequence[Operand]) -> int | None:
    """How many elements of the result will be stored; None where that is not known."""
    volume = math.prod(problem.result_shape(problem.extents(operands)))
    if problem.output_format is not None:
        return volume if problem.output_format.is_dense else None
    sparse = [(set(i), o.pattern) for i, o in zip(problem.inputs, operands, strict=True) if o.pattern is not None]
    if len(sparse) != 1:
        return None if sparse else volume
    ((indices, pattern),) = sparse
    return pattern.size if len(problem.output) > 1 and set(problem.output) == indices else volume


def _prepared(problem: Problem, operands: Sequence[Operand]) -> dispatch.Prepared | None:
    """The call that is prepared for this, None where it has not been run."""
    first = next((o.pattern for o in operands if o.pattern is not None), None)
    if first is None:
        return None
    _, *own = key(problem, operands)
    same = (entry[0] for name, entry in first.calls.items() if name[0].text == problem.text and list(name[1:]) == own)
    return next(same, None)
