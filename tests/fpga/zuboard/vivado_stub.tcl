# Vivado as far as the project, synthesis and run scripts know it: keeps what they set, infers the buses of a module
# reference from its Verilog, runs the hooks and constraints of the implementation, and writes down each command to
# $stub(calls) as a JSON list. Array `stub`: what is to go wrong, see vivado_stub.py.

array set prop {}
array set known {}
set sources {}
set constraint_files {}

proc record {args} {
    global stub
    set words {}
    foreach word $args {
        lappend words "\"[string map [list \\ \\\\ \" \\\" \n \\n \t \\t] $word]\""
    }
    set channel [open $stub(calls) a]
    puts $channel "\[[join $words {, }]\]"
    close $channel
}

proc must_exist {file} {
    if {![file exists $file]} { error "there is no file $file" }
    set ::known([file tail $file]) $file
}

proc save {} {
    set channel [open [current_project].xpr w]
    puts $channel [list [array get ::prop] [array get ::known] $::sources $::constraint_files]
    close $channel
}

proc open_saved {file} {
    set channel [open $file]
    lassign [read $channel] props known ::sources ::constraint_files
    close $channel
    array set ::prop $props
    array set ::known $known
}

# ---- project

proc create_project {name args} { record create_project $name {*}$args; set ::prop(project) $name; save }
proc current_project {} { return $::prop(project) }
proc current_design {} { return design_1 }
proc current_fileset {} { return sources_1 }
proc get_filesets {name} { return $name }
proc get_runs {name} { return $name }
proc current_run {} { return impl_1 }
proc list_property {object name} { return {} }
proc update_compile_order {args} { record update_compile_order {*}$args }
proc read_verilog {file} { record read_verilog $file; must_exist $file; lappend ::sources $file }
proc read_xdc {args} {
    record read_xdc {*}$args
    must_exist [lindex $args end]
    lappend ::constraint_files [lindex $args end]
}
proc add_files {args} { record add_files {*}$args; must_exist [lindex $args end] }
proc get_files {name} {
    if {![info exists ::known($name)]} { error "there is no source $name" }
    return $::known($name)
}
proc set_property {args} {
    record set_property {*}$args
    if {[lindex $args 0] eq "-dict"} {
        foreach {name value} [lindex $args 1] { set ::prop([lindex $args 2],$name) $value }
    } else {
        lassign $args name value object
        set ::prop($object,$name) $value
        if {$name eq "board_part"} { set ::prop($object,part) $::stub(board_device) }
    }
    save
}
proc get_property {name object} {
    global prop stub
    if {[info exists prop($object,$name)]} { return $prop($object,$name) }
    if {$name eq "CONFIG.FREQ_HZ" && $object eq "/ps/pl_clk0"} { return $stub(hz) }
    if {$name eq "PROGRESS"} { return 0% }
    if {$name eq "NEEDS_REFRESH"} { return 0 }
    if {$name eq "DIRECTORY"} { return [pwd]/[current_project].runs/$object }
    if {$name eq "PERIOD"} { return $stub(period) }
    if {$name eq "SLACK"} { return $stub($object) }
    error "$object has no property $name"
}

# ---- block design

