// Inside the written forms of a case: every field of a Case, once, in the order in which they are
// written, and which operation takes it. A form (text, JSON, bytes; a reader or a writer) says how
// each type of value looks; this says which there are.
#pragma once

#include <bit>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "oracle/case.h"
#include "reference/error.h"

namespace leafproof::oracle::forms {

using reference::Array;
using Members = std::vector<std::vector<Voxel>>;
using Points = std::vector<std::vector<Point>>;
using Names = std::vector<std::string>;
using View = std::vector<std::int64_t>;
using Maps = std::vector<Map>;

/// The Error of a written case that cannot be read, or a case that cannot be written: Corrupt,
/// naming the field and the value, which is cut to a length that can be shown. `what`: the
/// operation that the error names; answers are written in the same way.
[[noreturn]] void fail(std::string_view field, std::string_view value, std::string reason,
                       std::string_view what = "case");

/// What a Case promises and a reader must therefore check: maps and names of every batch, canonical
/// order [G-2] but for the lists of from_ijk, flags of 0 and 1.
void check(const Case& c);

/// A double that is read back bit for bit: the shortest decimal, "inf", "-inf", "nan", or
/// "nan_fff8000000000001" for another NaN than the ordinary one. False where the text is none.
std::string number_text(double number);
bool parse_number(std::string_view text, double& number);

inline bool same(const Maps& a, const Maps& b) {  // bit for bit: -0 is not 0, and NaN is NaN
  const auto bits = [](const Map& m) { return std::bit_cast<std::array<std::uint64_t, 6>>(m); };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (bits(a[i]) != bits(b[i])) return false;
  return true;
}
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
inline bool same(const Array& a, const Array& b) {
  return a.shape == b.shape && a.values.empty() && b.values.empty();
}

/// A form has: `reading`; `present(name, is_default)`, whether the value follows (a writer is told
/// whether it is the default, a reader looks); `absent(name, is_default)`, of a field that the
/// operation does not take; and `value(name, T&)` for each type of field below.
template <class Form, class T>
void field(Form& form, bool taken, const char* name, T& value,
           const std::remove_const_t<T>& standard) {
  if (!taken)
    form.absent(name, same(value, standard));
  else if (form.present(name, same(value, standard)))
    form.value(name, value);
  else if constexpr (Form::reading)
    value = standard;
}

template <class Form, class Optional>
void optional_field(Form& form, bool taken, const char* name, Optional& value) {
  if (!taken) {
    form.absent(name, !value.has_value());
  } else if (form.present(name, !value.has_value())) {
    if constexpr (Form::reading) value.emplace();
    form.value(name, *value);
  }
}

/// "source", "source_maps", "source_names": the last two where not all are the default.
template <class Form, class Batch>
void batch_fields(Form& form, const std::string& name, Batch& batch) {
  form.value(name.c_str(), batch.members);
  field(form, true, (name + "_maps").c_str(), batch.maps, Maps(batch.size()));
  field(form, true, (name + "_names").c_str(), batch.names, Names(batch.size()));
}

template <class Form, class Optional>
void optional_batch(Form& form, bool taken, const std::string& name, Optional& batch) {
  if (!taken) {
    form.absent(name.c_str(), !batch.has_value());
  } else if (form.present(name.c_str(), !batch.has_value())) {
    if constexpr (Form::reading) batch.emplace();
    batch_fields(form, name, *batch);
  }
}

/// All fields but `op`, which a reader has set, and `id` and `comment`, which are no part of the
/// question.
template <class Form, class C>
void each_field(Form& form, C& c) {
  const auto is = [op = c.op](auto... ops) { return ((op == ops) || ...); };
  const bool boxes = is(Op::DilateBox, Op::ErodeBox);
  const bool kernels = convolves(c.op);
  const bool sums = is(Op::Convolution, Op::ConvolutionGradients);
  const bool maps = sums || is(Op::KernelMap);
  const Triple ones{1, 1, 1}, zeros{0, 0, 0};
  field(form, is(Op::Refine, Op::Coarsen, Op::MapAfter), "factor", c.factor, ones);
  field(form, is(Op::MapAfter), "operation", c.mapped, Op::Refine);
  field(form, boxes, "lo", c.lo, zeros);
  field(form, boxes, "hi", c.hi, zeros);
  field(form, kernels, "kernel_size", c.kernel.size, ones);
  field(form, kernels, "stride", c.kernel.stride, ones);
  field(form, kernels, "dilation", c.kernel.dilation, ones);
  field(form, maps, "transposed", c.direction, Direction::Forward);
  field(form, is(Op::KernelMap), "dense", c.dense, false);
  field(form, sums, "type", c.operands.type, NumberType::Float64);
  field(form, sums, "target_is_source", c.operands.target_is_source, false);
  batch_fields(form, "source", c.source);
  field(form, is(Op::FromPoints), "points", c.points, Points{});
  optional_field(form, !is(Op::MapAfter), "view", c.view);
  optional_batch(form, is(Op::Merge, Op::Intersect, Op::Subtract), "other", c.other);
  optional_field(form, is(Op::Prune, Op::Refine), "mask", c.mask);
  optional_batch(form, maps, "target", c.target);
  field(form, sums, "features", c.operands.features, Array{});
  field(form, sums, "weights", c.operands.weights, Array{});
  optional_field(form, is(Op::Convolution), "bias", c.operands.bias);
  optional_field(form, is(Op::ConvolutionGradients), "grad_output", c.operands.grad_output);
}

}  // namespace leafproof::oracle::forms
