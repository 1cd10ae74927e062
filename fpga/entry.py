"""Entry point of the command `flashtile`: Ctrl-C is answered while the rest is still being imported, too."""

import sys


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        from fpga.build_error import BuildError
        from fpga.cli_attach import add_attach
        from fpga.cli_build import add_build
        from fpga.host.errors import DeviceError
        from gen.cli import main as command

        return command(None, [add_attach, add_build], (BuildError, DeviceError))
    except KeyboardInterrupt:
        print("flashtile: error: interrupted", file=sys.stderr)
        return 130
