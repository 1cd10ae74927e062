"""Tile walker: the schedule of golden.schedule.walk in hardware."""

from myhdl import always, always_comb, block

from hw.signals import bit, copy, signed, to_signed, unsigned


class TileRecord:
    """What the sequencers need to know of one tile; see golden.schedule.Tile."""

    FIELDS = ("streamed", "finals", "first_row", "final_end", "diagonal", "keys", "first", "last", "end")

    def __init__(self, config):
        row_bits = config.max_rows.bit_length()
        self.streamed = unsigned(row_bits)
        self.finals = unsigned(row_bits)
        self.first_row = unsigned(row_bits)
        self.final_end = unsigned(row_bits)
        self.diagonal = signed(position_bits(config))
        self.keys = unsigned(config.array_keys.bit_length())
        self.first = bit()  # first tile of its block
        self.last = bit()  # last tile of its block
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
def tile_walker(clk, start, advance, n_q, n_kv, q_rows, q_position, causal, tile, rows, config):
    """Walk blocks of query rows, and for each the tiles of keys it sees.

    Latency: the record of the first tile one cycle after start, of the next one cycle after advance. Throughput: a
    record each cycle.

    Ports: clk; start: begin at row 0, key 0; advance: next tile; n_q, n_kv, q_rows, q_position, causal:
    descriptor, constant during a run; tile: TileRecord, rows: rows of its block (out), combinational from the
    walker's registers.
    """
    tile_keys = config.array_keys
    length_bits, row_bits, key_bits = len(n_q), len(rows), len(tile.keys)
    last_bits = min(row_bits, length_bits)  # of the rows that are left for the last block
    rows_left, keys_left = unsigned(length_bits), unsigned(length_bits)
    block_diagonal = signed(len(tile.diagonal))
    boundary = signed(len(tile.diagonal) + 1)
    final_end, first_row = unsigned(row_bits), unsigned(row_bits)
    last_keys, last_block = bit(), bit()
    first = bit()
    diagonal = signed(len(tile.diagonal))

    @always_comb
    def shape():
        last_block.next = rows_left <= q_rows
        last_keys.next = keys_left <= tile_keys
        boundary.next = tile_keys + 1 - diagonal
        if rows_left <= q_rows:
            rows.next = rows_left[last_bits:]
        else:
            rows.next = q_rows
        if keys_left <= tile_keys:
            tile.keys.next = keys_left[key_bits:]
        else:
            tile.keys.next = tile_keys

    @always_comb
    def finals():
        if last_keys:
            final_end.next = rows
        elif causal and boundary > first_row:
            if boundary > rows:
                final_end.next = rows
            else:
                final_end.next = boundary[row_bits:]
        else:
            final_end.next = first_row

    @always_comb
    def record():
        tile.streamed.next = rows - first_row
        tile.finals.next = final_end - first_row
        tile.first_row.next = first_row
        tile.final_end.next = final_end
        tile.diagonal.next = diagonal
        tile.first.next = first
        tile.last.next = final_end == rows
        tile.end.next = final_end == rows and last_block

    @always(clk.posedge)
    def step():
        if start:
            rows_left.next = n_q
            keys_left.next = n_kv
            first_row.next = 0
            first.next = True
            diagonal.next = q_position + 1
            block_diagonal.next = q_position + 1
        elif advance:
            if final_end == rows:
                rows_left.next = rows_left - rows
                keys_left.next = n_kv
                first_row.next = 0
                first.next = True
                diagonal.next = block_diagonal + q_rows
                block_diagonal.next = block_diagonal + q_rows
            else:
                keys_left.next = keys_left - tile_keys
                first_row.next = final_end
                first.next = False
                diagonal.next = diagonal - tile_keys

    return shape, finals, record, step
