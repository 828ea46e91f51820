"""`schedule`: a computation whose loops, workspaces and threads are chosen by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from torch import Tensor

from libsparse._autograd import tape
from libsparse._compiler import native, request
from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops import einsum_reader, evaluate
from libsparse._ops.indexing.entries import integer
from libsparse._runtime import dispatch
from libsparse._runtime.problem import Operand, Problem
from libsparse._runtime.requests import to_request
from libsparse._runtime.status import WrongExtentsError
from libsparse._runtime.steps import Result
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._tensor.sparse_tensor import dress

from . import examples, pages
from .explain import Explanation

_Finish: TypeAlias = Callable[[Tensor, Pattern | None], Operand]  # what a problem computes, with its fill value


class Schedule:
    """A computation with the commands that say how it is done; immutable, each command gives a new one.

    The commands are those of the compiler's scheduling language, applied in order to one loop an index, in the order in
    which the expression names them. Loops go by the names of their indices, operands of an einsum by A0, A1, and so on.
    A command that can't be applied is an `UnsupportedError` when the schedule runs or is explained, which says why.

    Example:
        >>> A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
        >>> ls.schedule("ij,jk->ik", A, torch.eye(2)).reorder("i", "k", "j").run().tolist()
        [[0.0, 2.0], [1.0, 0.0]]
    """

    __slots__ = ("_commands", "_finish", "_operands", "_problem")

    def __init__(
        self, problem: Problem, operands: tuple[Operand, ...], finish: _Finish, commands: tuple[str, ...] = ()
    ) -> None:
        """Use `libsparse.schedule`."""
        self._problem = problem
        self._operands = operands
        self._finish = finish
        self._commands = commands

    def then(self, text: str) -> Schedule:
        """Adds commands as text, such as `"split(k, k0, k1, 64); parallelize(i, threads)"`."""
        if not isinstance(text, str):
            raise DtypeError(f"schedule: commands are a {type(text).__name__}; expected text such as 'unroll(i, 4)'")
        return Schedule(self._problem, self._operands, self._finish, (*self._commands, text.strip().rstrip(";")))

    def reorder(self, *indices: str) -> Schedule:
        """Puts directly nested loops in this order."""
        return self.then(f"reorder({', '.join(map(str, indices))})")

    def split(
        self, index: str, outer: str, inner: str, factor: int, tail: int | None = None, joined: bool = False
    ) -> Schedule:
        """Cuts a loop into strips of `factor` values; with `tail`, the last strips are shifted and overlap.

        With `joined`, there is one strip of either length, and loops between the one over strips and those inside
        are run once for both.
        """
        last = "" if tail is None else f", tail={tail}"
        last += ", joined" if joined else ""
        return self.then(f"split({index}, {outer}, {inner}, {factor}{last})")

    def divide(self, index: str, outer: str, inner: str, parts: int) -> Schedule:
        """Cuts a loop into `parts` strips."""
        return self.then(f"divide({index}, {outer}, {inner}, {parts})")

    def fuse(self, outer: str, inner: str, fused: str) -> Schedule:
        """Makes one loop of two nested ones."""
        return self.then(f"fuse({outer}, {inner}, {fused})")

    def pos(self, index: str, position: str, operand: str) -> Schedule:
        """Visits the entries of a sparse operand, by position."""
        return self.then(f"pos({index}, {position}, {operand})")

    def precompute(
        self,
        part: str,
        workspace: str,
        at: int,
        storage: str | None = None,
        rename: Mapping[str, str] | None = None,
    ) -> Schedule:
        """Computes a part of the expression ("all" for all of it) into a workspace below the outermost `at` loops.

        Args:
            part: The text of a subexpression, or factors by name, such as "A1*A2".
            workspace: The name of the workspace.
            at: How many loops stand around it.
            storage: "tile" (registers), "array", "row", "scatter", "bitmap", "bytemap", "blocks", "adaptive",
                "list", "hash" or "lookup"; None: of the first two, by size.
            rename: New names for loops that compute the workspace, such as `{"i": "iw"}`: later commands then tell them
                from the loops that read it. The workspace is over these indices, also where they are summed over.
        """
        kept = "" if storage is None else f", {storage}"
        if not isinstance(rename or {}, Mapping):
            raise DtypeError(f"schedule: rename is a {type(rename).__name__}; expected a dict of names by names")
        pairs = " ".join(f"{index}:{name}" for index, name in (rename or {}).items())
        named = f", rename={pairs}" if rename else ""
        return self.then(f"precompute({part}, {workspace}, at={at}{kept}{named})")

    def bound(self, index: str, extent: int, most: int | None = None) -> Schedule:
        """States the extent of an index, which the kernel is then compiled for, or the least and the largest one.

        Args:
            index: The index.
            extent: Its extent, or the least one.
            most: The largest one; None where there is one only.

        Raises:
            DtypeError: An extent is no integer.
            ShapeError: The operands have another.
            UnsupportedError: The largest extent is below the least.
        """
        extent, given = integer("schedule: bound: extent", extent), most
        most = extent if given is None else integer("schedule: bound: most", given)
        found = self._problem.extents(self._operands).get(str(index), extent)
        command = f"bound({index}, {extent})" if given is None else f"bound({index}, {extent}, {most})"
        if extent <= most and not extent <= found <= most:
            raise ShapeError(f"schedule: {command}: the operands have extent {found} for {index!r}")
        return self.then(command)

    def unroll(self, index: str, factor: int) -> Schedule:
        """Writes `factor` iterations of a loop out."""
        return self.then(f"unroll({index}, {factor})")

    def prefetch(self, index: str, distance: int, *, begin: bool = False) -> Schedule:
        """Brings near what a loop over stored coordinates reads by them `distance` iterations later.

        Args:
            index: Of the loop.
            distance: How many iterations.
            begin: Only the begin of each row that is read, for processors that read on by themselves.
        """
        return self.then(f"prefetch({index}, {distance}{', begin' if begin else ''})")

    def ahead(self, index: str, operand: str, distance: int) -> Schedule:
        """Brings the entries of a sparse operand near `distance` of them before a loop walks them."""
        return self.then(f"ahead({index}, {operand}, {distance})")

    def adjacent(self, index: str) -> Schedule:
        """Says that rows which are summed in lanes mostly have neighbouring coordinates in a loop, as in bands."""
        return self.then(f"adjacent({index})")

    def gather(self, index: str) -> Schedule:
        """Has sums in lanes read eight float32 elements at coordinates of a loop by one instruction."""
        return self.then(f"gather({index})")

    def order(self, index: str, operand: str) -> Schedule:
        """Has a loop over the rows of a sparse operand visit rows of similar length one after the other."""
        return self.then(f"order({index}, {operand})")

    def vectorize(self, index: str) -> Schedule:
        """Runs an innermost loop in vector lanes."""
        return self.then(f"vectorize({index})")

    def parallelize(self, index: str, race: str | None = None) -> Schedule:
        """Divides a loop among threads.

        Args:
            index: The loop.
            race: How threads that write the same elements keep apart: "temporary" (deterministic for a number of
                threads) or "atomics" (sums differ in rounding from run to run). None where each owns its elements.
        """
        apart = "" if race is None else f", {race}"
        return self.then(f"parallelize({index}, threads{apart})")

    def mergeby(self, index: str, strategy: str) -> Schedule:
        """Says how a loop merges sparse levels: "twofinger", "gallop" (by searches), "choose" (unions, no branches)."""
        return self.then(f"mergeby({index}, {strategy})")

    def assemble(self, strategy: str) -> Schedule:
        """Says how entries of a sparse result find their place: "insert", "append" or "bounded"."""
        return self.then(f"assemble({strategy})")

    def convert(self, operand: str, format: str | Format, *, values: bool = False) -> Schedule:
        """Brings an operand to another format before the kernel runs, a sparse one once for each of its patterns.

        With `values`, those of a sparse operand are brought along and kept, as long as nobody writes to them.
        The modes of a dense operand, or of a dense result, are put into another order in each call, as in
        `convert("A1", "dd:1,0")`.
        """
        at = self._problem.names.index(operand) if operand in self._problem.names else -1
        wanted = Format(format).resolve(len(self._problem.inputs[at])) if at >= 0 else Format(format)
        kept = ", values" if values else ""
        return self.then(f"convert({operand}, {wanted.text}{kept})")

    def prepare(self) -> Callable[[], Any]:
        """Compiles, converts operands if need be, and returns a function that computes on these operands.

        Raises:
            UnsupportedError: As `run`.
            FormatError: As `run`.
            ShapeError: As `run`, when the function is called.
        """
        return self._prepared(self._scheduled())

    def automatic(self) -> Callable[[], Any]:
        """The same with the schedule that the compiler chooses, for comparison."""
        return self._prepared(self._problem)

    def request(self) -> dict[str, Any]:
        """The request to the compiler, without the commands, as JSON has it."""
        return request.complete(to_request(self._problem, self._operands), "")

    def run(self) -> Any:
        """Compiles and computes; the result is as from `einsum` or `evaluate`, and autograd follows it.

        Gradients are computed as the compiler chooses: the commands are those of the forward computation.

        Raises:
            UnsupportedError: A command can't be applied, or something in the expression has no gradient.
            FormatError: A command is malformed.
            ShapeError: The operands are smaller than the tail of a split, or have not the extent of a bound.
        """
        problem = self._scheduled()
        return self._computed(problem, lambda: tape.compute(problem, self._operands))

    def explain(self, stage: str | None = None) -> Explanation:
        """The compiler's account of it; see `libsparse.explain`."""
        question = request.complete(to_request(self._scheduled(), self._operands), "")
        return Explanation(native.explain_request(question, stage or ""))

    def _repr_html_(self) -> str:
        return pages.page([pages.block(repr(self)), pages.block(self.explain("scheduled"))])

    def _scheduled(self) -> Problem:
        return self._problem._replace(schedule=str(self) + ";")

    def _prepared(self, problem: Problem) -> Callable[[], Any]:
        prepared = dispatch.prepare(problem, self._operands)
        for number, format in prepared.kernel.convert.items():
            if self._operands[number].pattern is not None:  # dense ones are copied in each call
                self._operands[number].sparsity.converted(format)
        return lambda: self._computed(problem, lambda: prepared(self._operands))

    def _computed(self, problem: Problem, compute: Callable[[], Result]) -> Any:
        """The result of a problem as a user gets it."""
        try:
            data, pattern = compute()
        except WrongExtentsError:
            text = problem.schedule.removesuffix(";")
            raise ShapeError(f"schedule: a bound or a tail in {text!r} does not suit the operands' shapes") from None
        return dress(self._finish(data, pattern))

    def __str__(self) -> str:
        """The commands as text."""
        return "; ".join(self._commands)

    def __repr__(self) -> str:
        """The expression and the commands."""
        return f"<schedule of {self._problem.text!r}: {self}>"


