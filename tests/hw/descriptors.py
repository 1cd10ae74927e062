"""What the blocks of a run are given: descriptors, Run and Plan of a job, and jobs at random."""

from __future__ import annotations

from gen.bench import described
from golden import latency
from golden.config import EngineConfig
from golden.job import Job
from golden.layout import Layout, state_words
from golden.schedule import Tile, first_tile

NOWHERE = Layout(*[0] * 8)


def job(n_q=1, n_kv=1, q_rows=1, **fields) -> Job:
    """A job of which only what a test is about has to be said."""
    named = {"dim": 1, "value_dim": 1, "scale_mantissa": 1 << 15, "scale_shift": 10} | fields
    return Job(n_q, n_kv, q_rows=q_rows, **named)


def run_fields(config: EngineConfig, run: Job, place: Layout = NOWHERE) -> dict[str, int]:
    """Values of hw.run_registers.Run that the controllers read, of a run that is not refused."""
    fields = described(run, place)
    for name in vars(place):
        fields[name] = fields[name] // config.word_bytes % config.memory_words
    fields["window"] = min(fields["window"], 2 * config.max_keys)
    for operand, dim in (("qk", run.dim), ("v", run.value_dim)):
        tail = (dim - 1) % config.array_depth + 1
        fields |= {f"{operand}_bytes": dim * config.element_bytes, f"{operand}_words": config.words(dim)}
        fields |= {f"{operand}_chunks": config.chunks(dim), f"{operand}_mask": (1 << tail) - 1}
    return fields | {"o_words": config.output_words(run.value_dim), "tail_elements": tail}


def plan_fields(config: EngineConfig, run: Job, place: Layout = NOWHERE) -> dict[str, int]:
    """Values of hw.run_plan.Plan."""
    queries, members = divmod(run.q_rows, run.group)
    window, begin = min(run.window or 1, 2 * config.max_keys), first_tile(config, run)
    words = {kind: getattr(place, f"{kind}_stride") // config.word_bytes * config.array_keys for kind in "kv"}
    return {
        "rows": run.rows, "position_rows": run.q_position * run.group, "window_rows": (window - 1) * run.group,
        "kv_heads": run.kv_heads, "block_queries": queries, "block_members": members, "begin": begin,
        "begin_rows": begin * run.group, "k_begin": begin * words["k"] % config.memory_words,
        "v_begin": begin * words["v"] % config.memory_words,
    }  # fmt: skip


def tile_record(tile: Tile, end: bool) -> tuple[int, ...]:
    """Values of hw.tile_walker.TileRecord in the order of its fields; end: it is the last tile of all."""
    return (
        int(tile.phase), tile.streamed, tile.finals, tile.first_row, tile.final_end, tile.fresh_from,
        latency.idle(tile.again), tile.diagonal, tile.member, tile.keys, int(tile.last), int(end),
    )  # fmt: skip


def random_place(config: EngineConfig, rng) -> Layout:
    """Addresses and strides anywhere, as far as the width of an address goes."""
    words = {name: rng.choice((rng.randint(0, 40), rng.randrange(config.memory_words))) for name in vars(NOWHERE)}
    return Layout(**{name: value * config.word_bytes for name, value in words.items()})


def place_inside(config: EngineConfig, run: Job, rng, at_end: bool = False) -> Layout | None:
    """Each operand anywhere in memory, as if it were alone, heads one after the other or in turn.

    at_end: they end with the memory, otherwise so far before that all that is computed from them lies within. Returns
    None where there is no room.
    """
    state, fields = state_words(config), {}
    for name, words in (
        ("q", config.words(run.dim)), ("k", config.words(run.dim)), ("v", config.words(run.value_dim)),
        ("o", config.output_words(run.value_dim)), ("state", state), ("scratch", None),
    ):  # fmt: skip
        if words is None:
            size = -(-run.n_kv // config.array_keys) * run.q_rows * config.scratch_row_words if run.naive else 0
        else:
            rows, heads = (run.n_kv, run.kv_heads) if name in "kv" else (run.n_q, run.heads)
            words += rng.choice((0, 0, 1))
            stride, head_stride = rng.choice(((words, rows * words), (heads * words, words)))
            size = (rows - 1) * stride + (heads - 1) * head_stride + words
            fields |= {f"{name}_stride": stride, f"{name}_head_stride": head_stride}
        last = config.memory_words - max(size, 1) - (0 if at_end else size + config.memory_words // 8)
        if last < 0:
            return None
        fields[f"{name}_address"] = last if at_end else rng.choice((last, rng.randint(0, last)))
    return Layout(**{name: value * config.word_bytes for name, value in fields.items()})


def named(bundle: str, fields: dict[str, int]) -> dict[str, int]:
    """Fields under the names that the harness gives a bundle's signals."""
    return {f"{bundle}_{name}": value for name, value in fields.items()}


def random_job(config: EngineConfig, rng, longest: int = 40, **fixed) -> Job:
    """Any mask, schedule, heads and groups; positions and windows around the keys, and at their limits."""
    longest = min(longest, config.max_keys)
    n_q, n_kv = (1 if rng.random() < 0.15 else rng.randint(1, longest) for _ in range(2))
    group, reach = rng.choice((1, 1, 1, 2, 3, 5)), config.max_keys
    position = rng.choice((0, n_kv - n_q, rng.randint(-n_q - 3, n_kv + 3), rng.randint(-n_q, n_kv), -reach, reach))
    window = rng.choice((None, None, 1, 2, rng.randint(1, n_kv + 3), rng.randint(1, n_kv), 2 * reach, 2 * reach + 5))
    fields = {
        "q_rows": rng.randint(1, min(config.max_rows, rng.choice((3, 9, 64)))),
        "causal": rng.random() < 0.5, "q_position": max(-reach, min(position, reach)), "window": window,
        "heads": group * rng.choice((1, 1, 2, 3)), "group": group, "naive": rng.random() < 0.35,
        "overlap": rng.random() < 0.7, "state": rng.random() < 0.5,
        "dim": rng.randint(1, config.max_dim), "value_dim": rng.randint(1, config.max_dim),
    }  # fmt: skip
    return job(n_q, n_kv, **fields | fixed)
