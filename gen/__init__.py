"""MyHDL to Verilog, simulators behind one interface, reports and the command line."""
