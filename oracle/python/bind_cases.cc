// The class Case, and what is done with one: asked, judged, made small.

#include <fmt/format.h>

#include <set>

#include "oracle/case_bytes.h"
#include "oracle/case_fields.h"
#include "oracle/case_json.h"
#include "oracle/case_text.h"
#include "oracle/generate.h"
#include "oracle/python/answers.h"
#include "oracle/python/kernel_map.h"
#include "oracle/python/module.h"
#include "oracle/python/question.h"
#include "oracle/report.h"
#include "oracle/shapes.h"
#include "oracle/shrink.h"
#include "reference/numbers.h"
#include "reference/passes.h"

namespace leafproof::python {
namespace {

using oracle::Case;
using oracle::Op;

/// The small fields that the operation takes, by name: a form that case_fields.h fills.
struct Parameters {
  static constexpr bool reading = false;
  nb::dict all;
  bool present(std::string_view name, bool is_default) const {
    static const std::set<std::string_view> small{
        "factor",   "operation", "lo",         "hi",   "kernel_size",     "stride",
        "dilation", "dense",     "transposed", "type", "target_is_source"};
    return small.contains(name) || !is_default;
  }
  void absent(const char*, bool) const {}
  void value(const char* name, const Triple& t) { all[name] = nb::make_tuple(t[0], t[1], t[2]); }
  void value(const char* name, Op op) { all[name] = text(to_string(op)); }
  void value(const char* name, bool flag) { all[name] = flag; }
  void value(const char* name, oracle::Direction direction) {
    all[name] = direction == oracle::Direction::Transposed;
  }
  void value(const char* name, NumberType type) { all[name] = text(reference::to_string(type)); }
  template <class Large>
  void value(const char*, const Large&) {}
};

Op op_in(const char* operation, nb::handle given) {
  const Argument argument{operation, "op"};
  const auto name = bytes_of(argument, given);
  const auto op = oracle::parse_op(name);
  if (!op) refuse(ErrorKind::InvalidArgument, argument, name, "is no operation");
  return *op;
}

std::vector<std::uint8_t> bytes_in(const char* operation, const char* name, nb::handle given) {
  const Argument argument{operation, name};
  if (PyUnicode_Check(given.ptr()))
    refuse(ErrorKind::InvalidArgument, argument, text_of(given), "must be bytes");
  const auto bytes = numbers<std::uint8_t>(argument, given, {-1}, Holds::Integers);
  return {bytes.values.begin(), bytes.values.end()};
}

Case from_choices(nb::handle op, nb::handle choices, nb::handle family) {
  const auto made = op_in("from_choices", op);
  const auto bytes = bytes_in("from_choices", "choices", choices);
  if (family.is_none()) return without_gil([&] { return oracle::generate(made, bytes); });
  const Argument argument{"from_choices", "family"};
  const auto name = bytes_of(argument, family);
  const auto* shape = oracle::find_shape(name);
  if (shape == nullptr)
    refuse(ErrorKind::InvalidArgument, argument, name, "is none of leafproof.families(op)");
  return without_gil([&] { return oracle::generate(made, bytes, *shape); });
}

/// The lists that from_ijk and from_points read; of others, the voxels that the operation reads.
template <class Member, class Put>
std::vector<std::int64_t> flatten(const std::vector<Member>& members, const Put& put) {
  std::vector<std::int64_t> offsets{0};
  for (const auto& member : members) {
    for (const auto& element : member) put(element);
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(member.size()));
  }
  return offsets;
}

std::pair<nb::object, nb::object> lists_of(const Case& c) {
  std::vector<std::int32_t> ijk;
  std::vector<double> xyz;
  std::vector<std::int64_t> offsets;
  if (c.op == Op::FromPoints)
    offsets = flatten(c.points, [&](const auto& p) { xyz.insert(xyz.end(), p.begin(), p.end()); });
  else
    offsets = flatten(c.view ? reference::view(c.source, *c.view).members : c.source.members,
                      [&](const auto& v) { ijk.insert(ijk.end(), {v.x, v.y, v.z}); });
  const Shape rows{offsets.back(), 3}, count{static_cast<std::int64_t>(offsets.size())};
  auto list =
      c.op == Op::FromPoints ? array_of(std::move(xyz), rows) : array_of(std::move(ijk), rows);
  return {list, array_of(std::move(offsets), count)};
}

nb::object numbers_of(const Case& c, const reference::Array& array) {
  if (array.shape.empty() && array.values.empty()) return nb::none();  // none were given
  oracle::NumbersAnswer numbers;
  numbers.array = array;
  numbers.type = c.operands.type;
  // What the type does not hold (a case that must be refused for it) stays as it was written.
  if (numbers.type == NumberType::Int32)
    for (const double x : array.values)
      if (!(x == static_cast<double>(static_cast<std::int64_t>(x)) && x >= -2147483648.0 &&
            x <= 2147483647.0))
        numbers.type = NumberType::Float64;
  if (reference::size_of(array.shape) != static_cast<std::int64_t>(array.values.size()))
    refuse(ErrorKind::ShapeMismatch, {"case", "array"}, reference::to_text(array.shape),
           fmt::format("has {} numbers", array.values.size()));
  return python_of(c, std::move(numbers), "case");
}

nb::object optional_numbers(const Case& c, const std::optional<reference::Array>& array) {
  return array ? numbers_of(c, *array) : nb::none();
}

nb::object batch_of(const std::optional<reference::Batch>& batch) {
  return batch ? nb::cast(std::make_shared<Batch>(*batch)) : nb::none();
}

nb::object maps_part(const Case& c, int part) {
  const auto batch = c.view ? reference::view(c.source, *c.view) : c.source;
  return maps_of(batch.maps)[part];
}

void bind_case_class(nb::module_& module) {
  nb::class_<Case>(module, "Case",
                   "One question: an operation, its parameters, and everything that it takes "
                   "(docs/case-format.md).")
      .def(
          "__init__",
          [](Case* self, nb::object op, const nb::kwargs& given) {
            const Question question(bytes_of({"case", "op"}, op), given);
            new (self) Case(without_gil([&] { return question.as_case(); }));
          },
          nb::arg("op").none(), nb::arg("arguments"),
          nb::sig("def __init__(self, op: str, **arguments: Any) -> None"),
          "The same arguments as the function of that name.")
      .def_static(
          "parse",
          [](nb::object line) { return oracle::read_case_text(bytes_of({"case", "text"}, line)); },
          nb::arg("text").none(), nb::sig("def parse(text: str) -> Case"),
          "A line ``case1 ...``, as reports print it.")
      .def("__str__", [](const Case& self) { return text(oracle::write_case_text(self)); })
      .def("__repr__",
           [](const Case& self) {
             return text("leafproof.Case.parse('" + oracle::write_case_text(self) + "')");
           })
      .def("to_json", [](const Case& self) { return text(oracle::write_case_json(self)); })
      .def_static(
          "from_json",
          [](nb::object json) { return oracle::read_case_json(bytes_of({"case", "json"}, json)); },
          nb::arg("json").none(), nb::sig("def from_json(json: str) -> Case"))
      .def("to_bytes",
           [](const Case& self) {
             const auto bytes = oracle::write_case_bytes(self);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def_static(
          "from_bytes",
          [](nb::object bytes) {
            return oracle::read_case_bytes(bytes_in("case", "bytes", bytes));
          },
          nb::arg("bytes").none(), nb::sig("def from_bytes(bytes: Buffer) -> Case"))
      .def_static(
          "generate",
          [](nb::object op, nb::object seed, nb::object index) {
            const auto made = op_in("generate", op);
            const auto s = integer({"generate", "seed"}, seed);
            const auto i = integer({"generate", "index"}, index);
            if (s < 0)
              refuse(ErrorKind::InvalidArgument, {"generate", "seed"}, std::to_string(s),
                     "must not be negative");
            if (i < 0)
              refuse(ErrorKind::InvalidArgument, {"generate", "index"}, std::to_string(i),
                     "must not be negative");
            return without_gil([&] {
              return oracle::generate(made, static_cast<std::uint64_t>(s),
                                      static_cast<std::uint64_t>(i));
            });
          },
          nb::arg("op").none(), nb::arg("seed").none(), nb::arg("index").none(),
          nb::sig("def generate(op: str, seed: int, index: int) -> Case"),
          "The case that ``leafproof verify --ops OP --seed SEED --case INDEX`` judges.")
      .def_static(
          "from_choices",
          [](nb::object op, nb::object choices, nb::object family) {
            return from_choices(op, choices, family);
          },
          nb::arg("op").none(), nb::arg("choices").none(), nb::arg("family") = nb::none(),
          nb::sig("def from_choices(op: str, choices: Buffer, family: str | None = None) -> Case"),
          "A case that bytes choose: whatever they are it is well formed, and where they end every "
          "choice is the simplest one. ``family``: voxel sets of this family, and no case that "
          "must be refused.")
      .def(
          "__eq__",
          [](const Case& self, nb::object other) -> nb::object {
            if (!nb::isinstance<Case>(other)) return nb::borrow(Py_NotImplemented);
            return nb::bool_(oracle::write_case_bytes(self) ==
                             oracle::write_case_bytes(nb::cast<const Case&>(other)));
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const Case& self) {
             const auto bytes = oracle::write_case_bytes(self);
             return nb::hash(nb::bytes(bytes.data(), bytes.size()));
           })
      .def("__getstate__",
           [](const Case& self) {
             const auto bytes = oracle::write_case_bytes(self);
             return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), text(self.id),
                                   text(self.comment));
           })
      .def("__setstate__",
           [](Case& self, const nb::tuple& state) {
             const auto bytes = nb::cast<nb::bytes>(state[0]);
             new (&self) Case(oracle::read_case_bytes(
                 {static_cast<const std::uint8_t*>(bytes.data()), bytes.size()}));
             self.id = bytes_of({"case", "id"}, state[1]);
             self.comment = bytes_of({"case", "comment"}, state[2]);
           })
      .def_prop_ro(
          "op", [](const Case& self) { return text(to_string(self.op)); },
          nb::sig("def op(self) -> str"))
      .def_prop_ro(
          "id", [](const Case& self) { return text(self.id); }, nb::sig("def id(self) -> str"),
          "Where it comes from.")
      .def_prop_ro(
          "comment", [](const Case& self) { return text(self.comment); },
          nb::sig("def comment(self) -> str"), "Which fault it would show.")
      .def_prop_ro(
          "params",
          [](const Case& self) {
            Parameters form;
            oracle::forms::each_field(form, self);
            return form.all;
          },
          nb::sig("def params(self) -> dict[str, Any]"),
          "``factor``, ``lo``, ``hi``, ``kernel_size``, ...: those that the operation takes.")
      .def_prop_ro(
          "source", [](const Case& self) { return source_of(self); },
          nb::sig("def source(self) -> Batch | None"),
          "What the operation reads: of a case with a view, the view. None for from_ijk and "
          "from_points, which read ``ijk`` or ``points``.")
      .def_prop_ro(
          "other", [](const Case& self) { return batch_of(self.other); },
          nb::sig("def other(self) -> Batch | None"))
      .def_prop_ro(
          "target", [](const Case& self) { return batch_of(self.target); },
          nb::sig("def target(self) -> Batch | None"), "None: the complete one [K-6].")
      .def_prop_ro(
          "view",
          [](const Case& self) -> nb::object {
            if (!self.view) return nb::none();
            nb::list all;
            for (const auto i : *self.view) all.append(i);
            return nb::object(all);
          },
          nb::sig("def view(self) -> list[int] | None"), "Already applied to ``source``.")
      .def_prop_ro(
          "ijk",
          [](const Case& self) {
            return self.op == Op::FromPoints ? nb::none() : lists_of(self).first;
          },
          nb::sig("def ijk(self) -> NDArray[numpy.int32] | None"),
          "[N, 3]: of from_ijk the lists as given, any order, with repeats; of others the voxels "
          "of ``source``.")
      .def_prop_ro(
          "points",
          [](const Case& self) {
            return self.op == Op::FromPoints ? lists_of(self).first : nb::none();
          },
          nb::sig("def points(self) -> NDArray[numpy.float64] | None"))
      .def_prop_ro(
          "offsets", [](const Case& self) { return lists_of(self).second; },
          nb::sig("def offsets(self) -> NDArray[numpy.int64]"),
          "[B+1]: where the members of ``ijk`` or ``points`` begin.")
      .def_prop_ro(
          "voxel_sizes", [](const Case& self) { return maps_part(self, 0); },
          nb::sig("def voxel_sizes(self) -> NDArray[numpy.float64]"))
      .def_prop_ro(
          "origins", [](const Case& self) { return maps_part(self, 1); },
          nb::sig("def origins(self) -> NDArray[numpy.float64]"))
      .def_prop_ro(
          "names",
          [](const Case& self) {
            const auto batch = self.view ? reference::view(self.source, *self.view) : self.source;
            nb::list all;
            for (const auto& name : batch.names) all.append(text(name));
            return all;
          },
          nb::sig("def names(self) -> list[str]"))
      .def_prop_ro(
          "mask",
          [](const Case& self) -> nb::object {
            if (!self.mask) return nb::none();
            nb::list all;
            for (const auto& one : *self.mask)
              all.append(array_of(one, {static_cast<std::int64_t>(one.size())}));
            return nb::object(all);
          },
          nb::sig("def mask(self) -> list[NDArray[numpy.uint8]] | None"),
          "A list of flags per member, in canonical order of its voxels.")
      .def_prop_ro(
          "features", [](const Case& self) { return numbers_of(self, self.operands.features); },
          nb::sig("def features(self) -> NDArray[Any] | None"))
      .def_prop_ro(
          "weights", [](const Case& self) { return numbers_of(self, self.operands.weights); },
          nb::sig("def weights(self) -> NDArray[Any] | None"))
      .def_prop_ro(
          "bias", [](const Case& self) { return optional_numbers(self, self.operands.bias); },
          nb::sig("def bias(self) -> NDArray[Any] | None"))
      .def_prop_ro(
          "grad_output",
          [](const Case& self) { return optional_numbers(self, self.operands.grad_output); },
          nb::sig("def grad_output(self) -> NDArray[Any] | None"));
}

const Case& case_in(const char* operation, nb::handle given) {
  if (!nb::isinstance<Case>(given))
    refuse(ErrorKind::InvalidArgument, {operation, "case"}, text_of(given), "must be a Case");
  return nb::cast<const Case&>(given);
}

std::string backend_in(const char* operation, nb::handle given) {
  return bytes_of({operation, "backend"}, given);
}

Claims claims_of(nb::object profile, nb::object source_rows, nb::object target_rows,
                 nb::object accumulator, nb::object multiplier) {
  Claims claims;
  if (!profile.is_none()) {
    const Argument argument{"judge", "profile"};
    const auto name = bytes_of(argument, profile);
    claims.profile = oracle::parse_profile(name);
    if (!claims.profile)
      refuse(ErrorKind::InvalidArgument, argument, name, "must be sets, topology, layout or bytes");
  }
  claims.source_rows = std::move(source_rows);
  claims.target_rows = std::move(target_rows);
  claims.accumulator = std::move(accumulator);
  claims.multiplier = std::move(multiplier);
  return claims;
}

/// `what`: an answer, or the name of a backend, whose answer owes what `verify` asks of it.
oracle::Verdict judged(const Case& question, nb::handle what, const Claims& claims,
                       nb::handle reference) {
  const auto standard = backend_named(backend_in("judge", reference));
  if (PyUnicode_Check(what.ptr())) {
    const auto backend = backend_named(backend_in("judge", what));
    return without_gil([&] {
      oracle::Answer answer;
      try {
        answer = backend->answer(question);
      } catch (const std::exception& error) {
        return oracle::verdict_of_exception(error);
      }
      return verdict_of(question, answer, *standard);
    });
  }
  const auto answer = answer_of(question, what, claims);
  return without_gil([&] { return verdict_of(question, answer, *standard); });
}

constexpr const char* kJudgeArguments =
    "profile: str | None = None, source_rows: Any = None, target_rows: Any = None, "
    "accumulator: str | None = None, multiplier: str | None = None, reference: str = 'reference')";

template <class Function>
void def_judge(nb::module_& module, const char* name, const Function& function,
               const std::string& signature, const char* doc) {
  module.def(name, function, nb::arg("case").none(), nb::arg("answer").none(), nb::kw_only(),
             nb::arg("profile") = nb::none(), nb::arg("source_rows") = nb::none(),
             nb::arg("target_rows") = nb::none(), nb::arg("accumulator") = nb::none(),
             nb::arg("multiplier") = nb::none(), nb::arg("reference").none() = "reference",
             nb::sig(signature.c_str()), doc);
}

}  // namespace

