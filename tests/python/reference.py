"""A stand-in for the compiler: kernels in Python that read and write the same blocks of slots by dense evaluation.

It lets everything on the Python side (slots, two phases, conversions, gradients) be tested by itself, and states what a
kernel means. Reductions other than sums of products are not its business.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

import numpy as np
import torch
from libsparse._compiler.kernel import Kernel, Slot, Slots
from libsparse._compiler.request import Request
from libsparse._lang.dtypes import DTYPES
from libsparse._lang.errors import ToolchainError
from libsparse._storage.format import Format
from libsparse._storage.packing import build_levels, expand_levels

_NUMPY = {
    "bool": np.bool_,
    "u8": np.uint8,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f32": np.float32,
    "f64": np.float64,
}


def array(address: int, count: int, dtype: str) -> np.ndarray:
    """The array of `count` elements at an address."""
    size = np.dtype(_NUMPY[dtype]).itemsize * count
    if size == 0:
        return np.empty(0, _NUMPY[dtype])
    return np.frombuffer((ctypes.c_char * size).from_address(address), _NUMPY[dtype])


class Reference:
    """The kernel of one request."""

    def __init__(self, request: Request, convert: dict[int, Format] | None = None) -> None:
        self.request = request
        if request.is_expr:
            left, right = request.text.split("=")
            access = dict(re.findall(r"(\w+)\(([^)]*)\)", right))
            self.inputs = [tuple(access.get(o.name, "").replace(" ", "").replace(",", "")) for o in request.operands]
            self.output = tuple(re.search(r"\(([^)]*)\)", left).group(1).replace(" ", "").replace(",", ""))
        else:
            left, right = request.text.split("->")
            self.inputs, self.output = [tuple(t) for t in left.split(",")], tuple(right)
        self.convert = convert or {}
        self.formats = [
            self.convert.get(n, Format(o.format) if o.format else None) for n, o in enumerate(request.operands)
        ]
        self.sparse = [f is not None and not f.is_dense for f in self.formats]
        self.dtype = torch.bool
        for o in request.operands:
            if not o.pattern_only:
                self.dtype = torch.promote_types(self.dtype, DTYPES[o.dtype])
        self.code = next(c for c, d in DTYPES.items() if d == self.dtype)
        self._choose_output()
        self._lay_out()

    def _choose_output(self) -> None:
        wish, self.pattern_of = self.request.output.format, -1
        same = [n for n, s in enumerate(self.sparse) if s and self.inputs[n] == self.output]
        if self.request.output.pattern_of is not None:
            self.pattern_of = self.request.output.pattern_of
        elif (
            not self.request.is_expr
            and sum(self.sparse) == 1
            and same
            and (wish is None or Format(wish) == self.formats[same[0]])
        ):
            self.pattern_of = same[0]
        if self.pattern_of >= 0:
            self.format = self.formats[self.pattern_of]
        elif wish is None:
            spgemm = sum(self.sparse) > 1 and len(self.output) == 2 and all(self.sparse)
            self.format = Format("ds") if spgemm else Format("d" * len(self.output)) if self.output else None
        else:
            self.format = Format(wish)
        self.two_phase = self.format is not None and not self.format.is_dense and self.pattern_of < 0

    def _lay_out(self) -> None:
        slots = [Slot("threads")]
        indices = sorted({i for t in self.inputs for i in t})
        slots += [Slot("extent", index=i) for i in indices]
        for n, (o, fmt) in enumerate(zip(self.request.operands, self.formats, strict=True)):
            if self.sparse[n] and o.same_pattern < 0:
                for level, letter in enumerate(fmt.levels):
                    slots += [Slot("pos", n, level)] if letter in "su" else []
                    slots += [Slot("crd", n, level)] if letter != "d" else []
            if not o.pattern_only:
                slots.append(Slot("vals", n))
        length = 1  # how many positions the level above has, as a formula
        if self.two_phase:
            known = True  # whether the number of parents is known before assembling
            for level, letter in enumerate(self.format.levels):
                if letter in "su":
                    slots.append(Slot("count", level=level))
                    count = f"slot{len(slots) - 1}"
                    before = "assemble" if known else "compute"
                    slots.append(Slot("pos", -1, level, before=before, length=["+", length, 1]))
                    length, known = count, False
                if letter == "d":
                    length = ["*", length, f"slot{1 + indices.index(self.output[self.format.order[level]])}"]
                else:
                    slots.append(Slot("crd", -1, level, before="compute", length=length))
        slots.append(Slot("vals", -1, before="compute", length=length))
        self.slots = Slots(slots)

    def kernel(self) -> Kernel:
        """As the loader would give it."""
        return Kernel(
            compute=self.compute,
            assemble=self.assemble if self.two_phase else None,
            slots=self.slots,
            format=self.format,
            dtype=self.code,
            index=self.request.output.index,
            pattern_of=self.pattern_of,
            convert=self.convert,
            notes=("reference",),
            source="",
        )

    def _read(self, address: int) -> tuple[dict, dict[str, int]]:
        block = (ctypes.c_int64 * len(self.slots)).from_address(address)
        at = {(s.kind, s.operand, s.level, s.index): block[n] for n, s in enumerate(self.slots)}
        return at, {s.index: block[n] for n, s in enumerate(self.slots) if s.kind == "extent"}

    def _levels(self, at: dict, n: int, extents: list[int]) -> list[torch.Tensor]:
        o = self.request.operands[n]
        holder = n if o.same_pattern < 0 else o.same_pattern
        count, pos, crd = 1, [], []
        for level, letter in enumerate(self.formats[n].levels):
            if letter == "d":
                count *= extents[level]
            p = array(at["pos", holder, level, ""], count + 1, o.index) if letter in "su" else None
            if p is not None:
                count = int(p[-1])
            c = array(at["crd", holder, level, ""], count, o.index) if letter != "d" else None
            pos.append(None if p is None else torch.from_numpy(p.astype(np.int64)))
            crd.append(None if c is None else torch.from_numpy(c.astype(np.int64)))
        return [*expand_levels(self.formats[n], extents, pos, crd)[0][list(self.formats[n].order)]]

    def _dense(self, at: dict, size: dict[str, int], n: int, ones: bool) -> torch.Tensor:
        o, fmt, shape = self.request.operands[n], self.formats[n], [size[i] for i in self.inputs[n]]
        if fmt is None:
            return torch.from_numpy(array(at["vals", n, -1, ""], 1, o.dtype).copy()).reshape(()).to(torch.float64)
        extents = [shape[m] for m in fmt.order]
        if not self.sparse[n]:
            flat = torch.from_numpy(array(at["vals", n, -1, ""], int(np.prod(extents)), o.dtype).copy())
            stored = flat.to(torch.float64).reshape(extents)
        else:
            coords = self._levels(at, n, extents)
            count = coords[0].numel()
            plain = ones or o.pattern_only
            vals = np.ones(count) if plain else array(at["vals", n, -1, ""], count, o.dtype).astype(np.float64)
            stored = torch.zeros(extents, dtype=torch.float64).index_put(tuple(coords), torch.from_numpy(vals))
        if ones and not self.sparse[n]:
            stored = torch.ones_like(stored)
        return stored.permute(*np.argsort(fmt.order).tolist())

    def _result(self, at: dict, size: dict[str, int], ones: bool) -> torch.Tensor:
        operands = [self._dense(at, size, n, ones) for n in range(len(self.inputs))]
        if self.request.is_expr:
            return torch.einsum(f"{''.join(self.inputs[0])}->{''.join(self.output)}", operands[0]) + operands[1]
        text = ",".join(map("".join, self.inputs)) + "->" + "".join(self.output)
        return torch.einsum(text, *operands)

    def _structure(self, at: dict, size: dict[str, int]) -> tuple[list[torch.Tensor], list[int]]:
        extents = [size[self.output[m]] for m in self.format.order]
        there = self._result(at, size, True).permute(*self.format.order) != 0
        return list(there.nonzero(as_tuple=True)), extents

    def assemble(self, address: int) -> int:
        """Writes counts and the first positions."""
        at, size = self._read(address)
        coords, extents = self._structure(at, size)
        built = build_levels(self.format, extents, coords)
        block = (ctypes.c_int64 * len(self.slots)).from_address(address)
        for n, s in enumerate(self.slots):
            if s.kind == "count":
                block[n] = built.crd[s.level].numel()
            elif s.kind == "pos" and s.before == "assemble":
                array(block[n], built.pos[s.level].numel(), self.request.output.index)[:] = built.pos[s.level].numpy()
        return 0

    def compute(self, address: int) -> int:
        """Writes everything else."""
        at, size = self._read(address)
        result = self._result(at, size, False)
        if self.dtype == torch.bool:
            result = result != 0
        if self.format is not None:
            result = result.permute(*self.format.order)
        if self.format is None or self.format.is_dense:
            picked = result.reshape(-1)
        elif self.pattern_of >= 0:
            extents = [size[self.output[m]] for m in self.format.order]
            picked = result[tuple(self._levels(at, self.pattern_of, extents))]
        else:
            coords, extents = self._structure(at, size)
            built = build_levels(self.format, extents, coords)
            picked = result[tuple(coords)]
            if built.slots is not None:  # blocks of a dense level are padded
                picked = torch.zeros(built.size, dtype=picked.dtype).index_put((built.slots,), picked)
            for s in self.slots:
                if s.operand == -1 and s.kind in ("pos", "crd") and s.before == "compute":
                    made = (built.pos if s.kind == "pos" else built.crd)[s.level]
                    array(at[s.kind, -1, s.level, ""], made.numel(), self.request.output.index)[:] = made.numpy()
        out = array(at["vals", -1, -1, ""], picked.numel(), self.code)
        out[:] = picked.contiguous().numpy().astype(out.dtype)
        return 0


def finder(convert: Callable[[Request], dict[int, Format]] | None = None) -> Callable[[Request], Kernel]:
    """A replacement of `libsparse._compiler.kernel.find`."""
    made: dict[Request, Kernel] = {}

    def find(request: Request) -> Kernel:
        if any(operand.format == "dq" for operand in request.operands):
            raise ToolchainError("the stand-in copies no rows")
        if request not in made:
            made[request] = Reference(request, convert(request) if convert else None).kernel()
        return made[request]

    return find
