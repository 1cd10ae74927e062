"""What the frames' constants say of registers is what the register map says."""

import pytest

from gen.register_map import register_map
from golden.config import NAMED
from hw.uart import protocol
from tests.hw.uart.serial_line import request, response


@pytest.mark.parametrize("name", NAMED)
def test_addresses_are_those_of_the_map(name):
    registers = register_map(NAMED[name])
    assert registers.field("control.start") == (protocol.CONTROL_COMMAND, 0, 1)
    assert protocol.START_BIT == 1
    assert {registers.address(f"status.{field}") for field in ("busy", "done", "error")} == {protocol.STATUS_STATE}
    constants = [register.index for register in registers.registers if register.fields[0].access == "constant"]
    assert (4 * min(constants), 4 * max(constants) + 4) == (protocol.IDENTITY, protocol.IDENTITY_BYTES)
    assert 4 * max(register.index for register in registers.registers) < protocol.REGISTER_BYTES


def test_frames_byte_by_byte():
    """As the specification has them; the CRC is the one of zlib and Ethernet."""
    assert request(0).hex() == "a500000000000000" + "81368f87"
    assert len(request(0)) == protocol.REQUEST_BYTES and len(response(0)) == protocol.RESPONSE_BYTES
    assert request(4, 0x01020304, None, b"\x55").hex()[:18] == "a504010004030201" + "55"
    assert response(7).hex()[:8] == "5a070000"
