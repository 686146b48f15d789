#include "errors.h"

#include <nanobind/nanobind.h>

#include <exception>

#include "culmen/error.h"
#include "text.h"

namespace culmen::python {
namespace {

namespace nb = nanobind;

nb::object error_of(const char* type, const std::exception& error) {
  return nb::module_::import_("culmen._errors").attr(type)(system_text(error.what()));
}

void raise(const nb::object& error) {
  PyErr_SetObject(error.type().ptr(), error.ptr());
}

// Derived ones before those that they derive from.
void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const RowError& error) {
    nb::object object = error_of("RowError", error);
    object.attr("row") = error.row();
    raise(object);
  } catch (const InputError& error) {
    raise(error_of("InputError", error));
  } catch (const InvalidArgument& error) {
    raise(error_of("InvalidArgument", error));
  } catch (const FormatError& error) {
    raise(error_of("FormatError", error));
  } catch (const NoIndex& error) {
    raise(error_of("NoIndex", error));
  } catch (const IoError& error) {
    raise(error_of("IoError", error));
  } catch (const OutOfDeviceMemory& error) {
    raise(error_of("OutOfDeviceMemory", error));
  } catch (const CudaError& error) {
    raise(error_of("CudaError", error));
  } catch (const Error& error) {
    raise(error_of("Error", error));
  } catch (const nb::cast_error&) {  // texts with halves of surrogate pairs, say
    raise(nb::module_::import_("culmen._errors")
              .attr("InvalidArgument")("an argument is no text in Unicode, or has a wrong type"));
  }
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator(translate);
}

}  // namespace culmen::python
