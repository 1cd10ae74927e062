"""Pipeline depths of the blocks, in cycles: the cycle model and the hardware both read them here."""

from __future__ import annotations

from golden.config import EngineConfig, log2_ceil

DIVIDE = 10  # heads and rows of a block by the group: load, 9 bits
PRODUCT = 3  # of the run plan: factors chosen to product
FEED = 3  # operand buffer: address to array input (block RAM, its flip-flop, mask)
SHIFTER = 3  # rounding right shift by up to 63, two levels a stage
SCALE = 7  # S to z: split product 3, shifter 3, round and saturate 1
CEIL_KEY = 1  # z to the comparison key {integer part, fraction != 0}
MAXIMUM = 2  # tile maximum to m: ceil, compare with the running maximum
EXP2 = 6  # m and z to p: subtract, table 2, shift 3
SCORE_SUM = 1  # array output to S
SUM = 1  # last level of the p adder tree to l
RECIPROCAL = 11  # l to 1/l
ACCUMULATE = 1  # array output to O
SCRATCH = 2  # z to a row of S, or p to a row of P, for memory
OUTPUT_READ_AHEAD = 5  # O RAM address ahead of the array output: block RAM, its flip-flop, shifter
NORMALISE = 7  # O to the 16-bit output

ROW_LOOP = 7  # longest read-modify-write loop of a row's state, that of O: 2 + SHIFTER + add + write


def array(config: EngineConfig) -> int:
    """Input of a row to its deskewed output; small arrays are padded to cover the O RAM's read-ahead."""
    return max(config.array_depth + config.array_keys + 2, OUTPUT_READ_AHEAD)


def tree(config: EngineConfig) -> int:
    """Levels of the maximum and adder trees over the C lanes, a register each."""
    return log2_ceil(config.array_keys)


def shared(config: EngineConfig) -> int:
    """What it takes besides to send a row through fewer lanes than it has: taken over, passed on, put together."""
    return config.row_cycles + 1 if config.row_cycles > 1 else 0


def scale(config: EngineConfig) -> int:
    """S to z of a whole row."""
    return SCALE + shared(config)


def softmax(config: EngineConfig) -> int:
    """S to p."""
    return scale(config) + CEIL_KEY + tree(config) + MAXIMUM + EXP2 + shared(config)


def row_to_p(config: EngineConfig) -> int:
    """Read address of a Q row to its p being written to the P buffer."""
    return FEED + array(config) + SCORE_SUM + softmax(config)


def reciprocal_wait(config: EngineConfig) -> int:
    """Cycles that P.V of a row must be held back for 1/l to be in its RAM when O is normalised."""
    written = tree(config) + SUM + RECIPROCAL + 1  # after p is written: 1/l can be read from its RAM
    o_ready = 2 + FEED + array(config) + ACCUMULATE  # at the earliest: started seen, first row read, O computed
    return max(0, written - (o_ready - 2))  # the RAM and its flip-flop take two cycles


def check(job) -> int:
    """Start accepted to the verdict on its descriptor: a product a cycle, those that the run needs."""
    many, grouped, windowed = job.heads > 1, job.group > 1, job.window is not None
    products = 4 + job.state + many * (4 + job.state) + 3 * grouped + job.naive + 3 * windowed
    return products + PRODUCT + 3 + DIVIDE * grouped


def idle(again: int) -> int:
    """Cycles to leave free between passes, so that a row comes again after ROW_LOOP; again: rows that both have."""
    return max(0, ROW_LOOP - again) if again else 0


def replay_read(config: EngineConfig) -> int:
    """A pass of S or P decided to its first row being read from its slot, at the latest (P)."""
    return 1 + row_to_p(config)
