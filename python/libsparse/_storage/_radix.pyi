def ascending(coords: tuple[tuple[int, bool], ...], count: int, threads: int, team: int, /) -> int: ...
def by_rows(
    row: int,
    column: int,
    values: int,
    itemsize: int,
    count: int,
    rows: int,
    mirrored: bool,
    threads: int,
    team: int,
    pos: int,
    moved: int,
    moved_values: int,
    /,
) -> bool: ...
def choose_columns(
    pos: int,
    crd: int,
    wide: bool,
    rows: int,
    columns: int,
    count: int,
    extent: int,
    threads: int,
    team: int,
    chosen_pos: int,
    chosen_crd: int,
    places: int,
    /,
) -> int: ...
def compress(
    coords: tuple[tuple[int, bool], ...],
    rows: int,
    columns: int,
    count: int,
    threads: int,
    team: int,
    pos: int,
    crd: int,
    order: int,
    again: int,
    group: int,
    /,
) -> tuple[int, bool]: ...
def count_fibers(coords: tuple[tuple[int, bool], ...], count: int, threads: int, team: int, nodes: int, /) -> None: ...
def count_nonzeros(
    elements: int,
    itemsize: int,
    kept: int,
    rows: int,
    columns: int,
    threads: int,
    team: int,
    pos: int,
    crd: int,
    values: int,
    /,
) -> int: ...
def copy_box(
    crd: int,
    wide: bool,
    rows: int,
    low: int,
    threads: int,
    team: int,
    begin: int,
    box_pos: int,
    box_crd: int,
    place: int,
    /,
) -> None: ...
def drop_repeats(coords: tuple[tuple[int, bool], ...], count: int, order: int, again: int, group: int, /) -> int: ...
def filter_rows(
    pos: int, wide: bool, mask: int, rows: int, threads: int, team: int, kept_pos: int, places: int, /
) -> None: ...
def find_box(
    pos: int,
    crd: int,
    wide: bool,
    first: int,
    rows: int,
    low: int,
    high: int,
    low_moves: bool,
    high_moves: bool,
    threads: int,
    team: int,
    begin: int,
    box_pos: int,
    /,
) -> int: ...
def find_elements(
    pos: int,
    crd: int,
    wide: bool,
    rows: int,
    row: int,
    column: int,
    count: int,
    threads: int,
    team: int,
    place: int,
    /,
) -> None: ...
def first_of_rows(
    coords: int, wide: bool, count: int, rows: int, pos: int, wide_pos: bool, threads: int, team: int, /
) -> bool: ...
def measure_runs(
    pos: int, wide: bool, size: int, parents: int, wide_parents: bool, count: int, starts: int, /
) -> int: ...
def copy_runs(
    pos: int,
    crd: int,
    wide: bool,
    parents: int,
    wide_parents: bool,
    count: int,
    starts: int,
    threads: int,
    team: int,
    moved: int,
    place: int,
    /,
) -> None: ...
def join_rows(
    parts: tuple[tuple[int, int, int, int], ...],
    wide: bool,
    rows: int,
    threads: int,
    team: int,
    pos: int,
    crd: int,
    place: int,
    /,
) -> None: ...
def extreme_of_rows(
    values: int,
    kind: str,
    rows: tuple[tuple[int, bool], ...],
    count: int,
    number: int,
    extent: int,
    fill: int,
    greatest: bool,
    threads: int,
    team: int,
    found: int,
    column: int,
    place: int,
    /,
) -> None: ...
def share_of_extremes(
    values: int,
    kind: str,
    rows: tuple[tuple[int, bool], ...],
    count: int,
    number: int,
    extent: int,
    fill: int,
    nan_alone: bool,
    threads: int,
    team: int,
    found: int,
    grads: int,
    shares: int,
    /,
) -> None: ...
def lead_rows(
    values: int,
    kind: str,
    starts: int,
    rows: int,
    wanted: int,
    fill: int,
    descending: bool,
    threads: int,
    team: int,
    order: int,
    first: int,
    /,
) -> None: ...
def locate_sorted(
    arrays: tuple[tuple[int, int], ...], wanted: int, present: int, threads: int, team: int, place: int, /
) -> None: ...
def neighbours(crd: int, wide: bool, count: int, above: int, runs: int, length: int, /) -> tuple[int, int]: ...
def alike_rows(pos: int, wide: bool, rows: int, runs: int, run: int, chunk: int, /) -> int: ...
def order_rows(pos: int, wide: bool, rows: int, order: int, /) -> None: ...
def rows_are_right(
    pos: int, crd: int, wide: bool, rows: int, extent: int, count: int, threads: int, team: int, /
) -> bool: ...
def sort(
    coords: tuple[tuple[int, bool], ...],
    extents: tuple[int, ...],
    moved: tuple[tuple[int, bool], ...],
    order: int,
    count: int,
    threads: int,
    team: int,
    /,
) -> int: ...
def surprises(
    pos: int, crd: int, other_pos: int, other_crd: int, wide: bool, rows: int, runs: int, run: int, /
) -> tuple[int, int]: ...
def take(
    values: int,
    itemsize: int,
    size: int,
    source: int,
    wide: bool,
    taken: int,
    count: int,
    threads: int,
    team: int,
    /,
) -> bool: ...
def walk_levels(
    levels: tuple[tuple[int, int, int, int], ...], wide: bool, stride: int, threads: int, team: int, /
) -> bool: ...
def write_fibers(
    coords: tuple[tuple[int, bool], ...],
    count: int,
    threads: int,
    team: int,
    nodes: int,
    pos: tuple[tuple[int, bool], ...],
    crd: tuple[tuple[int, bool], ...],
    /,
) -> None: ...
def write_nonzeros(
    elements: int,
    itemsize: int,
    kept: int,
    rows: int,
    columns: int,
    threads: int,
    team: int,
    pos: int,
    crd: int,
    values: int,
    /,
) -> None: ...
