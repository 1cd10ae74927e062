"""Counters of what a run loads."""

from myhdl import always, block

from hw.signals import bit, unsigned

LOAD_K, LOAD_Q, LOAD_V, LOAD_S = range(4)  # kinds of loads; S stands for P, too


@block
def load_counters(clk, reset, clear, burst, kind, is_p, amount, k_load, v_load, counters):
    """Bytes read of each kind, and loads of K and V.

    Latency: two cycles. Throughput: a burst and a load a cycle.

    Ports: clk; reset, clear: all are 0; burst: count amount bytes for kind, and for P instead of S with is_p; k_load,
    v_load: count a load of K, of V; counters: k_bytes, q_bytes, v_bytes, s_read_bytes, p_read_bytes, k_loads, v_loads
    (out).
    """
    # What there is to count, a cycle later: it comes late.
    late_burst, late_k, late_v, late_p = (bit() for _ in range(4))
    late_kind, late_amount = unsigned(len(kind)), unsigned(len(amount))

    @always(clk.posedge)
    def postpone():
        late_burst.next = burst and not reset
        late_k.next = k_load and not reset
        late_v.next = v_load and not reset
        late_p.next = is_p
        late_kind.next = kind
        late_amount.next = amount

    @always(clk.posedge)
    def count():
        if reset or clear:
            counters.k_bytes.next = 0
            counters.q_bytes.next = 0
            counters.v_bytes.next = 0
            counters.s_read_bytes.next = 0
            counters.p_read_bytes.next = 0
            counters.k_loads.next = 0
            counters.v_loads.next = 0
        else:
            if late_burst and late_kind == LOAD_K:
                counters.k_bytes.next = counters.k_bytes + late_amount
            if late_burst and late_kind == LOAD_Q:
                counters.q_bytes.next = counters.q_bytes + late_amount
            if late_burst and late_kind == LOAD_V:
                counters.v_bytes.next = counters.v_bytes + late_amount
            if late_burst and late_kind == LOAD_S and late_p:
                counters.p_read_bytes.next = counters.p_read_bytes + late_amount
            if late_burst and late_kind == LOAD_S and not late_p:
                counters.s_read_bytes.next = counters.s_read_bytes + late_amount
            if late_k:
                counters.k_loads.next = counters.k_loads + 1
            if late_v:
                counters.v_loads.next = counters.v_loads + 1

    return postpone, count
