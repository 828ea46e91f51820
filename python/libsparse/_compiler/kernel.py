"""Kernels: compiled functions by request, found in this process, in the cache on disk, or by the compiler."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from libsparse._lang.errors import InternalError
from libsparse._lang.formula import Deferred, Formula, compiled
from libsparse._lang.records import NamedTuple
from libsparse._storage import threads
from libsparse._storage.format import Format

from . import native, request, target
from .version import ABI_VERSION, VERSION

_SUBFOLDER = f"/v{VERSION}"
_decode = json.JSONDecoder().raw_decode  # json.loads without its detours
_Function = Callable[[int], int]


class Slot(NamedTuple):
    """One 64-bit word of the block that a kernel takes; fields as in the kernel's description."""

    kind: str
    operand: int = -1
    level: int = -1
    index: str = ""  # type: ignore[assignment]  # the name the description has
    before: str = ""
    length: Formula = 0


class ResultSlot(NamedTuple):
    """The address of an array of the result.

    Attributes:
        place: The number of the slot.
        kind: `pos`, `crd`, `vals`, or what else the kernel's two functions hand on.
        level: The level of the result.
        before: The function that has to have it first: `bound`, `assemble` or `compute`.
        length: Its length.
    """

    place: int
    kind: str
    level: int
    before: str
    length: Deferred


class Handed(NamedTuple):
    """The numbers of the slots that functions hand on where entries are written before they are counted.

    Attributes:
        bound: How many entries there may be.
        starts: Where blocks of entries begin.
        filled: How many entries the blocks before each have.
        length: The length of the two.
        rooms: For room that entries are written to, its kind and the number of the slot.
    """

    bound: int
    starts: int
    filled: int
    length: int
    rooms: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, slots: Sequence[Slot]) -> Handed | None:
        """Those among `slots`; None where entries are counted first."""
        if "bound" not in [slot.kind for slot in slots]:
            return None
        places = {slot.kind: place for place, slot in enumerate(slots) if slot.operand < 0}
        length = compiled(slots[places["starts"]].length)({})
        rooms = tuple((kind, place) for kind, place in places.items() if kind.startswith("room_"))
        return cls(places["bound"], places["starts"], places["filled"], length, rooms)


class Slots(tuple[Slot, ...]):
    """The slots of a kernel in their order; the attributes are worked out once, for all calls of the kernel.

    Attributes:
        threads, streamed: The numbers of those for the number of threads, and for whether results go past the caches.
        extents: For extents of indices, the number of the slot and the index.
        modes: For extents of modes, the number of the slot, the operand (-1 for the result) and the mode.
        values, permutations: For values of operands, and orders of those that are converted: the slot and the operand.
        arrays: For positions, coordinates and orders of rows of operands, the number of the slot, the operand, the kind
            and the level.
        result: The slots of the result.
        coded: For whether a repeated call finds codes of the entries; None where it reads none.
        handed: Those that functions hand on where entries are written before they are counted.
        first_level: The first level of the result that has arrays of its own.
        finder: What finds the pattern of a result in C; None where that is done in Python, False before that is known.
    """

    threads: list[int]
    streamed: list[int]
    extents: list[tuple[int, str]]
    modes: list[tuple[int, int, int]]
    values: list[tuple[int, int]]
    permutations: list[tuple[int, int]]
    arrays: list[tuple[int, int, str, int]]
    result: list[ResultSlot]
    coded: int | None
    handed: Handed | None
    first_level: int
    finder: Any

    def __new__(cls, slots: Iterable[Slot]) -> Slots:
        """Sort slots."""
        self = super().__new__(cls, slots)
        self.threads, self.streamed, self.extents, self.modes = [], [], [], []
        self.values, self.permutations, self.arrays, self.result = [], [], [], []
        self.handed, self.finder = Handed.of(self), False
        self.coded = next((place for place, slot in enumerate(self) if slot.kind == "coded"), None)
        for place, slot in enumerate(self):
            if slot.kind == "threads":
                self.threads.append(place)
            elif slot.kind == "streamed":
                self.streamed.append(place)
            elif slot.kind == "extent":
                self.extents.append((place, slot.index))
            elif slot.kind == "mode":
                self.modes.append((place, slot.operand, slot.level))
            elif slot.operand < 0 or slot.kind == "count":
                if self.handed is None or slot.kind in ("count", "pos", "crd", "vals", "code"):
                    self.result.append(ResultSlot(place, slot.kind, slot.level, slot.before, Deferred(slot.length)))
            elif slot.kind == "vals":
                self.values.append((place, slot.operand))
            elif slot.kind == "perm":
                self.permutations.append((place, slot.operand))
            else:
                self.arrays.append((place, slot.operand, slot.kind, slot.level))
        self.first_level = min((slot.level for slot in self.result if slot.kind in ("pos", "crd")), default=0)
        return self


