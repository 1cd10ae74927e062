"""The engine on AXI: registers behind an AXI4-Lite slave, memory behind an AXI4 master."""
