"""Host drivers: one interface to boards and to simulated ones, see fpga.host.connect and fpga.host.accelerator."""
