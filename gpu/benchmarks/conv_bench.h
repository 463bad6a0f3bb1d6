// `./leafproof bench conv`.
#pragma once

namespace leafproof::gpu::benchmarks {

/// Arguments as those of a program named `leafproof bench conv`. Returns its exit code; throws as
/// measuring does.
int bench_conv(int argc, char** argv);

}  // namespace leafproof::gpu::benchmarks
