"""The attention engine: one head a run, FLASH schedule."""

from myhdl import always, always_comb, block

from golden import latency
from golden.config import KEY_SLOTS, QUERY_SLOTS, VALUE_SLOTS
from golden.formats import MAX_BITS, OUTPUT_BITS, P_BITS, SHIFT_BITS
from hw.delay import Delays, delay
from hw.loader import loader
from hw.operand_buffer import operand_buffer, row_chunks
from hw.output_stage import output_stage
from hw.p_buffer import p_buffer
from hw.queue import queue
from hw.receiver import receiver
from hw.run_registers import Run, run_registers
from hw.score_accumulator import score_accumulator
from hw.score_sequencer import score_sequencer
from hw.signals import bit, index_bits, join, signed, unsigned
from hw.softmax_row import softmax_row
from hw.systolic_array import psum_bits, systolic_array
from hw.tile_walker import TileRecord, unpack_tile
from hw.value_sequencer import value_sequencer
from hw.weight_source import weight_source
from hw.writer import writer

TILE_QUEUE = 8  # tiles planned and not yet through Q.K^T: the K buffer's four, and one in the array's next weights


@block
def engine(clk, reset, start, busy, descriptor, read, write, counters, debug, config):
    """softmax(Q K^T * scale + mask) V for one head, tile by tile, K and V streaming past resident blocks of query rows.

    Latency: golden.cycles gives it to the cycle. Throughput: array_depth * array_keys multiplications a cycle in
    each of two arrays while blocks are long enough to hide the memory's traffic.

    Ports: clk; reset: synchronous, active high, at any time; start: accepted while not busy; busy: from the cycle
    after start to the last write accepted; descriptor: with start; read, write: memory ports; counters; debug:
    state of each row when it is final.
    """
    lanes, depth = config.array_keys, config.array_depth
    element_bits = config.element_bits
    array_latency = latency.array(config)
    row_bits, chunk_bits = index_bits(config.max_rows), index_bits(row_chunks(config))
    run, accept, begin_run, done = Run(config), bit(), bit(), bit()
    instances = []

    later = Delays(clk, reset)

    def row_like():
        return unsigned(row_bits)

    # ---- control: start, busy, counters

    computing, first_row_read, last_output = bit(), bit(), bit()
    tile_pop, any_saturated = bit(), bit()

    @always_comb
    def accept_start():
        accept.next = start and not busy and not reset

    @always(clk.posedge)
    def control():
        begin_run.next = accept
        if reset:
            busy.next = False
            computing.next = False
        else:
            if accept:
                busy.next = True
            elif done:
                busy.next = False
            if first_row_read:
                computing.next = True
            elif last_output:
                computing.next = False

    @always(clk.posedge)
    def count():
        if reset or accept:
            counters.busy.next = 0
            counters.compute.next = 0
            counters.tiles.next = 0
            counters.saturated.next = False
        else:
            if busy:
                counters.busy.next = counters.busy + 1
            if computing or first_row_read:
                counters.compute.next = counters.compute + 1
            if tile_pop:
                counters.tiles.next = counters.tiles + 1
            if any_saturated:
                counters.saturated.next = True

    instances += [accept_start, control, count, run_registers(clk, reset, accept, descriptor, run, config)]

    # ---- memory reads: planner, bursts, and words into the buffers

    planned, tile = TileRecord(config), TileRecord(config)
    tile_push, tile_valid = bit(), bit()
    planned_bits, tile_head = unsigned(planned.bits), unsigned(planned.bits)
    load_row_bits = max(config.max_rows, lanes).bit_length()  # a load is a block of Q rows or a tile of keys
    load_push, load_kind, load_rows = bit(), unsigned(2), unsigned(load_row_bits)
    k_release, q_release, v_release = bit(), bit(), bit()
    word, write_word = unsigned(config.word_bits), unsigned(index_bits(config.row_words))
    k_write, q_write, v_write, k_done, q_done, v_done = (bit() for _ in range(6))
    k_row, v_row = unsigned(index_bits(KEY_SLOTS * lanes)), unsigned(index_bits(VALUE_SLOTS * lanes))
    q_row = unsigned(index_bits(QUERY_SLOTS * config.max_rows))
    done_rows = unsigned(load_row_bits)
    instances += [
        loader(
            clk, reset, begin_run, run, k_release, q_release, v_release,
            read, planned, tile_push, load_push, load_kind, load_rows, counters, config,
        ),
        join(planned.signals(), planned_bits),
        queue(clk, reset, tile_push, planned_bits, tile_pop, tile_head, tile_valid, TILE_QUEUE),
        unpack_tile(tile_head, tile),
        receiver(
            clk, reset, load_push, load_kind, load_rows, read.data_valid, read.data, run.qk_words, run.v_words,
            word, write_word, k_write, k_row, q_write, q_row, v_write, v_row, k_done, q_done, v_done, done_rows,
        ),
    ]  # fmt: skip

    # ---- Q.K^T: weights, rows, array, partial sums

    score_go, p_release, p_released = bit(), bit(), unsigned(len(tile.streamed))
    k_ready, k_shift, k_first, k_weights = bit(), bit(), bit(), unsigned(depth * element_bits)
    q_read_row, q_read_chunk, q_mask = unsigned(len(q_row)), unsigned(chunk_bits), unsigned(depth)
    score_valid, score_swap, first_chunk, last_chunk, pass_row, start_tile = (bit() for _ in range(6))
    row_final, last_final = bit(), bit()
    score_row, visible = row_like(), unsigned(len(tile.keys))
    q_rows = unsigned(depth * element_bits)
    score_bound = 1 << (2 * element_bits - 2)
    partial = unsigned(lanes * psum_bits(score_bound, depth))
    scores = unsigned(lanes * config.score_bits)
    out_at = latency.FEED + array_latency
    row_late = later(score_row, out_at - 2)
    row_partial = later(row_late, 2)
    last_valid = bit()

    @always_comb
    def last_valid_row():
        last_valid.next = score_valid and last_chunk
        first_row_read.next = score_valid

    instances += [
        last_valid_row,
        weight_source(
            clk, reset, k_write, k_row, write_word, word, k_done, done_rows, run.qk_chunks, run.qk_mask, score_go,
            k_ready, k_release, k_weights, k_shift, k_first, KEY_SLOTS, config,
        ),
        score_sequencer(
            clk, reset, run.causal, run.qk_chunks, run.qk_mask, tile, tile_valid, k_ready, q_done, p_release,
            p_released, score_go, tile_pop, q_release, q_read_row, q_read_chunk, q_mask, score_valid, score_swap,
            score_row, first_chunk, last_chunk, pass_row, visible, start_tile, row_final, last_final, config,
        ),
        operand_buffer(
            clk, q_write, q_row, write_word, word, q_read_row, q_read_chunk, q_mask, q_rows, config,
            QUERY_SLOTS * config.max_rows,
        ),
        systolic_array(
            clk, q_rows, partial, k_weights, k_shift, k_first, later(score_swap, latency.FEED, True),
            depth, lanes, element_bits, element_bits, score_bound, "columns", array_latency,
        ),
        score_accumulator(
            clk, partial, row_late, row_partial, later(first_chunk, out_at - 1),
            later(score_valid, out_at, True), scores, config,
        ),
    ]  # fmt: skip

    # ---- softmax and the P buffer

    p, p_valid, p_row = unsigned(lanes * P_BITS), bit(), row_like()
    p_shift, p_fresh = unsigned(SHIFT_BITS), bit()
    total, maximum, seen, saturated = unsigned(config.sum_bits), signed(MAX_BITS), bit(), bit()
    scores_at = out_at + latency.SCORE_SUM
    p_at = latency.row_to_p(config)
    p_index_bits = index_bits(config.p_rows)
    p_index, read_index = unsigned(p_index_bits), unsigned(p_index_bits)
    p_final, p_last_final = later(row_final, p_at), later(last_final, p_at)
    act, act_row, act_shift = unsigned(lanes * (P_BITS + 1)), row_like(), unsigned(SHIFT_BITS)
    act_fresh, act_final, act_last_final = bit(), bit(), bit()

    @always_comb
    def saturation():
        any_saturated.next = p_valid and saturated

    instances += [
        saturation,
        softmax_row(
            clk, reset, later(last_valid, scores_at, True), scores, later(row_partial, latency.SCORE_SUM),
            later(start_tile, scores_at), later(visible, scores_at),
            run.scale_mantissa, run.scale_shift,
            p, p_valid, p_row, p_shift, p_fresh, total, maximum, seen, saturated, config,
        ),
        p_buffer(
            clk, reset, p_valid, p, p_row, p_shift, p_fresh, p_final, p_last_final, p_index,
            read_index, act, act_row, act_shift, act_fresh, act_final, act_last_final, config,
        ),
    ]  # fmt: skip

    # ---- P.V, normalisation, memory writes

    value_go, output_pop = bit(), bit()
    v_ready, v_shift, v_first, v_weights = bit(), bit(), bit(), unsigned(depth * element_bits)
    value_valid, value_swap, value_chunk = bit(), bit(), unsigned(len(run.v_chunks))
    value_last_chunk, value_end = bit(), bit()
    value_bound = 1 << (P_BITS - 1 + element_bits - 1)
    products = unsigned(depth * psum_bits(value_bound, lanes))
    normalised = unsigned(depth * OUTPUT_BITS)
    push, out_last_final, out_last_chunk, out_end = bit(), bit(), bit(), bit()

    @always_comb
    def last_push():
        last_output.next = push and out_end and out_last_final and out_last_chunk

    instances += [
        last_push,
        weight_source(
            clk, reset, v_write, v_row, write_word, word, v_done, done_rows, run.v_chunks, run.v_mask, value_go,
            v_ready, v_release, v_weights, v_shift, v_first, VALUE_SLOTS, config,
        ),
        value_sequencer(
            clk, reset, run.v_chunks, tile_pop, tile.streamed, tile.finals, tile.end, later(pass_row, p_at +
            latency.reciprocal_wait(config), True), v_ready, output_pop, value_go, p_release, p_released,
            read_index, value_valid, value_swap, value_chunk, value_last_chunk, value_end, config,
        ),
        systolic_array(
            clk, act, products, v_weights, v_shift, v_first, later(value_swap, latency.FEED, True),
            lanes, depth, P_BITS + 1, element_bits, value_bound, "rows", array_latency,
        ),
        output_stage(
            clk, reset, value_valid, read_index, value_chunk, value_last_chunk, value_end,
            act_row, act_shift, act_fresh, act_final, act_last_final, products,
            p_valid, p_final, p_index, total, maximum, seen,
            normalised, push, out_last_final, out_last_chunk, out_end, debug, config,
        ),
        writer(
            clk, reset, begin_run, push, normalised, out_last_final, out_last_chunk, out_end, run.o_address,
            run.o_stride, run.tail_elements, write, output_pop, done, counters.o_bytes, config, config.output_rows,
        ),
    ]  # fmt: skip
    return instances, [delay(*line) for line in later.lines]
