# The processing system around the RTL module: sourced by the project script that Edalize writes, after the Verilog and
# settings.tcl, which fills the array `flashtile`. Leaves the wrapper as a source and NAME.hwh in the working folder.

proc flashtile_fail {sentence} {
    puts "ERROR: flashtile: $sentence"
    error $sentence
}

proc flashtile_ip {name} {
    # The newest version of an IP that this Vivado has.
    set found [lsort -dictionary [get_ipdefs -all "xilinx.com:ip:$name:*"]]
    if {[llength $found] == 0} {
        flashtile_fail "this Vivado has no IP $name; install the device family Zynq UltraScale+ MPSoC"
    }
    return [lindex $found end]
}

# ---- board files, where they are installed: pins, LPDDR4 and reference clock of the processing system

set flashtile(boards) [lsort -dictionary [get_board_parts -quiet $flashtile(board_parts)]]
if {[llength $flashtile(boards)] > 0} {
    set_property board_part [lindex $flashtile(boards) end] [current_project]
}
if {[get_property part [current_project]] ne $flashtile(part)} {
    flashtile_fail "the project's part is [get_property part [current_project]] instead of $flashtile(part)"
}

# ---- processing system

update_compile_order -fileset sources_1
create_bd_design $flashtile(design)
set ps [create_bd_cell -type ip -vlnv [flashtile_ip zynq_ultra_ps_e] ps]
if {[llength $flashtile(boards)] > 0} {
    apply_bd_automation -rule xilinx.com:bd_rule:zynq_ultra_ps_e -config {apply_board_preset "1"} $ps
} else {
    # Enough for a bitstream that a running Linux loads (PYNQ). Not for a boot image: pins and memory are unknown here.
    puts "WARNING: flashtile: no board files for $flashtile(board_parts); do not make a boot image from this design"
    set_property -dict [list CONFIG.PSU__PSS_REF_CLK__FREQMHZ {33.333}] $ps
}
set_property -dict [list \
    CONFIG.PSU__FPGA_PL0_ENABLE {1} \
    CONFIG.PSU__CRL_APB__PL0_REF_CTRL__SRCSEL {IOPLL} \
    CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ $flashtile(clock_mhz) \
    CONFIG.PSU__USE__FABRIC__RST {1} \
    CONFIG.PSU__USE__M_AXI_GP0 {1} \
    CONFIG.PSU__MAXIGP0__DATA_WIDTH {32} \
    CONFIG.PSU__USE__M_AXI_GP1 {0} \
    CONFIG.PSU__USE__M_AXI_GP2 {0} \
    CONFIG.PSU__USE__S_AXI_GP2 {1} \
    CONFIG.PSU__SAXIGP2__DATA_WIDTH $flashtile(bus_bits) \
    CONFIG.PSU__USE__IRQ0 {1} \
] $ps

# The PS divides what its PLLs give, and takes the nearest it finds without a word.
set flashtile(hz) [get_property CONFIG.FREQ_HZ [get_bd_pins ps/pl_clk0]]
if {abs($flashtile(hz) - $flashtile(clock_hz)) > $flashtile(tolerance) * $flashtile(clock_hz)} {
    flashtile_fail "pl_clk0 runs at $flashtile(hz) Hz instead of $flashtile(clock_hz) Hz"
}

# ---- RTL module, and whether Vivado has seen its buses

create_bd_cell -type module -reference $flashtile(module) $flashtile(module)

proc flashtile_bus {name mode protocol width} {
    global flashtile
    set bus [get_bd_intf_pins -quiet $flashtile(module)/$name]
    if {[llength $bus] != 1} {
        flashtile_fail "Vivado did not infer the interface $name on module $flashtile(module)"
    }
    foreach {property expected} [list MODE $mode CONFIG.PROTOCOL $protocol CONFIG.DATA_WIDTH $width] {
        set found [get_property $property $bus]
        if {$found ne $expected} {
            flashtile_fail "interface $name of $flashtile(module) has $property $found instead of $expected"
        }
    }
    return $bus
}

