"""Tile walker: the schedule of golden.schedule.walk in hardware."""

from myhdl import always, always_comb, block

from golden import latency
from golden.config import log2_ceil
from golden.job import MAX_GROUP, MAX_HEADS
from golden.schedule import Phase
from hw.signals import bit, copy, signed, to_signed, unsigned, wrapping

FLASH, SCORES, MAXIMUM, EXP, VALUES = (int(phase) for phase in Phase)


class TileRecord:
    """What the sequencers need to know of one tile; see golden.schedule.Tile."""

    FIELDS = (
        "phase", "streamed", "finals", "first_row", "final_end", "fresh_from", "idle", "diagonal", "member", "keys",
        "last", "end",
    )  # fmt: skip

    def __init__(self, config):
        row_bits = config.max_rows.bit_length()
        self.phase = unsigned(3)
        self.streamed, self.finals, self.first_row, self.final_end, self.fresh_from = (
            unsigned(row_bits) for _ in range(5)
        )
        self.idle = unsigned(latency.ROW_LOOP.bit_length())
        self.diagonal = signed(position_bits(config))
        self.member = unsigned(MAX_GROUP.bit_length())
        self.keys = unsigned(config.array_keys.bit_length())
        self.last = bit()  # last tile of its block in this phase
        self.end = bit()  # last tile of all

    def signals(self):
        return [getattr(self, name) for name in self.FIELDS]

    @property
    def bits(self):
        return sum(len(signal) for signal in self.signals())


def position_bits(config):
    """Signed bits of a position relative to a tile: within +-(3 * max_keys + max_rows)."""
    return (3 * config.max_keys + config.max_rows).bit_length() + 2


@block
def unpack_tile(vector, tile):
    """Take a packed TileRecord (see hw.signals.join) apart. Combinational."""
    instances, low = [], 0
    for name in TileRecord.FIELDS:
        field = getattr(tile, name)
        bits = len(field)
        part = vector(low) if isinstance(field.val, bool) else vector(low + bits, low)
        instances.append(to_signed(part, field) if name == "diagonal" else copy(part, field))
        low += bits
    return instances


