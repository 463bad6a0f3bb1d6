// Kernel maps, plans, and convolution on the host over NumPy's own memory.

#include <fmt/format.h>

#include <Eigen/Core>

#include "gpu/plan.h"
#include "oracle/python/ask.h"
#include "oracle/python/kernel_map.h"
#include "oracle/python/module.h"

namespace leafproof::python {
namespace {

/// A plan with the batches as Python gave them.
struct Plan {
  gpu::Plan plan;
  std::shared_ptr<Batch> source, target;
};

/// Calls with a number of the type.
template <class Work>
nb::object of_type(NumberType type, const Work& work) {
  switch (type) {
    case NumberType::Float64:
      return work(double{});
    case NumberType::Float32:
      return work(float{});
    case NumberType::Float16:
      return work(Eigen::half{});
    default:
      return work(std::int32_t{});
  }
}

gpu::ConvolutionOptions options() {
  gpu::ConvolutionOptions all;
  all.threads = threads();
  return all;
}

template <class T>
gpu::Tensor<T> tensor(const Numbers<T>& numbers) {
  return {numbers.values, numbers.shape};
}

nb::object convolve(const Plan& self, nb::handle features, nb::handle weights, nb::handle bias) {
  const auto type = number_type({"convolution", "features"}, features);
  return of_type(type, [&](auto number) {
    using T = decltype(number);
    const auto read = [](const char* name, nb::handle given) {
      return numbers<T>({"convolution", name}, given, {}, Holds::Numbers);
    };
    const auto x = read("features", features), w = read("weights", weights);
    gpu::ConvolutionInput<T> input{tensor(x), tensor(w), {}};
    Numbers<T> b;
    if (!bias.is_none()) {
      b = read("bias", bias);
      input.bias = tensor(b);
    }
    auto output = without_gil([&] { return self.plan.convolve(input, options()); });
    return array_of(std::move(output), {self.plan.target().voxel_count(), w.shape[0]});
  });
}

nb::object gradients(const Plan& self, nb::handle features, nb::handle weights,
                     nb::handle grad_output) {
  const auto type = number_type({"convolution_gradients", "features"}, features);
  return of_type(type, [&](auto number) {
    using T = decltype(number);
    const auto read = [](const char* name, nb::handle given) {
      return numbers<T>({"convolution_gradients", name}, given, {}, Holds::Numbers);
    };
    const auto x = read("features", features), w = read("weights", weights);
    const auto g = read("grad_output", grad_output);
    const gpu::ConvolutionInput<T> input{tensor(x), tensor(w), {}};
    auto found = without_gil([&] { return self.plan.gradients(input, tensor(g), options()); });
    return nb::make_tuple(array_of(std::move(found.features), x.shape),
                          array_of(std::move(found.weights), w.shape),
                          array_of(std::move(found.bias), {w.shape[0]}));
  });
}

Plan make_plan(nb::handle source, nb::handle kernel_size, nb::handle stride, nb::handle dilation,
               nb::handle transposed, nb::handle target) {
  const auto argument = [](const char* name) { return Argument{"plan", name}; };
  const auto from = batch_in(argument("source"), source);
  std::shared_ptr<Batch> to;
  if (!target.is_none()) to = batch_in(argument("target"), target);
  const gpu::ConvGeometry geometry{triple(argument("kernel_size"), kernel_size),
                                   triple(argument("stride"), stride),
                                   triple(argument("dilation"), dilation)};
  const bool turned = flag(argument("transposed"), transposed);
  return without_gil([&] {
    std::optional<gpu::GridBatch> grids;
    if (to) grids = to->grids();
    auto plan =
        gpu::Plan::build(builder(), from->grids(), geometry,
                         turned ? gpu::Direction::Transposed : gpu::Direction::Forward, grids);
    if (!to) to = plan.target().is(from->grids()) ? from : std::make_shared<Batch>(plan.target());
    return Plan{std::move(plan), from, to};
  });
}

nb::object degrees(gpu::Degrees found) {
  nb::dict all;
  const auto list = [](std::vector<std::int64_t> values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return array_of(std::move(values), {n});
  };
  all["degrees"] = list(std::move(found.of_row));
  all["histogram"] = list(std::move(found.histogram));
  all["uncovered"] = list(std::move(found.unjoined));
  return nb::object(all);
}

nb::object triple_of(const gpu::Triple& t) {
  return nb::make_tuple(t[0], t[1], t[2]);
}

template <class T>
nb::object column(nb::handle self, const T* data, std::int64_t n) {
  return array_of(data, {n}, nb::cast<std::shared_ptr<KernelMap>>(self));
}

void bind_map(nb::module_& module) {
  nb::class_<KernelMap>(module, "KernelMap",
                        "Which source row meets which target row at which tap [M-2].")
      .def_prop_ro(
          "offsets",
          [](nb::object self) {
            const auto& at = *nb::cast<const KernelMap&>(self).offsets;
            return column(self, at.data(), static_cast<std::int64_t>(at.size()));
          },
          nb::sig("def offsets(self) -> NDArray[numpy.int64]"),
          "[taps+1]: the pairs of tap t are ``offsets[t]`` ... ``offsets[t+1]``; read-only.")
      .def_prop_ro(
          "gather",
          [](nb::object self) {
            const auto& map = nb::cast<const KernelMap&>(self);
            return column(self, map.gather, map.pairs());
          },
          nb::sig("def gather(self) -> NDArray[numpy.int32]"), "[pairs]: source rows; read-only.")
      .def_prop_ro(
          "scatter",
          [](nb::object self) {
            const auto& map = nb::cast<const KernelMap&>(self);
            return column(self, map.scatter, map.pairs());
          },
          nb::sig("def scatter(self) -> NDArray[numpy.int32]"), "[pairs]: target rows; read-only.")
      .def_prop_ro("taps", &KernelMap::taps)
      .def_prop_ro(
          "source", [](const KernelMap& self) { return self.source; },
          nb::sig("def source(self) -> Batch"))
      .def_prop_ro(
          "target", [](const KernelMap& self) { return self.target; },
          nb::sig("def target(self) -> Batch"))
      .def(
          "dense",
          [](const KernelMap& self) {
            return array_of(without_gil([&] { return self.dense(); }),
                            {self.taps(), self.target_rows});
          },
          nb::sig("def dense(self) -> NDArray[numpy.int64]"),
          "[taps, target rows]: a source row, or -1 [M-4].")
      .def("transposed", &KernelMap::transposed,
           "Columns swapped [M-1]; in constant time, and in the same order of pairs.")
      .def("__len__", &KernelMap::pairs)
      .def("__repr__", [](const KernelMap& self) {
        return fmt::format(
            "<leafproof.KernelMap: {} taps, {} pairs, {} source rows, {} target rows>", self.taps(),
            self.pairs(), self.source_rows, self.target_rows);
      });
}

void bind_plan(nb::module_& module) {
  nb::class_<Plan>(module, "Plan",
                   "All that a convolution needs of its grids, built once by the builder and used "
                   "with any weights and features that fit [P-1]. Immutable.")
      .def(
          "__init__",
          [](Plan* self, nb::object source, nb::object kernel_size, nb::object stride,
             nb::object dilation, nb::object transposed, nb::object target) {
            new (self) Plan(make_plan(source, kernel_size, stride, dilation, transposed, target));
          },
          nb::arg("source").none(), nb::arg("kernel_size").none(), nb::arg("stride").none() = 1,
          nb::arg("dilation").none() = 1, nb::arg("transposed").none() = false,
          nb::arg("target") = nb::none(),
          nb::sig("def __init__(self, source: Batch, kernel_size: int | Sequence[int], "
                  "stride: int | Sequence[int] = 1, dilation: int | Sequence[int] = 1, "
                  "transposed: bool = False, target: Batch | None = None) -> None"),
          "Without a target: the complete one [K-6].")
      .def_prop_ro(
          "source", [](const Plan& self) { return self.source; },
          nb::sig("def source(self) -> Batch"))
      .def_prop_ro(
          "target", [](const Plan& self) { return self.target; },
          nb::sig("def target(self) -> Batch"))
      .def_prop_ro(
          "map",
          [](const Plan& self) -> nb::object {
            const auto& map = self.plan.map().map();
            if (!map) return nb::none();
            return nb::cast(std::make_shared<KernelMap>(*map, self.source, self.target));
          },
          nb::sig("def map(self) -> KernelMap | None"),
          "None where each row is joined to itself: no map is built [V-4].")
      .def(
          "transposed",
          [](const Plan& self) { return Plan{self.plan.transposed(), self.target, self.source}; },
          nb::sig("def transposed(self) -> Plan"),
          "Source and target exchanged [P-2]; in constant time.")
      .def(
          "convolve",
          [](const Plan& self, nb::object features, nb::object weights, nb::object bias) {
            return convolve(self, features, weights, bias);
          },
          nb::arg("features").none(), nb::arg("weights").none(), nb::arg("bias") = nb::none(),
          nb::sig("def convolve(self, features: ArrayLike, weights: ArrayLike, "
                  "bias: ArrayLike | None = None) -> NDArray[Any]"),
          "[source rows, Cin] and [Cout, Cin, Kx, Ky, Kz] to [target rows, Cout], in the type of "
          "the features: float64, float32, float16 or int32 [V-1] [V-6].")
      .def(
          "gradients",
          [](const Plan& self, nb::object features, nb::object weights, nb::object grad_output) {
            return gradients(self, features, weights, grad_output);
          },
          nb::arg("features").none(), nb::arg("weights").none(), nb::arg("grad_output").none(),
          nb::sig("def gradients(self, features: ArrayLike, weights: ArrayLike, grad_output: "
                  "ArrayLike) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]"),
          "Those of the features, the weights and the bias [V-2].")
      .def_prop_ro(
          "kernel_size", [](const Plan& self) { return triple_of(self.plan.geometry().kernel); },
          nb::sig("def kernel_size(self) -> tuple[int, int, int]"))
      .def_prop_ro(
          "stride", [](const Plan& self) { return triple_of(self.plan.geometry().stride); },
          nb::sig("def stride(self) -> tuple[int, int, int]"))
      .def_prop_ro(
          "dilation", [](const Plan& self) { return triple_of(self.plan.geometry().dilation); },
          nb::sig("def dilation(self) -> tuple[int, int, int]"))
      .def_prop_ro(
          "is_transposed",
          [](const Plan& self) { return self.plan.direction() == gpu::Direction::Transposed; })
      .def_prop_ro(
          "is_complete",
          [](const Plan& self) { return self.plan.policy() == gpu::TargetPolicy::Complete; })
      .def_prop_ro(
          "reaches_every_residue",
          [](const Plan& self) { return self.plan.reaches_every_residue(); },
          "False where taps miss a stride residue on some axis [P-3].")
      .def(
          "coverage",
          [](const Plan& self) {
            auto found = without_gil([&] { return self.plan.coverage(); });
            nb::dict all;
            all["source"] = degrees(std::move(found.source));
            all["target"] = degrees(std::move(found.target));
            return all;
          },
          nb::sig("def coverage(self) -> dict[str, dict[str, NDArray[numpy.int64]]]"),
          "Of both sides: the number of pairs of each row, the histogram, the rows in none [M-6].")
      .def(
          "report", [](const Plan& self) { return text(self.plan.report()); },
          nb::sig("def report(self) -> str"), "What it is, in a few lines.")
      .def("__repr__",
           [](const Plan& self) { return text("<leafproof.Plan: " + self.plan.report() + ">"); });
}

}  // namespace

void bind_convolution(nb::module_& module) {
  bind_map(module);
  bind_plan(module);
}

}  // namespace leafproof::python