class Step(NamedTuple):
    """One part of a computation that is done in several.

    Attributes:
        result: The name of its result, which later steps use.
        indices: The indices of the result.
        expr: The assignment.
        operands: The names of its operands: those of the whole computation, or results of earlier steps.
        dtype: The compiler's name of the result's dtype.
        temporary: Whether no user sees the result, so that the compiler may choose any format.
        format: The format of the result if there is no output format, "" to infer it.
    """

    result: str
    indices: tuple[str, ...]
    expr: str
    operands: tuple[str, ...]
    dtype: str
    temporary: bool = False
    format: str = ""


class Kernel(NamedTuple):
    """A loaded kernel and how to call it.

    Attributes:
        compute: Writes values, and coordinates where the result is sparse; takes the address of the slots.
        assemble: Writes positions and counts of a sparse result whose pattern is not that of an operand.
        revalue: Writes the values of such a result, given the positions and coordinates that an earlier call wrote;
            None where `compute` has to write them again.
        bound: Finds how many entries such a result may have; None where `assemble` counts them.
        slots: The meaning of each word of the block.
        format: Format of the result, None for a scalar.
        dtype: The compiler's name of the result's dtype.
        index: The compiler's name of the dtype of the result's positions and coordinates.
        pattern_of: The operand whose pattern the result has, -1 for none.
        convert: The formats to which operands are converted before a call.
        carried: Those of them whose values are brought into the new order, too, and kept.
        notes: The compiler's choices and their reasons.
        source: Path of the C source.
        steps: Computations to run one after the other instead; then there is nothing else but notes.
    """

    compute: _Function
    assemble: _Function | None
    slots: Slots
    format: Format | None
    dtype: str
    index: str  # type: ignore[assignment]
    pattern_of: int
    convert: dict[int, Format]
    notes: tuple[str, ...]
    source: str
    steps: tuple[Step, ...] = ()
    revalue: _Function | None = None
    bound: _Function | None = None
    carried: frozenset[int] = frozenset()


class _Unusable(Exception):
    """A cache entry that is missing, stale, truncated or altered."""


_kernels: dict[request.Request, Kernel] = {}
prepared: dict[Any, Any] = {}
"""What others have prepared for kernels, dropped with them."""


def find(wanted: request.Request) -> Kernel:
    """The kernel for a request."""
    kernel = _kernels.get(wanted)
    if kernel is None:
        kernel = _kernels[wanted] = _from_disk_or_compiler(wanted)
    return kernel


def forget() -> None:
    """Drops every kernel that this process knows; those in use stay alive."""
    _kernels.clear()
    prepared.clear()
    request.forget()


def has_any() -> bool:
    """Whether this process has loaded a kernel."""
    return bool(_kernels)


def known() -> list[tuple[request.Request, Kernel]]:
    """The kernels that this process has loaded, with their requests."""
    return list(_kernels.items())


def store() -> Path:
    """The folder that kernels of this version are kept in."""
    return Path(target.cache_dir() + _SUBFOLDER)


