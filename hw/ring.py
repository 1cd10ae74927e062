"""Delay of wide signals in RAM."""

from myhdl import Signal, always, always_comb, block, intbv

from hw.signals import index_bits, unsigned, wrapping


@block
def ring(clk, reset, d, q, cycles):
    """q is d, `cycles` clock cycles later, 3 to 64. One value a cycle.

    A small memory instead of a register for each cycle and bit: synthesis makes distributed RAM of it. What is under
    way during reset arrives at another time, or not at all.

    Ports: clk; reset: only there to give the places a value; d (in), q (out): unsigned, of the same width.
    """
    assert 3 <= cycles <= 64, f"a ring delays by 3 to 64 cycles, not {cycles}"
    # One place more than words under way, so that no place is read and written in the same cycle.
    bits = index_bits(cycles)
    memory = [Signal(intbv(0)[len(d) :]) for _ in range(1 << bits)]
    write_place, read_place = wrapping(bits), wrapping(bits)
    ahead = (1 << bits) - (cycles - 1) + 1  # modulo the places: as far behind as words are under way, in the next cycle
    oldest = unsigned(len(d))

    @always_comb
    def read():
        oldest.next = memory[read_place]

    @always(clk.posedge)
    def turn():
        memory[write_place].next = d
        q.next = oldest
        read_place.next = write_place + ahead
        if reset:
            write_place.next = 0
        else:
            write_place.next = write_place + 1

    return read, turn
