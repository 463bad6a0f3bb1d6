#include "gpu/cuda_blas.h"

#include <dlfcn.h>

#include <string>

#include "gpu/error.h"

namespace leafproof::gpu {

struct BlasLibrary {
  std::string missing;  // why it cannot be used
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetMathMode) set_math_mode = nullptr;
  decltype(&cublasGemmEx_64) gemm = nullptr;
  decltype(&cublasGetStatusName) status_name = nullptr;

  BlasLibrary() {
    // The version of the header: its types are what the functions take.
    const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
    void* opened = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays open
    if (opened == nullptr) {
      missing = dlerror();
      return;
    }
    find(opened, "cublasCreate_v2", create);
    find(opened, "cublasDestroy_v2", destroy);
    find(opened, "cublasSetStream_v2", set_stream);
    find(opened, "cublasSetWorkspace_v2", set_workspace);
    find(opened, "cublasSetMathMode", set_math_mode);
    find(opened, "cublasGemmEx_64", gemm);
    find(opened, "cublasGetStatusName", status_name);
  }

 private:
  template <class Function>
  void find(void* opened, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(opened, name));
    if (function == nullptr) missing = std::string("cuBLAS has no ").append(name);
  }
};

namespace {

const BlasLibrary& library() {
  static const BlasLibrary opened;
  return opened;
}

}  // namespace

std::string why_no_blas() {
  return library().missing;
}

namespace {

void check_blas(const BlasLibrary& blas, cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) {
    throw Error(ErrorKind::OutOfMemory, call, "memory", "", "cuBLAS has none");
  }
  throw CudaFailure(std::string(call) + ": " + blas.status_name(status));
}

}  // namespace

CudaBlas::CudaBlas(CudaQueue& queue) : library_(&library()), device_(queue.device()) {
  if (!library_->missing.empty()) {
    throw Error(ErrorKind::Unsupported, "cuda_convolution", "cuBLAS", "none", library_->missing);
  }
  // What it would otherwise allocate for itself, outside the stream's order.
  constexpr std::size_t kWorkspace = std::size_t{32} << 20;
  workspace_ = queue.result_bytes(kWorkspace);
  const OnDevice on(device_);
  check_blas(*library_, library_->create(&handle_), "cublasCreate");
  try {
    check_blas(*library_, library_->set_stream(handle_, queue.stream()), "cublasSetStream");
    check_blas(*library_, library_->set_workspace(handle_, workspace_.get(), kWorkspace),
               "cublasSetWorkspace");
    check_blas(*library_, library_->set_math_mode(handle_, CUBLAS_PEDANTIC_MATH),
               "cublasSetMathMode");
  } catch (...) {
    library_->destroy(handle_);
    throw;
  }
}

CudaBlas::~CudaBlas() {
  int before = device_;
  const bool known = cudaGetDevice(&before) == cudaSuccess;
  if (before != device_) cudaSetDevice(device_);
  library_->destroy(handle_);
  if (known && before != device_) cudaSetDevice(before);
}

void CudaBlas::multiply(Kind kind, const void* a, std::int64_t a_rows, const void* b,
                        std::int64_t b_rows, bool b_transposed, void* c, std::int64_t m,
                        std::int64_t n, std::int64_t k, int keep) {
  const OnDevice on(device_);
  const double one = 1, kept = keep;
  const auto one_float = static_cast<float>(one), kept_float = static_cast<float>(kept);
  const bool wide = kind == Kind::Double;
  const cudaDataType_t factor = wide ? CUDA_R_64F : kind == Kind::Float ? CUDA_R_32F : CUDA_R_16F;
  check_blas(*library_,
             library_->gemm(handle_, CUBLAS_OP_N, b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k,
                            wide ? static_cast<const void*>(&one) : &one_float, a, factor, a_rows,
                            b, factor, b_rows, wide ? static_cast<const void*>(&kept) : &kept_float,
                            c, wide ? CUDA_R_64F : CUDA_R_32F, m,
                            wide ? CUBLAS_COMPUTE_64F_PEDANTIC : CUBLAS_COMPUTE_32F_PEDANTIC,
                            CUBLAS_GEMM_DEFAULT),
             "cublasGemmEx");
}

}  // namespace leafproof::gpu
