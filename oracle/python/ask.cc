// See ask.h.
#include "oracle/python/ask.h"

#include "oracle/python/answers.h"
#include "oracle/python/module.h"

namespace leafproof::python {
namespace {

bool makes_grids(oracle::Op op) {
  using oracle::Op;
  return op == Op::ConvGrid || op == Op::ConvTransposeGrid ||
         (!oracle::convolves(op) && op != Op::MapAfter);
}

}  // namespace

nb::object ask(const std::string& op, nb::handle backend, const nb::kwargs& given) {
  const auto name = bytes_of({op, "backend"}, backend);
  const Question question(op, given);
  if (name == "host" && makes_grids(question.op()))
    return nb::cast(without_gil([&] { return std::make_shared<Batch>(question.ask_builder()); }));
  if (name == "host" && question.op() == oracle::Op::KernelMap && !question.dense())
    return nb::cast(without_gil([&] { return question.ask_builder_for_map(); }));
  const auto asked = backend_named(name);
  oracle::Case as_case;
  oracle::Answer answer = without_gil([&] {
    as_case = question.as_case();
    return asked->answer(as_case);
  });
  if (const auto* error = std::get_if<Error>(&answer)) throw *error;
  if (const auto* none = std::get_if<oracle::NotImplemented>(&answer))
    refuse(ErrorKind::Unsupported, {op, "backend"}, name, none->reason);
  return python_of(as_case, std::move(answer), name, question.source(), question.target());
}

}  // namespace leafproof::python