set s_axi [flashtile_bus s_axi Slave AXI4LITE 32]
set m_axi [flashtile_bus m_axi Master AXI4 $flashtile(bus_bits)]

# ---- clock, resets, buses, interrupt

set reset [create_bd_cell -type ip -vlnv [flashtile_ip proc_sys_reset] reset]
foreach name {registers memory} {
    set cell [create_bd_cell -type ip -vlnv [flashtile_ip smartconnect] $name]
    set_property -dict [list CONFIG.NUM_SI {1} CONFIG.NUM_MI {1}] $cell
}
foreach pin [list \
    ps/maxihpm0_fpd_aclk ps/saxihp0_fpd_aclk reset/slowest_sync_clk registers/aclk memory/aclk $flashtile(module)/aclk \
] {
    connect_bd_net [get_bd_pins ps/pl_clk0] [get_bd_pins $pin]
}
connect_bd_net [get_bd_pins ps/pl_resetn0] [get_bd_pins reset/ext_reset_in]
foreach name {registers memory} {
    connect_bd_net [get_bd_pins reset/interconnect_aresetn] [get_bd_pins $name/aresetn]
}
connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins $flashtile(module)/aresetn]
connect_bd_intf_net [get_bd_intf_pins ps/M_AXI_HPM0_FPD] [get_bd_intf_pins registers/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins registers/M00_AXI] $s_axi
connect_bd_intf_net $m_axi [get_bd_intf_pins memory/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins memory/M00_AXI] [get_bd_intf_pins ps/S_AXI_HP0_FPD]
connect_bd_net [get_bd_pins $flashtile(module)/interrupt] [get_bd_pins ps/pl_ps_irq0]

# ---- addresses: registers for the processor; for the engine the low DDR, and nothing else of what HP0 reaches

assign_bd_address -offset $flashtile(registers) -range $flashtile(register_bytes) \
    -target_address_space [get_bd_addr_spaces ps/Data] [get_bd_addr_segs $flashtile(module)/s_axi/*] -force
set flashtile(ddr) 0
foreach segment [get_bd_addr_segs ps/SAXIGP2/*] {
    if {[string match */HP0_DDR_LOW $segment]} {
        assign_bd_address -target_address_space [get_bd_addr_spaces $flashtile(module)/m_axi] $segment -force
        set flashtile(ddr) 1
    } else {
        exclude_bd_addr_seg -target_address_space [get_bd_addr_spaces $flashtile(module)/m_axi] $segment
    }
}
if {!$flashtile(ddr)} {
    flashtile_fail "S_AXI_HP0_FPD offers no segment HP0_DDR_LOW; the engine would have no memory"
}
validate_bd_design
save_bd_design

# ---- products of the block design: one synthesis for all of it, a wrapper, which Edalize makes the top, and the hardware
# description for PYNQ

set flashtile(bd) [get_files $flashtile(design).bd]
set_property synth_checkpoint_mode None $flashtile(bd)
generate_target all $flashtile(bd)
add_files -norecurse [make_wrapper -files $flashtile(bd) -top]
set flashtile(handoff) {}
foreach tree {gen srcs} {
    lappend flashtile(handoff) {*}[glob -nocomplain \
        [pwd]/[current_project].$tree/sources_1/bd/$flashtile(design)/hw_handoff/$flashtile(design).hwh]
}
if {[llength $flashtile(handoff)] == 0} {
    flashtile_fail "Vivado wrote no $flashtile(design).hwh, which PYNQ needs"
}
file copy -force [lindex $flashtile(handoff) 0] [pwd]/[current_project].hwh

# ---- constraints are of the placed design, where the PS's clock exists; reports before the bitstream

set_property used_in_synthesis false [get_files $flashtile(constraints)]
add_files -fileset utils_1 -norecurse [pwd]/$flashtile(reports)
set_property STEPS.WRITE_BITSTREAM.TCL.PRE [get_files $flashtile(reports)] [get_runs impl_1]
