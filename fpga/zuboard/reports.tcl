# Sourced by Vivado's implementation run before it writes the bitstream: leaves timing.rpt and utilization.rpt beside this
# file, and stops the run if a path is too slow, so that there is no bitstream that does not meet its clock.

set flashtile_folder [file dirname [file normalize [info script]]]
report_timing_summary -no_header -file $flashtile_folder/timing.rpt
report_utilization -file $flashtile_folder/utilization.rpt
foreach flashtile_kind {setup hold} {
    set flashtile_path [get_timing_paths -$flashtile_kind -max_paths 1]
    if {[llength $flashtile_path] == 0} {
        error "flashtile: no $flashtile_kind path is timed: the design has no clock"
    }
    set flashtile_slack [get_property SLACK $flashtile_path]
    if {$flashtile_slack < 0} {
        error "flashtile: $flashtile_kind slack is $flashtile_slack ns: see timing.rpt"
    }
}
