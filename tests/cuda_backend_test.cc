// Backends that need a device, where there is none: not offered, and who asks for one by name is
// told why, with an exit code of its own.
#include "oracle/backends/cuda_backend.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "oracle/backend.h"

namespace {

using namespace leafproof::oracle;

constexpr std::array kNames{"cuda", "cuda-sort", "cuda-mask"};

std::string why() {
  return why_no_cuda_backend();
}

TEST(CudaBackend, IsOfferedWhereADeviceWorksAndNowhereElse) {
  const auto names = backend_names();
  for (const char* name : kNames) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), why().empty() ? 1 : 0) << name;
  }
}

TEST(CudaBackend, SaysWhyItIsNotHere) {
  if (why().empty()) GTEST_SKIP() << "there is a device: gpu-check covers these backends";
  for (const char* name : kNames) {
    try {
      make_backend(name);
      FAIL() << name << " was made without a device";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
      EXPECT_EQ(error.detail().argument, "backend");
      EXPECT_EQ(error.detail().value, name);
      EXPECT_NE(error.detail().reason.find(why()), std::string::npos) << error.what();
    }
  }
}

TEST(CudaBackend, EndsTheProgramWithThree) {
  if (why().empty()) GTEST_SKIP() << "there is a device: gpu-check covers these backends";
  for (const std::string command :
       {"verify --level 0 --ops dual --backend cuda",
        "vectors " LEAFPROOF_SOURCE_DIR "/oracle/vectors/named.json --backend cuda",
        "vectors " LEAFPROOF_SOURCE_DIR "/oracle/vectors/named.json --backend cuda-sort"}) {
    FILE* pipe = popen((std::string(LEAFPROOF_PROGRAM) + " " + command + " 2>&1").c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string said;
    std::array<char, 512> buffer{};
    while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) {
      said += buffer.data();
    }
    const int status = pclose(pipe);
    EXPECT_EQ(WEXITSTATUS(status), 3) << command << "\n" << said;
    EXPECT_NE(said.find(why()), std::string::npos) << command << "\n" << said;
  }
}

}  // namespace
