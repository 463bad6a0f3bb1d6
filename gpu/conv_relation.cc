#include "gpu/conv_relation.h"

#include <string>

#include "gpu/error.h"
#include "gpu/pass_checks.h"

namespace leafproof::gpu {
namespace {

void check(const char* operation, const char* argument, const Triple& given,
           std::int64_t greatest) {
  for (const std::int64_t v : given) {
    if (v < 1) {
      throw Error(ErrorKind::InvalidArgument, operation, argument, text_of(given),
                  "every axis must be at least 1");
    }
  }
  for (const std::int64_t v : given) {
    if (v > greatest) {
      throw Error(ErrorKind::Unsupported, operation, argument, text_of(given),
                  "at most " + std::to_string(greatest) + " on an axis");
    }
  }
}

/// P of an axis [K-1].
std::int64_t phase(const ConvGeometry& geometry, std::size_t axis) {
  return geometry.dilation[axis] * (geometry.kernel[axis] - 1) / 2;
}

}  // namespace

void check_geometry(const char* operation, const ConvGeometry& geometry) {
  constexpr std::int64_t kMostTaps = 4096;
  check(operation, "kernel", geometry.kernel, 128);
  check(operation, "stride", geometry.stride, 64);
  check(operation, "dilation", geometry.dilation, 16);
  if (taps_of(geometry) > kMostTaps) {
    throw Error(ErrorKind::Unsupported, operation, "kernel", text_of(geometry.kernel),
                "at most " + std::to_string(kMostTaps) + " taps in all");
  }
}

void check_submanifold(const char* operation, const ConvGeometry& geometry) {
  // What the operation never takes comes before limits, which are a matter of size [K-7].
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (geometry.kernel[axis] % 2 == 0) {
      throw Error(ErrorKind::InvalidArgument, operation, "kernel", text_of(geometry.kernel),
                  "the kernel of a submanifold map is odd on every axis");
    }
    if (geometry.stride[axis] != 1) {
      throw Error(ErrorKind::InvalidArgument, operation, "stride", text_of(geometry.stride),
                  "a submanifold map has no stride");
    }
  }
  check_geometry(operation, geometry);
}

void forward_axes(const ConvGeometry& geometry, AxisRelation (&axes)[3]) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    axes[axis].stride = geometry.stride[axis];
    axes[axis].step = geometry.dilation[axis];
    axes[axis].count = geometry.kernel[axis];
    axes[axis].first =
        phase(geometry, axis) - geometry.dilation[axis] * (geometry.kernel[axis] - 1);
  }
}

void transposed_axes(const ConvGeometry& geometry, AxisRelation (&axes)[3]) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    axes[axis].factor = geometry.stride[axis];
    axes[axis].step = geometry.dilation[axis];
    axes[axis].count = geometry.kernel[axis];
    axes[axis].first = -phase(geometry, axis);
  }
}

std::uint64_t missed_residues(const ConvGeometry& geometry, std::size_t axis) {
  const std::int64_t stride = geometry.stride[axis];
  std::uint64_t missed = ~std::uint64_t{0} >> (64 - stride);
  for (std::int64_t t = 0; t < geometry.kernel[axis]; ++t) {
    const std::int64_t at = geometry.dilation[axis] * t - phase(geometry, axis);
    missed &= ~(std::uint64_t{1} << ((at % stride + stride) % stride));
  }
  return missed;
}

TapGeometry tap_geometry(const ConvGeometry& geometry) {
  TapGeometry taps{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    taps.kernel[axis] = static_cast<std::int32_t>(geometry.kernel[axis]);
    taps.stride[axis] = static_cast<std::int32_t>(geometry.stride[axis]);
    taps.dilation[axis] = static_cast<std::int32_t>(geometry.dilation[axis]);
    taps.phase[axis] = static_cast<std::int32_t>(phase(geometry, axis));
  }
  return taps;
}

}  // namespace leafproof::gpu
