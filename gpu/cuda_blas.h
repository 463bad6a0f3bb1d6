// Products of matrices on a CUDA stream, by cuBLAS. The library (half a gigabyte with what it
// needs) is opened when the first one is asked for, so that a program which only builds grids runs
// without it.
#pragma once

#include <cublas_v2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpu/cuda_queue.h"

namespace leafproof::gpu {

/// The few functions of cuBLAS that are called, and the library they are from.
struct BlasLibrary;

/// Why there is no cuBLAS, in the loader's words; empty if there is. Opens it.
std::string why_no_blas();

class CudaBlas {
 public:
  /// On the queue's stream and device; takes 32 MiB of the queue's allocator for itself.
  /// Unsupported where there is no cuBLAS.
  explicit CudaBlas(CudaQueue& queue);
  ~CudaBlas();
  CudaBlas(const CudaBlas&) = delete;
  CudaBlas& operator=(const CudaBlas&) = delete;

  /// y[n][to] = x[n][from] * w[from][to], all row-major. Half is multiplied exactly and summed in
  /// float; no type is ever rounded to tf32.
  template <class Factor, class Sum>
  void rows_times(const Factor* x, const Factor* w, Sum* y, std::int64_t n, std::int64_t from,
                  std::int64_t to) {
    multiply(kind_of<Factor>(), w, to, x, from, false, y, to, n, from, 0);
  }
  /// sums[from][to] += transposed x[n][from] * g[n][to].
  template <class Factor, class Sum>
  void add_columns_times(const Factor* x, const Factor* g, Sum* sums, std::int64_t n,
                         std::int64_t from, std::int64_t to) {
    multiply(kind_of<Factor>(), g, to, x, from, true, sums, to, from, n, 1);
  }

 private:
  enum class Kind { Double, Float, Half };
  template <class Factor>
  static constexpr Kind kind_of() {
    return sizeof(Factor) == 8 ? Kind::Double : sizeof(Factor) == 4 ? Kind::Float : Kind::Half;
  }
  /// By columns, as cuBLAS has it: c (m x n) = a (m x k) * b (k x n, or transposed) + keep * c.
  void multiply(Kind kind, const void* a, std::int64_t a_rows, const void* b, std::int64_t b_rows,
                bool b_transposed, void* c, std::int64_t m, std::int64_t n, std::int64_t k,
                int keep);

  const BlasLibrary* library_;
  int device_;
  std::shared_ptr<std::byte> workspace_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace leafproof::gpu