def _from_disk_or_compiler(wanted: request.Request) -> Kernel:
    name, root = request.key(wanted, native.BUILD), target.cache_dir() + _SUBFOLDER
    found = _stored(root, name)  # the compiler verifies a bad entry and rebuilds it
    level, folder = target.pack() if found is None else ("", "")
    if level and not target.has_compiler():
        # Kernels of the pack don't name the OpenMP runtime, as each torch has one of its own; this lets them find it.
        _system.dlopen(os.fsencode(threads.openmp()), os.RTLD_NOLOAD | os.RTLD_NOW | os.RTLD_GLOBAL)
        found = _stored(folder, request.key(request.widened(wanted), native.BUILD, level))
    number = 0
    while found is None:
        info = native.compile_request(request.complete(wanted, name))
        try:
            found = load(info, root)
        except _Unusable as error:
            from .unusable import raise_unless_gone  # nearly all can be used

            raise_unless_gone(f"{root}/{info.get('object', '')}", error, number)
            number += 1
    return found


def _stored(root: str, name: str) -> Kernel | None:
    """The kernel that a cache has for the request of a name; None if it has none that is whole."""
    try:
        return load(_answer(f"{root}/requests/", name), root)
    except (_Unusable, OSError, ValueError):
        return None


def _answer(folder: str, name: str) -> dict[str, Any]:
    """An earlier answer of the compiler; the first line of the file is the checksum of its name and the rest."""
    checksum, _, text = _content(f"{folder}{name}.json").partition(b"\n")
    if hashlib.sha256(name.encode() + b"\n" + text).hexdigest().encode() != checksum:
        raise _Unusable(f"{folder}{name}.json does not have its checksum")
    return dict(_decode(text.decode())[0])


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a first call has no time for file objects
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def load(info: dict[str, Any], root: str) -> Kernel:
    """Loads a kernel from the compiler's description of it, whose paths start from `root`, if that is usable."""
    try:
        if info["abi"] != ABI_VERSION or info["version"] != VERSION:
            raise _Unusable(f"made by version {info['version']}, interface {info['abi']}")
        notes = tuple(info.get("notes") or ())
        if info.get("steps"):
            steps = tuple(
                Step(**{**step, "indices": tuple(step["indices"] or ()), "operands": tuple(step["operands"])})
                for step in info["steps"]
            )
            return Kernel(_nothing, None, Slots(()), None, "", "i32", -1, {}, notes, "", steps)
        path = f"{root}/{info['object']}"
        if hashlib.sha256(_content(path)).hexdigest() != info["sha256"]:
            raise _Unusable(f"{path} does not have its checksum")
        library = _open(path)
        output = info["output"]
        return Kernel(
            compute=_function(library, info["compute"]),
            assemble=_function(library, info["assemble"]) if info.get("assemble") else None,
            slots=Slots([Slot(**slot) for slot in info["slots"]]),
            format=Format(output["format"]) if output["format"] else None,
            dtype=output["dtype"],
            index=output.get("index") or "i32",
            pattern_of=output.get("pattern_of", -1),
            convert={c["operand"]: Format(c["format"]) for c in info.get("convert") or ()},
            notes=notes,
            source=f"{root}/{info.get('source', '')}",
            revalue=_function(library, info["revalue"]) if info.get("revalue") else None,
            bound=_function(library, info["bound"]) if info.get("bound") else None,
            carried=frozenset(c["operand"] for c in info.get("convert") or () if c.get("values")),
        )
    except (KeyError, TypeError, AttributeError, OSError) as error:
        raise _Unusable(str(error)) from error


def _nothing(address: int) -> int:
    raise InternalError("a computation in several steps has no kernel of its own")


# A CDLL makes a class for each library; a first call has no time for that.
_system = ctypes.CDLL(None)
_system.dlopen.argtypes, _system.dlopen.restype = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p
_system.dlsym.argtypes, _system.dlsym.restype = [ctypes.c_void_p, ctypes.c_char_p], ctypes.c_void_p
_system.dlerror.argtypes, _system.dlerror.restype = [], ctypes.c_char_p
_Prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


def _open(path: str) -> int:
    """Maps a shared object, for good."""
    handle: int | None = _system.dlopen(os.fsencode(path), os.RTLD_NOW | os.RTLD_LOCAL)
    if not handle:
        raise OSError(_last_error())
    return handle


def _function(library: int, name: str) -> _Function:
    address = _system.dlsym(library, name.encode())
    if not address:
        raise OSError(_last_error())
    return _Prototype(address)


def _last_error() -> str:
    return (_system.dlerror() or b"dlopen failed").decode("utf-8", "replace")
