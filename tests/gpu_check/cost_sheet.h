// What a build asks of a device, counted on the host, and the time this implies on a named GPU.
#pragma once

namespace leafproof::gpu_check {

/// Markdown tables to stdout. A calculation: nothing is measured, and no device is needed.
void print_cost_sheet();

}  // namespace leafproof::gpu_check
