// culmen's exceptions become those of culmen/_errors.py.
#pragma once

namespace culmen::python {

void translate_errors();

}  // namespace culmen::python
