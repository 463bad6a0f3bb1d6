// The module leafproof._core: everything of the package that is C++, and how errors cross.
#include "oracle/python/module.h"

#include <new>

#include "gpu/error.h"
#include "oracle/backends/builder_backend.h"
#include "oracle/case_text.h"
#include "oracle/report.h"

namespace leafproof::python {
namespace {

nb::object error_class(const char* name) {
  return nb::module_::import_("leafproof._errors").attr(name);
}

void raise(const nb::object& error) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

/// Every exception of C++ that leaves a function of the module.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    raise(python_error(error));
  } catch (const gpu::Error& error) {
    raise(python_error(oracle::translated(error)));
  } catch (const std::bad_alloc&) {
    raise(python_error(
        Error(ErrorKind::OutOfMemory, {"leafproof", "memory", "", "there is none left", {}, {}})));
  } catch (const std::length_error& error) {  // of a container: more than there can be
    raise(python_error(
        Error(ErrorKind::OutOfMemory, {"leafproof", "memory", "", error.what(), {}, {}})));
  }
}

std::string case_text(const oracle::Case& question) {
  try {
    return oracle::write_case_text(question);
  } catch (const Error&) {
    return "";  // a case that has no text
  }
}

}  // namespace

nb::object python_error(const Error& error) {
  const auto& detail = error.detail();
  const auto number = [](const std::optional<std::int64_t>& n) -> nb::object {
    return n ? nb::object(nb::int_(*n)) : nb::none();
  };
  return error_class("Error")(
      text(error.what()), nb::arg("kind") = text(to_string(error.kind())),
      nb::arg("operation") = text(detail.operation), nb::arg("argument") = text(detail.argument),
      nb::arg("value") = text(detail.value), nb::arg("reason") = text(detail.reason),
      nb::arg("member") = number(detail.member), nb::arg("row") = number(detail.row));
}

std::optional<Error> error_in(nb::handle given) {
  if (!nb::isinstance(given, error_class("Error"))) return {};
  const Argument argument{"judge", "kind"};
  const nb::object kind = given.attr("kind");
  const auto known = oracle::parse_error_kind(bytes_of(argument, kind));
  if (!known)
    refuse(ErrorKind::InvalidArgument, argument, text_of(kind), "is no kind of error [E-3]");
  const auto said = [&](const char* name) { return bytes_of({"judge", name}, given.attr(name)); };
  return Error(*known,
               {said("operation"), said("argument"), said("value"), said("reason"), {}, {}});
}

nb::object dict_of(const oracle::Verdict& verdict) {
  return nb::module_::import_("json").attr("loads")(text(oracle::json_verdict(verdict)));
}

void raise_unless_equal(const oracle::Case& question, const oracle::Verdict& verdict) {
  if (verdict.ok()) return;
  raise(error_class("Mismatch")(text(oracle::text_verdict(verdict)), dict_of(verdict),
                                text(case_text(question))));
  throw nb::python_error();
}

}  // namespace leafproof::python

NB_MODULE(_core, module) {
  namespace python = leafproof::python;
  module.doc() = "The part of leafproof that is C++; import leafproof instead.";
  // What Python 3.10 keeps to its end, a traceback's arrays for example, is no leak of ours.
#if PY_VERSION_HEX < 0x030B0000
  nanobind::set_leak_warnings(false);
#endif
  nanobind::register_exception_translator(python::translate);
  python::bind_batch(module);
  python::bind_convolution(module);
  python::bind_cases(module);
}