def schedule(
    text: str,
    *operands: Any,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    **named: Any,
) -> Schedule:
    """Begins a computation that is scheduled by hand.

        ls.schedule("ij,jk->ik", A, B).split("k", "k0", "k1", 64).reorder("i", "k0", "j", "k1").parallelize("i").run()

    Args:
        text: An einsum specification, or an assignment with operands by name.
        operands: The operands of an einsum.
        format: As in `einsum`.
        reduce: As in `einsum`; not mean, which is two computations.
        combine: As in `einsum`.
        named: The operands of an assignment.

    Example:
        >>> A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
        >>> ls.schedule("ij,j->i", A, torch.ones(2)).parallelize("i").run().tolist()
        [2.0, 1.0]
    """
    reduce, combine = einsum_reader.checked(reduce, combine)
    if reduce == "mean":
        raise UnsupportedError("schedule: reduce='mean' is a sum and a count; schedule the sum")
    if not isinstance(text, str):
        raise DtypeError(f"schedule: text is a {type(text).__name__}; expected an einsum such as 'ij,jk->ik'")
    if named or "=" in text:
        job = evaluate.last(text, named, format, reduce, combine)
        return Schedule(job.problem, tuple(job.operands), job.finished)
    question, plain = einsum_reader.read(text, operands, format, reduce, combine)

    def finish(data: Tensor, pattern: Pattern | None) -> Operand:
        return Operand(pattern, data, dtypes.identity(reduce, data.dtype))

    return Schedule(question.problem(), tuple(plain), finish)


examples.attach({"S": Schedule})
