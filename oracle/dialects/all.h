// The dialects, one function a file.
#pragma once

#include <memory>

#include "oracle/dialects/dialect.h"

namespace leafproof::oracle::dialects {

/// TorchSparse makes its maps in one of three ways.
enum class TorchSparseMode { OnTheFly, Hashmap, HashmapMinkowski };

std::unique_ptr<Dialect> make_fvdb();
std::unique_ptr<Dialect> make_spconv();
std::unique_ptr<Dialect> make_minkowski();
std::unique_ptr<Dialect> make_torchsparse(TorchSparseMode mode);
std::unique_ptr<Dialect> make_mlx_lattice();
std::unique_ptr<Dialect> make_lato();
std::unique_ptr<Dialect> make_dense();

}  // namespace leafproof::oracle::dialects
