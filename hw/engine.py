"""The attention engine: one descriptor a run, FLASH or NAIVE schedule."""

from myhdl import always_comb, block

from golden import latency
from golden.config import KEY_SLOTS, QUERY_SLOTS, SCRATCH_SLOTS, VALUE_SLOTS
from golden.formats import MAX_BITS, OUTPUT_BITS, P_BITS, SHIFT_BITS, Z_BITS
from golden.naive import S_SHIFT
from hw.delay import Delays, delay_lines
from hw.leaving_rows import OutputFlags, leaving_rows
from hw.loader import loader
from hw.operand_buffer import operand_buffer, row_chunks
from hw.output_stage import output_stage
from hw.p_buffer import p_buffer
from hw.ports import WritePort
from hw.queue import queue
from hw.receiver import receiver
from hw.replay_buffer import replay_buffer
from hw.run_control import run_control
from hw.run_plan import Plan
from hw.run_registers import Run
from hw.score_accumulator import score_accumulator
from hw.score_sequencer import RowFlags, score_sequencer
from hw.signals import bit, index_bits, join, signed, unsigned
from hw.softmax_row import softmax_row
from hw.systolic_array import psum_bits, systolic_array
from hw.tile_walker import TileRecord, unpack_tile
from hw.value_sequencer import value_sequencer
from hw.visible_keys import visible_keys
from hw.weight_source import weight_source
from hw.write_slice import write_slice
from hw.writer import Leaving, writer

TILE_QUEUE = 8  # tiles planned and not yet through Q.K^T: the K buffer's four, and one in the array's next weights