@block
def tile_walker(
    clk, reset, start, advance, run, plan, tile, rows, first, valid, coming_phase, coming_first, skip, next_head, config
):
    """Walk KV heads, for each its blocks of rows, (for each of these the phases,) and for each the tiles it sees.

    Latency: a record is valid 4 cycles after start, 5 after advance, 2 cycles later for each tile that is skipped.
    Throughput: a record every 5 cycles.

        advance  |1|_________________
        valid     1 1|_______|1 1 1 1     until the cycle after advance

    Ports: clk; reset; start: begin with the first tile; advance: on to the next one, while valid; run: Run, plan:
    Plan, constant during a run; tile: TileRecord, rows: of its block, first: it is the first of its block and phase,
    all while valid; coming_phase, coming_first: phase and first, a cycle earlier; skip: the block will begin one tile
    later; next_head: the next tile is of the next KV head.
    """
    tile_keys, key_shift = config.array_keys, log2_ceil(config.array_keys)
    row_bits, key_bits = len(rows), len(tile.keys)
    length_bits, total_bits = len(run.n_kv), len(plan.rows)
    last_bits = min(row_bits, total_bits)
    passed_bits, loop = total_bits + 4, latency.ROW_LOOP
    # Where the walk is; block_*: where the block began.
    heads_left, rows_left, keys_left = unsigned(MAX_HEADS.bit_length()), unsigned(total_bits), unsigned(length_bits)
    passed, diagonal, member = signed(passed_bits), signed(len(tile.diagonal)), unsigned(len(tile.member))
    block_keys, block_passed = unsigned(length_bits), signed(passed_bits)
    block_diagonal, block_member = signed(len(tile.diagonal)), unsigned(len(tile.member))
    first_row, fresh_from, phase, at_first = unsigned(row_bits), unsigned(row_bits), unsigned(3), bit()
    # The steps on the way to a record, and what each has found out.
    located, sized, bounded = bit(), bit(), bit()
    block_rows, keys, last_keys, last_block = unsigned(row_bits), unsigned(key_bits), bit(), bit()
    reach = signed(passed_bits + 1)  # rows before it see keys of this tile or earlier ones
    # reach - 1, whose sign tells at once that no row does.
    last_seen, window_less = signed(passed_bits + 1), signed(total_bits + 1)
    # Where the walk goes, one at most: on to the next head, block, phase of the block, tile; to_first: not just a tile.
    moved, to_head, to_block, to_phase, to_tile, to_first = (bit() for _ in range(6))
    final_end, row_end, again = (unsigned(row_bits) for _ in range(3))
    again_bits = min(len(tile.idle), row_bits)
    shared = unsigned(row_bits)  # rows that the tile before had, too
    begin_keys, begin_passed, begin_diagonal = wrapping(length_bits), signed(passed_bits), signed(len(diagonal))
    tile_rows, after, ends_head = signed(passed_bits), bit(), bit()
    member_sum, next_member = unsigned(len(member)), unsigned(len(member))
    next_diagonal = signed(len(diagonal))
    head_rows, begin_key = signed(passed_bits), signed(len(diagonal))

    @always_comb
    def constants():
        tile_rows.next = run.group << key_shift
        head_rows.next = run.group + plan.begin_rows
        begin_keys.next = run.n_kv - (plan.begin << key_shift)
        begin_key.next = plan.begin << key_shift

    @always_comb
    def begin_values():
        begin_passed.next = (head_rows << key_shift) - plan.position_rows
        begin_diagonal.next = run.q_position - begin_key + 1

    @always_comb
    def add_members():
        member_sum.next = block_member + plan.block_members

    @always_comb
    def next_block():
        if member_sum >= run.group:
            next_member.next = member_sum - run.group
            next_diagonal.next = block_diagonal + plan.block_queries + 1
        else:
            next_member.next = member_sum
            next_diagonal.next = block_diagonal + plan.block_queries

    @always_comb
    def skips():
        skip.next = sized and at_first and run.windowed and not last_keys and last_seen < 0
        next_head.next = to_head
        coming_phase.next = phase
        coming_first.next = at_first

    @always(clk.posedge)
    def move():
        moved.next = advance and not reset
        to_head.next = advance and ends_head and not reset
        to_block.next = advance and after and not ends_head
        to_phase.next = advance and tile.last and not after
        to_tile.next = advance and not tile.last
        to_first.next = advance and tile.last

    @always(clk.posedge)
    def steps():
        if reset:
            located.next = False
            sized.next = False
            bounded.next = False
            valid.next = False
        else:
            located.next = start or moved or skip
            sized.next = located
            bounded.next = sized and not skip
            if start or moved:
                valid.next = False
            elif bounded:
                valid.next = True

    @always(clk.posedge)
    def walk():
        if start or to_head:
            if start:
                heads_left.next = plan.kv_heads
            else:
                heads_left.next = heads_left - 1
            rows_left.next = plan.rows
            keys_left.next = begin_keys
            block_keys.next = begin_keys
            passed.next = begin_passed
            block_passed.next = begin_passed
            diagonal.next = begin_diagonal
            block_diagonal.next = begin_diagonal
            member.next = 0
            block_member.next = 0
        elif to_block:
            rows_left.next = rows_left - run.q_rows
            keys_left.next = block_keys
            passed.next = block_passed - run.q_rows
            block_passed.next = block_passed - run.q_rows
            diagonal.next = next_diagonal
            block_diagonal.next = next_diagonal
            member.next = next_member
            block_member.next = next_member
        elif to_phase:
            keys_left.next = block_keys
            passed.next = block_passed
            diagonal.next = block_diagonal
            member.next = block_member
        elif to_tile or skip:
            keys_left.next = keys_left - tile_keys
            passed.next = passed + tile_rows
            diagonal.next = diagonal - tile_keys
            if skip:
                block_keys.next = keys_left - tile_keys
                block_passed.next = passed + tile_rows
                block_diagonal.next = diagonal - tile_keys

    @always(clk.posedge)
    def rows_and_phase():
        if start or to_first:
            first_row.next = 0
            fresh_from.next = 0
            at_first.next = True
            if not run.naive:
                phase.next = FLASH
            elif start or phase == VALUES:
                phase.next = SCORES
            else:
                phase.next = phase + 1
        elif to_tile:
            first_row.next = final_end
            fresh_from.next = row_end
            at_first.next = False

    @always(clk.posedge)
    def size():
        last_block.next = rows_left <= run.q_rows
        last_keys.next = keys_left <= tile_keys
        reach.next = passed + plan.window_rows
        window_less.next = plan.window_rows - 1
        last_seen.next = passed + window_less
        if rows_left <= run.q_rows:
            block_rows.next = rows_left[last_bits:]
        else:
            block_rows.next = run.q_rows
        if keys_left <= tile_keys:
            keys.next = keys_left[key_bits:]
        else:
            keys.next = tile_keys

    @always(clk.posedge)
    def bound():
        shared.next = fresh_from - first_row
        final_end.next = first_row
        row_end.next = block_rows
        if last_keys:
            final_end.next = block_rows
        else:
            if run.causal and passed > first_row:
                if passed > block_rows:
                    final_end.next = block_rows
                else:
                    final_end.next = passed[row_bits:]
            if run.windowed and reach < block_rows:
                row_end.next = reach[row_bits:]

    @always_comb
    def rows_again():
        if at_first:
            again.next = row_end
        else:
            again.next = shared

    @always(clk.posedge)
    def record():
        tile.phase.next = phase
        tile.streamed.next = row_end - first_row
        tile.finals.next = final_end - first_row
        tile.first_row.next = first_row
        tile.final_end.next = final_end
        tile.fresh_from.next = fresh_from
        tile.keys.next = keys
        tile.last.next = final_end == block_rows
        after.next = final_end == block_rows and (not run.naive or phase == VALUES)
        ends_head.next = final_end == block_rows and (not run.naive or phase == VALUES) and last_block
        tile.end.next = (
            final_end == block_rows and last_block and heads_left == 1 and (not run.naive or phase == VALUES)
        )
        # Past the first rows, a tile begins with the query whose own key is its first.
        if first_row == 0:
            tile.diagonal.next = diagonal
            tile.member.next = member
        else:
            tile.diagonal.next = 1
            tile.member.next = 0
        # Rows that the tile before had, too, come again after ROW_LOOP cycles.
        if again != 0 and again < loop:
            tile.idle.next = loop - again[again_bits:]
        else:
            tile.idle.next = 0
        rows.next = block_rows
        first.next = at_first

    return (
        constants, begin_values, add_members, next_block, skips, move, steps, walk, rows_and_phase, size, bound,
        rows_again, record,
    )  # fmt: skip
