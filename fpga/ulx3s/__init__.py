"""ULX3S: a Lattice ECP5 with block RAM as the engine's memory, and a UART."""
