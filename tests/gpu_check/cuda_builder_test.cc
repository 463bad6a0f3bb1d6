// What a builder on a CUDA stream refuses before it has touched a device.
#include "gpu/cuda_builder.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using namespace leafproof::gpu;

CudaOptions on(std::uintptr_t stream) {
  CudaOptions options;
  options.stream = reinterpret_cast<CudaStream>(stream);
  return options;
}

// Null, cudaStreamLegacy, cudaStreamPerThread.
TEST(CudaBuilder, RefusesDefaultStreams) {
  for (const std::uintptr_t stream : {0, 1, 2}) {
    try {
      cuda_builder(on(stream));
      ADD_FAILURE() << "stream " << stream << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::InvalidArgument);
      EXPECT_EQ(error.argument(), "stream");
    }
  }
}

TEST(CudaBuilder, RefusesHalfAnAllocator) {
  CudaOptions options = on(4096);  // no stream, and never used as one
  options.allocator.release = nullptr;
  try {
    cuda_builder(options);
    ADD_FAILURE() << "an allocator that cannot release was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::InvalidArgument);
    EXPECT_EQ(error.argument(), "allocator");
  }
}

TEST(CudaBuilder, SaysInCudasWordsThatThereIsNoDevice) {
  const std::string why = why_no_cuda();
  if (why.empty()) GTEST_SKIP() << "there is a device: gpu-check builds on it";
  EXPECT_NE(why.find("cuda"), std::string::npos) << why;
  try {
    cuda_builder(on(4096));
    ADD_FAILURE() << "a builder was made without a device";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

}  // namespace
