"""A serial line to the engine: frames, each checked by a CRC, that read and write registers and memory."""
