def copy(
    to: int,
    from_: int,
    matrices: int,
    rows: int,
    columns: int,
    between: int,
    step: int,
    size: int,
    threads: int,
    team: int,
    /,
) -> None: ...
