"""What requests ask for, on registers and memory."""

from myhdl import always, always_comb, block, concat

from golden.config import log2_ceil
from hw.register_file import REGISTER_LATENCY
from hw.signals import bit, index_bits, unsigned, wrapping
from hw.uart.protocol import (
    CONTROL_COMMAND,
    IDENTITY,
    IDENTITY_BYTES,
    REGISTER_BYTES,
    START_BIT,
    STATUS_STATE,
    Command,
    FrameStatus,
)

PING, READ_REGISTERS, WRITE_REGISTERS, READ_MEMORY, WRITE_MEMORY, START, STATUS = (int(item) for item in Command)
OK, BAD_CRC, BAD_COMMAND, BAD_LENGTH, BAD_ADDRESS, TIMEOUT, BUSY, FRAMING = (int(item) for item in FrameStatus)

IDLE, EXAMINE, JUDGE, FETCH, SHOW, LOAD, COME, TAKE, STORE, SEND, ANSWER = range(11)


@block
def commands(
    clk, reset, request, ended, error, payload_address, payload, send, status, left, data, data_valid, take, done,
    bus, busy, memory_write, memory_address, memory_data, memory_q, memory_latency,
):  # fmt: skip
    """Execute a request, byte by byte, and have it answered.

    Latency: three cycles to the verdict. Throughput: three cycles a byte written and one a word; a byte read as it is
    taken, and memory_latency + 1 cycles a word. Both are less than the line takes.

    Ports: clk, reset; request, ended, error, payload_address, payload: see frame_reader, whose resume is done; request
    stays as it is from two cycles before ended; send, status, left, data, data_valid, take, done: see
    frame_writer, takes are two cycles apart at least; bus: RegisterBus; busy: memory is not to be used; memory_write,
    memory_address, memory_data: write a word; memory_q: the word at memory_address, memory_latency cycles later.

    Parameters: memory_latency: at least 1. The word's width is that of memory_data, 2 bytes or more.
    """
    assert memory_latency >= 1, f"memory answers after a cycle at least, not {memory_latency}"
    word_bits = len(memory_data)
    word_shift = log2_ceil(word_bits // 8)
    memory_bytes = 1 << (len(memory_address) + word_shift)
    address_bits = index_bits(max(memory_bytes, REGISTER_BYTES))
    register_bits, held_bits = index_bits(REGISTER_BYTES), max(word_bits, 32)
    fetch_cycles = max(REGISTER_LATENCY, memory_latency)

    start = START_BIT << (held_bits - 32)
    state = unsigned(4)
    # Byte address of what is under way; its low bits tell where in a word that is.
    address, beyond = wrapping(address_bits), unsigned(max(address_bits, len(left)) + 1)
    word = unsigned(held_bits)
    waited = unsigned(fetch_cycles.bit_length())
    # Registers, since much hangs on them, and what they follow from has been there for long.
    of_memory, of_registers, pings, starts, asks_status, plain, unknown, writes = (bit() for _ in range(8))
    ends_word, last, passes, moves = (bit() for _ in range(4))
    empty, has_address, far, misaligned, odd_length = (bit() for _ in range(5))
    outside, bad_length, bad_address = (bit() for _ in range(3))
    fault = unsigned(len(status))

    @always(clk.posedge)
    def kind():
        of_memory.next = request.command == READ_MEMORY or request.command == WRITE_MEMORY
        of_registers.next = request.command != READ_MEMORY and request.command != WRITE_MEMORY
        pings.next = request.command == PING
        starts.next = request.command == START
        asks_status.next = request.command == STATUS
        plain.next = request.command == PING or request.command == START or request.command == STATUS
        unknown.next = request.command > STATUS
        writes.next = request.command == WRITE_REGISTERS or request.command == WRITE_MEMORY

    @always(clk.posedge)
    def word_end():
        last.next = left == 1
        if of_memory:
            ends_word.next = address[word_shift:] == (1 << word_shift) - 1
        else:
            ends_word.next = address[2:] == 3

    @always_comb
    def verdict():
        if plain:
            bad_length.next = not empty
            bad_address.next = has_address
        else:
            bad_length.next = empty or odd_length
            bad_address.next = far or misaligned or outside

    @always_comb
    def extent():
        if of_memory:
            outside.next = beyond > memory_bytes
        else:
            outside.next = beyond > REGISTER_BYTES

    @always(clk.posedge)
    def examine():
        beyond.next = request.address[address_bits:] + request.length[len(left) :]
        empty.next = request.length == 0
        has_address.next = request.address != 0
        far.next = request.address[:address_bits] != 0
        if of_memory:
            odd_length.next = request.length[word_shift:] != 0
            misaligned.next = request.address[word_shift:] != 0
        else:
            odd_length.next = request.length[2:] != 0
            misaligned.next = request.address[2:] != 0

    @always(clk.posedge)
    def judge():
        if error != OK:
            fault.next = error
        elif unknown:
            fault.next = BAD_COMMAND
        elif bad_length:
            fault.next = BAD_LENGTH
        elif bad_address:
            fault.next = BAD_ADDRESS
        elif of_memory and busy:
            fault.next = BUSY
        else:
            fault.next = OK

    @always(clk.posedge)
    def execute():
        if reset:
            state.next = IDLE
            status.next = OK
        elif state == IDLE:
            if ended:
                state.next = EXAMINE
        elif state == EXAMINE:
            state.next = JUDGE
        elif state == JUDGE:
            status.next = fault
            state.next = SEND
            if fault == OK and starts:
                state.next = STORE
            elif fault == OK and writes:
                state.next = LOAD
        elif state == SEND:
            waited.next = 0
            if left == 0:
                state.next = ANSWER
            else:
                state.next = FETCH
        elif state == FETCH:
            if waited != fetch_cycles:
                waited.next = waited + 1
            else:
                state.next = SHOW
        elif state == SHOW:
            waited.next = 0
            if take and last:
                state.next = ANSWER
            elif take and ends_word:
                state.next = FETCH
        elif state == LOAD:
            state.next = COME
        elif state == COME:
            state.next = TAKE
        elif state == TAKE:
            if ends_word:
                state.next = STORE
            else:
                state.next = LOAD
        elif state == STORE:
            if left == 0:
                state.next = SEND
            else:
                state.next = LOAD
        elif done:
            state.next = IDLE

    @always_comb
    def steps():
        passes.next = (state == SHOW and take) or state == TAKE
        moves.next = (state == SHOW and take) or (state == TAKE and not ends_word) or state == STORE

    @always(clk.posedge)
    def place():
        if reset:
            address.next = 0
        elif state == IDLE:
            address.next = request.address[address_bits:]
        elif state == JUDGE and plain:
            if pings:
                address.next = IDENTITY
            elif asks_status:
                address.next = STATUS_STATE
            else:
                address.next = CONTROL_COMMAND
        elif moves:
            address.next = address + 1

    @always(clk.posedge)
    def count():
        if reset:
            left.next = 0
        elif state == IDLE:
            left.next = request.length[len(left) :]
        elif state == JUDGE and fault != OK:
            left.next = 0
        elif state == JUDGE and pings:
            left.next = IDENTITY_BYTES
        elif state == JUDGE and asks_status:
            left.next = 4
        elif passes:
            left.next = left - 1

    @always(clk.posedge)
    def hold():
        if state == IDLE:
            word.next = start
        elif state == FETCH:
            if of_memory:
                word.next = memory_q
            else:
                word.next = bus.q
        elif state == TAKE:
            word.next = concat(payload, word[held_bits:8])
        elif take:
            word.next = word >> 8

    @always_comb
    def answer():
        send.next = state == SEND
        data.next = word[8:]
        data_valid.next = state == SHOW

    @always_comb
    def ports():
        payload_address.next = left[len(payload_address) :]
        bus.address.next = address[register_bits:2]
        bus.data.next = word[held_bits : held_bits - 32]
        bus.strobe.next = 0xF
        bus.write.next = state == STORE and of_registers
        memory_address.next = address[len(memory_address) + word_shift : word_shift]
        memory_data.next = word[held_bits : held_bits - word_bits]
        memory_write.next = state == STORE and of_memory

    return kind, word_end, verdict, extent, examine, judge, execute, steps, place, count, hold, answer, ports
