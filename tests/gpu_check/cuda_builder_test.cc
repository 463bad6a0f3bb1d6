// What a builder and a convolution on a CUDA stream refuse before they have touched a device.
#include "gpu/cuda_builder.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "gpu/cuda_blas.h"
#include "gpu/cuda_convolution.h"

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

TEST(CudaConvolution, RefusesAsTheBuilderDoes) {
  try {
    CudaConvolution convolution(on(0));
    ADD_FAILURE() << "the default stream was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.operation(), "cuda_convolution");
    EXPECT_EQ(error.argument(), "stream");
  }
  if (why_no_cuda().empty()) GTEST_SKIP() << "there is a device: gpu-check convolves on it";
  EXPECT_EQ(why_no_cuda_convolution(), why_no_cuda());
  try {
    CudaConvolution convolution(on(4096));
    ADD_FAILURE() << "a convolution was made without a device";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
  }
}

// Opening the library needs no device: where it is installed, all that is called is in it.
TEST(CudaConvolution, FindsCublasWhereItIsInstalled) {
  const std::string why = why_no_blas();
  if (why.empty()) return;
  EXPECT_NE(why.find("libcublas.so"), std::string::npos) << why;
  GTEST_SKIP() << why;
}

}  // namespace
