"""Multiplexers of words whose choice is known one hot: gated by the clear of flip-flops, and put together."""

from myhdl import always, always_comb, block

from hw.signals import copy, unsigned

INPUTS = 4  # of a LUT


@block
def gate(clk, chosen, word, gated):
    """gated = word where chosen, or 0, a cycle later: the clear of a flip-flop, and no logic."""

    @always(clk.posedge)
    def take():
        if chosen:
            gated.next = word
        else:
            gated.next = 0

    return take


@block
def or_of(words, result):
    """result = OR of a list of words, all of the same width: in groups of INPUTS, and so on. Combinational."""
    instances = []
    while len(words) > 1:
        groups, words = [words[start : start + INPUTS] for start in range(0, len(words), INPUTS)], []
        for first, *others in groups:
            total = first
            for word in others:
                rest, total = total, unsigned(len(result))
                instances.append(either(rest, word, total))
            words.append(total)
    return instances, copy(words[0], result)


@block
def either(a, b, result):
    """result = a | b. Combinational."""

    @always_comb
    def combine():
        result.next = a | b

    return combine
