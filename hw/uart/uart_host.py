"""A host on a serial line, as a master of registers and memory."""

from myhdl import block

from hw.signals import bit, unsigned
from hw.uart.bit_clock import bit_clock
from hw.uart.commands import commands
from hw.uart.frame_reader import Request, frame_reader
from hw.uart.frame_writer import frame_writer
from hw.uart.protocol import MAX_PAYLOAD
from hw.uart.uart_receiver import uart_receiver
from hw.uart.uart_transmitter import uart_transmitter


@block
def uart_host(
    clk, reset, rx, tx, bus, busy, memory_write, memory_address, memory_data, memory_q,
    clock_hz, baud, memory_latency,
):  # fmt: skip
    """Answer the requests of hw.uart.protocol, one at a time.

    Latency: a response's start bit follows the request's last stop bit within a bit time, and of writes within 3
    cycles a byte. Throughput: that of the line, half duplex: what arrives during a response is ignored.

    Ports: clk, reset; rx, tx: the line; bus: RegisterBus, as its master; busy: a run is under way, so that memory is
    refused; memory_*: see commands.

    Parameters: clock_hz, baud: see bit_clock; memory_latency: see commands. Word and size of the memory follow from
    its ports.
    """
    data, valid, framing, active = unsigned(8), bit(), bit(), bit()
    request, ended, error = Request(), bit(), unsigned(3)
    payload_address, payload = unsigned((MAX_PAYLOAD - 1).bit_length()), unsigned(8)
    tick, send, status, left = bit(), bit(), unsigned(3), unsigned(MAX_PAYLOAD.bit_length())
    answer, answer_valid, take, done = unsigned(8), bit(), bit(), bit()
    sent, sent_valid, sent_ready = unsigned(8), bit(), bit()
    return (
        bit_clock(clk, reset, tick, clock_hz, baud),
        uart_receiver(clk, reset, rx, data, valid, framing, active, clock_hz, baud),
        frame_reader(
            clk, reset, data, valid, framing, active, tick, done, request, ended, error, payload_address, payload
        ),
        commands(
            clk, reset, request, ended, error, payload_address, payload, send, status, left, answer, answer_valid, take,
            done, bus, busy, memory_write, memory_address, memory_data, memory_q, memory_latency,
        ),
        frame_writer(clk, reset, send, status, left, answer, answer_valid, take, sent, sent_valid, sent_ready, done),
        uart_transmitter(clk, reset, tick, sent, sent_valid, sent_ready, tx),
    )  # fmt: skip