@block
def engine(clk, reset, start, busy, descriptor, read, write, status, counters, debug, config):
    """softmax(Q K^T * scale + mask) V, tile by tile, K and V streaming past resident blocks of query rows.

    Latency: golden.cycles gives it to the cycle. Throughput: array_depth * array_keys multiplications a cycle in
    each of two arrays while blocks are long enough to hide the memory's traffic.

    Ports: clk; reset: synchronous, active high, at any time; start: accepted while not busy; busy: from the cycle
    after start to the last write accepted, or to the refusal; descriptor: with start; read, write: memory ports;
    status; counters; debug: state of each row when it is final.
    """
    lanes, depth = config.array_keys, config.array_depth
    element_bits = config.element_bits
    array_latency = latency.array(config)
    row_bits, chunk_bits = index_bits(config.max_rows), index_bits(row_chunks(config))
    run, plan, walk, begin_run, done = Run(config), Plan(config), bit(), bit(), bit()
    instances = []

    later = Delays(clk, reset)

    # ---- start, busy, counters

    scored, value_valid, last_output, tile_pop, tile_scored, under_way = (bit() for _ in range(6))
    out_of_range = unsigned(lanes)
    instances += [
        run_control(
            clk, reset, start, busy, descriptor, run, plan, walk, begin_run, done, scored, value_valid, last_output,
            tile_scored, under_way, out_of_range, status, counters, config,
        ),
    ]  # fmt: skip

    # ---- memory reads: planner, bursts, and words into the buffers

    planned, tile = TileRecord(config), TileRecord(config)
    tile_push, tile_valid = bit(), bit()
    planned_bits, tile_head = unsigned(planned.bits), unsigned(planned.bits)
    load_row_bits = max(config.max_rows, lanes).bit_length()  # a load is a block of rows or a tile of keys
    load_push, load_kind, load_rows = bit(), unsigned(2), unsigned(load_row_bits)
    load_words = unsigned(config.burst_words.bit_length())
    k_release, q_release, v_release, s_release, block_stored = (bit() for _ in range(5))
    word, write_word = unsigned(config.word_bits), unsigned(index_bits(config.burst_words))
    k_write, q_write, v_write, s_write, k_done, q_done, v_done, s_done = (bit() for _ in range(8))
    k_row, v_row = unsigned(index_bits(KEY_SLOTS * lanes)), unsigned(index_bits(VALUE_SLOTS * lanes))
    q_row = unsigned(index_bits(QUERY_SLOTS * config.max_rows))
    s_row = unsigned(index_bits(SCRATCH_SLOTS * config.max_rows))
    done_rows = unsigned(load_row_bits)
    instances += [
        loader(
            clk, reset, walk, begin_run, run, plan, k_release, q_release, v_release, s_release, block_stored,
            read, planned, tile_push, load_push, load_kind, load_rows, load_words, counters, config,
        ),
        join(planned.signals(), planned_bits),
        queue(clk, reset, tile_push, planned_bits, tile_pop, tile_head, tile_valid, TILE_QUEUE),
        unpack_tile(tile_head, tile),
        receiver(
            clk, reset, load_push, load_kind, load_rows, load_words, read.data_valid, read.data,
            word, write_word, k_write, k_row, q_write, q_row, v_write, v_row, s_write, s_row,
            k_done, q_done, v_done, s_done, done_rows, under_way,
        ),
    ]  # fmt: skip

    # ---- Q.K^T: weights, rows, array, partial sums

    score_go, value_tile, p_release, p_released = bit(), bit(), bit(), unsigned(len(tile.streamed))
    k_ready, k_shift, k_first, k_weights = bit(), bit(), bit(), unsigned(depth * element_bits)
    q_read_row, q_read_chunk, q_mask = unsigned(len(q_row)), unsigned(chunk_bits), unsigned(depth)
    valid, score_swap, first_chunk, last_chunk, pass_row, stored = (bit() for _ in range(6))
    row = RowFlags(row_bits, len(tile.diagonal), len(tile.keys))
    replay_row = unsigned(len(s_row))
    q_rows = unsigned(depth * element_bits)
    score_bound = 1 << (2 * element_bits - 2)
    partial = unsigned(lanes * psum_bits(score_bound, depth))
    scores = unsigned(lanes * config.score_bits)
    out_at = latency.FEED + array_latency
    row_late = later(row.row, out_at - 2)
    row_partial = later(row_late, 2)
    last_valid = bit()

    @always_comb
    def last_valid_row():
        last_valid.next = valid and last_chunk
        tile_scored.next = tile_pop and score_go

    instances += [
        last_valid_row,
        weight_source(
            clk, reset, k_write, k_row, write_word, word, k_done, done_rows, run.qk_chunks, run.qk_mask, score_go,
            k_ready, k_release, k_weights, k_shift, k_first, KEY_SLOTS, config,
        ),
        score_sequencer(
            clk, reset, run, tile, tile_valid, k_ready, q_done, s_done, p_release, p_released, stored,
            score_go, tile_pop, value_tile, q_release, s_release, q_read_row, q_read_chunk, q_mask, replay_row, valid,
            scored, score_swap, first_chunk, last_chunk, pass_row, row, config,
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
            later(scored, out_at, True), scores, config,
        ),
    ]  # fmt: skip

    # ---- softmax, the P buffer, and S and P to memory and back

    p, p_valid, p_row = unsigned(lanes * P_BITS), bit(), unsigned(row_bits)
    p_shift, p_fresh = unsigned(SHIFT_BITS), bit()
    total, maximum, seen = unsigned(config.sum_bits), signed(MAX_BITS), bit()
    scores_at = out_at + latency.SCORE_SUM
    z_at, p_at = scores_at + latency.scale(config), latency.row_to_p(config)
    p_index_bits = index_bits(config.p_rows)
    p_index, read_index = unsigned(p_index_bits), unsigned(p_index_bits)
    act, act_row, act_shift = unsigned(lanes * (P_BITS + 1)), unsigned(row_bits), unsigned(SHIFT_BITS)
    act_fresh, act_final, act_last_final = bit(), bit(), bit()
    seen_keys = unsigned(lanes)
    visible = later(seen_keys, scores_at - 3)
    replayed, replayed_p = later(row.replayed, scores_at), later(row.replayed_p, scores_at)
    from_memory, z = unsigned(lanes * OUTPUT_BITS), unsigned(lanes * (Z_BITS - S_SHIFT + 1))
    z_out_of_range = unsigned(lanes)
    early_row = later(replay_row, z_at - 2)
    p_write = bit()
    to_values_p, p_final = later(row.to_values, p_at), later(row.final, p_at)
    z_keys, z_last = later(row.keys, z_at), later(row.last_stored, z_at)
    instances += [
        visible_keys(
            clk, run.causal, run.windowed, run.window, row.limit, row.keys, seen_keys,
        ),
        replay_buffer(
            clk, s_write, s_row, write_word, word, early_row, later(early_row, p_at - z_at),
            later(row.replayed_p, p_at - 2), from_memory, config,
        ),
        softmax_row(
            clk, reset, later(last_valid, scores_at, True), scores, later(row_partial, latency.SCORE_SUM),
            later(row.start, scores_at), visible, run.scale_mantissa, run.scale_shift, replayed,
            later(row.keeps_maximum, scores_at), replayed_p, from_memory, from_memory,
            z, z_out_of_range, p, p_valid, p_row, p_shift, p_fresh, total, maximum, seen, config,
        ),
        p_buffer(
            clk, reset, p_write, p, p_row, p_shift, p_fresh, p_final, later(row.last_final, p_at),
            p_index, read_index, act, act_row, act_shift, act_fresh, act_final, act_last_final, config,
        ),
    ]  # fmt: skip

    @always_comb
    def rows_for_values():
        p_write.next = p_valid and to_values_p

    # ---- P.V, normalisation, memory writes

    value_go, output_pop = bit(), bit()
    v_ready, v_shift, v_first, v_weights = bit(), bit(), bit(), unsigned(depth * element_bits)
    value_swap, value_chunk = bit(), unsigned(len(run.v_chunks))
    value_last_chunk, value_last, value_end = bit(), bit(), bit()
    value_bound = 1 << (P_BITS - 1 + element_bits - 1)
    products = unsigned(depth * psum_bits(value_bound, lanes))
    normalised = unsigned(depth * OUTPUT_BITS)
    finished, leaving, row_state = OutputFlags(), Leaving(config), unsigned(MAX_BITS + config.sum_bits)
    output_push, push = bit(), bit()
    stores_s, stores_p, unscaled = bit(), bit(), bit()
    offered, block_end, run_end = WritePort(config), bit(), bit()

    @always_comb
    def stores():
        stores_s.next = valid and last_chunk and row.to_memory and not row.stored_p
        stores_p.next = valid and last_chunk and row.to_memory and row.stored_p
        unscaled.next = valid and last_chunk and not row.replayed

    @always_comb
    def last_push():
        last_output.next = output_push and finished.end and finished.last_final and finished.last_chunk

    instances += [
        stores,
        last_push,
        rows_for_values,
        join([debug.total, debug.maximum], row_state),
        weight_source(
            clk, reset, v_write, v_row, write_word, word, v_done, done_rows, run.v_chunks, run.v_mask, value_go,
            v_ready, v_release, v_weights, v_shift, v_first, VALUE_SLOTS, config,
        ),
        value_sequencer(
            clk, reset, run.v_chunks, later(value_tile, 1, True), later(tile.streamed, 1), later(tile.finals, 1),
            later(tile.idle, 1), later(tile.last, 1), later(tile.end, 1),
            later(pass_row, p_at + latency.reciprocal_wait(config), True), v_ready, output_pop, value_go, p_release,
            p_released, read_index, value_valid, value_swap, value_chunk, value_last_chunk, value_last, value_end,
            config,
        ),
        systolic_array(
            clk, act, products, v_weights, v_shift, v_first, later(value_swap, latency.FEED, True),
            lanes, depth, P_BITS + 1, element_bits, value_bound, "rows", array_latency,
        ),
        output_stage(
            clk, reset, value_valid, read_index, value_chunk, value_last_chunk, value_last, value_end,
            act_row, act_shift, act_fresh, act_final, act_last_final, products,
            p_write, p_final, p_index, total, maximum, seen,
            normalised, output_push, finished.last_final, finished.last_chunk, finished.last, finished.end,
            debug, config,
        ),
        leaving_rows(
            clk, reset, run.tail_elements, normalised, output_push, finished, later(unscaled, z_at, True),
            later(stores_s, z_at, True), z, z_out_of_range, later(visible, latency.scale(config)),
            z_keys, z_last, later(stores_p, p_at, True), p, later(z_keys, p_at - z_at),
            later(z_last, p_at - z_at), push, leaving, out_of_range, config,
        ),
        writer(
            clk, reset, walk, begin_run, run, push, leaving, debug.valid, row_state, offered, output_pop, stored,
            block_end, run_end, counters, config,
        ),
        write_slice(clk, reset, offered, block_end, run_end, write, block_stored, done),
    ]  # fmt: skip
    return instances, delay_lines(later)
