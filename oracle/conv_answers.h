// What answers of convolution are made of, for references and for known answers.
#pragma once

#include "oracle/backend.h"

namespace leafproof::oracle {

/// The voxels of a batch by rows.
RowVoxels rows_of(const Batch& batch);

/// A complete target as an answer carries it.
std::shared_ptr<const std::variant<Layout, GridBuffer>> as_target(Layout layout);

/// [V-6] What a type's numbers are multiplied and summed in where nothing else is declared.
Arithmetic arithmetic_of(NumberType type);

/// Numbers of a type, with that arithmetic.
NumbersAnswer numbers_of(reference::Array array, NumberType type,
                         std::optional<RowVoxels> rows = {});

/// The same of a reference: each element without error as well.
NumbersAnswer exact_numbers(reference::Array array, NumberType type,
                            std::vector<reference::Exact> exact, double largest_whole,
                            std::optional<RowVoxels> rows = {});

/// The largest magnitude of all numbers that are read, where all are whole; else 0.
double largest_whole(const Operands& operands, bool gradients);

}  // namespace leafproof::oracle