proc get_ipdefs {args} {
    set name [lindex [split [lindex $args end] :] 2]
    return [list xilinx.com:ip:$name:3.10 xilinx.com:ip:$name:3.9]
}
proc get_board_parts {args} { record get_board_parts {*}$args; return $::stub(boards) }
proc create_bd_design {name} {
    record create_bd_design $name
    set ::prop(design) $name
    set ::known($name.bd) [pwd]/[current_project].srcs/sources_1/bd/$name/$name.bd
}
proc create_bd_cell {args} {
    record create_bd_cell {*}$args
    set name [lindex $args end]
    if {[lindex $args 1] eq "module"} { infer [lindex $args 3] $name }
    return /$name
}
proc infer {module cell} {
    set text {}
    foreach file $::sources {
        set channel [open $file]
        set text [read $channel]
        close $channel
        if {[regexp "\\mmodule $module \\(" $text]} break
    }
    if {![regexp "\\mmodule $module \\((.*?)\\n\\);" $text all ports]} { error "there is no module $module" }
    foreach bus {s_axi m_axi} {
        set complete 1
        foreach channel {
            awaddr awvalid awready wdata wvalid wready bresp bvalid bready araddr arvalid arready rdata rvalid rready
        } {
            if {![regexp "\\m${bus}_$channel\\M" $ports]} { set complete 0 }
        }
        if {!$complete || $bus eq $::stub(missing)} continue
        regexp [string map [list BUS $bus] {(\w+)put\s+wire \[(\d+):0\] BUS_wdata\M}] $ports all direction high
        set full [regexp "${bus}_awlen" $ports]
        set ::prop(/$cell/$bus,MODE) [expr {$direction eq "out" ? "Master" : "Slave"}]
        set ::prop(/$cell/$bus,CONFIG.PROTOCOL) [expr {$full ? "AXI4" : "AXI4LITE"}]
        set ::prop(/$cell/$bus,CONFIG.DATA_WIDTH) [expr {$high + 1}]
    }
    foreach {pattern property} {
        ASSOCIATED_BUSIF\\s+(\\S+), busif  SENSITIVITY\\s+(\\w+) interrupt  POLARITY\\s+(\\w+) reset
    } {
        if {[regexp $pattern $ports all value]} { record inferred $property $value }
    }
}
proc get_bd_cells {name} { return /$name }
proc get_bd_pins {name} { return /$name }
proc get_bd_intf_pins {args} {
    set name /[string trimleft [lindex $args end] /]
    if {[string match */?_axi $name] && ![info exists ::prop($name,MODE)]} { return {} }
    return $name
}
proc get_bd_addr_spaces {name} { return /$name }
proc get_bd_addr_segs {name} {
    if {$name eq "ps/SAXIGP2/*"} { return $::stub(segments) }
    return [string map {s_axi/* s_axi/reg0} /$name]
}
foreach command {
    apply_bd_automation connect_bd_net connect_bd_intf_net assign_bd_address exclude_bd_addr_seg validate_bd_design
    save_bd_design
} { proc $command {args} "record $command {*}\$args" }
proc generate_target {args} {
    record generate_target {*}$args
    set folder [pwd]/[current_project].gen/sources_1/bd/$::prop(design)
    file mkdir $folder/hw_handoff $folder/hdl
    close [open $folder/hdl/$::prop(design)_wrapper.v w]
    if {$::stub(handoff)} {
        set channel [open $folder/hw_handoff/$::prop(design).hwh w]
        puts $channel "<EDKSYSTEM/>"
        close $channel
    }
}
proc make_wrapper {args} {
    record make_wrapper {*}$args
    return [pwd]/[current_project].gen/sources_1/bd/$::prop(design)/hdl/$::prop(design)_wrapper.v
}

# ---- runs

proc reset_runs {args} {}
proc wait_on_run {args} {}
proc launch_runs {run args} {
    record launch_runs $run {*}$args
    if {$run eq "impl_1"} {
        foreach file [concat $::constraint_files [list $::prop(impl_1,STEPS.WRITE_BITSTREAM.TCL.PRE)]] {
            if {[catch {uplevel #0 [list source $file]} message]} {
                puts "ERROR: \[Common 17-39\] $message"
                return
            }
        }
        set folder [get_property DIRECTORY impl_1]
        file mkdir $folder
        if {$::stub(bitstream)} {
            set channel [open $folder/$::prop(sources_1,top).bit w]
            puts $channel "a bitstream"
            close $channel
        }
    }
    set ::prop($run,PROGRESS) 100%
}
proc get_clocks {args} { return $::stub(clocks) }
proc get_timing_paths {kind args} {
    if {$::stub($kind) eq "none"} { return {} }
    return $kind
}
proc report_timing_summary {args} {
    if {!$::stub(report)} return
    set channel [open [lindex $args end] w]
    puts $channel [string map [list @WNS@ $::stub(-setup) @WHS@ $::stub(-hold) @PERIOD@ $::stub(period)] $::stub(summary)]
    close $channel
}
proc report_utilization {args} {
    set channel [open [lindex $args end] w]
    puts $channel $::stub(utilization)
    close $channel
}