void bind_cases(nb::module_& module) {
  bind_case_class(module);
  module.def(
      "answer",
      [](nb::object given, nb::object backend) {
        const Case& question = case_in("answer", given);
        const auto name = backend_in("answer", backend);
        const auto asked = backend_named(name);
        auto answer = without_gil([&] { return asked->answer(question); });
        return python_of(question, std::move(answer), name);
      },
      nb::arg("case").none(), nb::arg("backend").none() = "reference",
      nb::sig("def answer(case: Case, backend: str = 'reference') -> Any"),
      "What a backend answers: a Batch, a KernelMap, an array, three of them, (voxel_sizes, "
      "origins); an Error, returned and not raised; NotImplemented. Of another program that has "
      "no grids: (ijk, offsets).");
  static const std::string check_signature =
      std::string("def check(case: Case, answer: Any, *, ") + kJudgeArguments + " -> None";
  static const std::string judge_signature = std::string("def judge(case: Case, answer: Any, *, ") +
                                             kJudgeArguments + " -> dict[str, Any]";
  def_judge(
      module, "check",
      [](nb::object given, nb::object what, nb::object profile, nb::object source_rows,
         nb::object target_rows, nb::object accumulator, nb::object multiplier,
         nb::object reference) {
        const Case& question = case_in("judge", given);
        raise_unless_equal(
            question, judged(question, what,
                             claims_of(profile, source_rows, target_rows, accumulator, multiplier),
                             reference));
      },
      check_signature,
      "Raises Mismatch, with the report as its text, where the answer is not the reference's. "
      "``answer``: what a library returned, or the name of a backend.");
  def_judge(
      module, "judge",
      [](nb::object given, nb::object what, nb::object profile, nb::object source_rows,
         nb::object target_rows, nb::object accumulator, nb::object multiplier,
         nb::object reference) {
        const Case& question = case_in("judge", given);
        return dict_of(judged(question, what,
                              claims_of(profile, source_rows, target_rows, accumulator, multiplier),
                              reference));
      },
      judge_signature, "The verdict of check() as a dict (docs/report-format.md).");
  module.def(
      "shrink",
      [](nb::object given, nb::object fails, nb::object most_tries) {
        const Case& start = case_in("shrink", given);
        if (!PyCallable_Check(fails.ptr()))
          refuse(ErrorKind::InvalidArgument, {"shrink", "fails"}, text_of(fails),
                 "must be a function of a case");
        const auto tries = integer({"shrink", "most_tries"}, most_tries);
        return oracle::shrink(
                   start, [&](const Case& c) { return nb::cast<bool>(nb::bool_(fails(c))); }, tries)
            .question;
      },
      nb::arg("case").none(), nb::arg("fails").none(), nb::arg("most_tries").none() = 4000,
      nb::sig("def shrink(case: Case, fails: Callable[[Case], bool], most_tries: int = 4000) -> "
              "Case"),
      "The smallest case near this one of which ``fails`` is true; it must be of this one.");
  module.def(
      "families",
      [](nb::object op) {
        op_in("families", op);
        nb::list all;
        for (const auto& shape : oracle::shapes()) all.append(text(shape.name));
        return all;
      },
      nb::arg("op").none(), nb::sig("def families(op: str) -> list[str]"),
      "The families of voxel sets that cases of the operation are made of (docs/families.md).");
  module.def(
      "operations",
      [] {
        nb::list all;
        for (const auto op : oracle::generated_ops()) all.append(text(to_string(op)));
        return all;
      },
      nb::sig("def operations() -> list[str]"), "Those that cases are generated for.");
  module.def(
      "backends",
      [] {
        nb::list all;
        for (const auto& name : oracle::backend_names()) all.append(text(name));
        return all;
      },
      nb::sig("def backends() -> list[str]"),
      "Those of this build; a command (docs/answer-format.md) is one too.");
}

}  // namespace leafproof::python
