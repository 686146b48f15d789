// A view does not own: a vector that is gone at the end of the line is not viewed.
#include <vector>

#include "culmen/table.h"

culmen::ColumnView column() {
  return culmen::ColumnView(std::vector<float>{1, 2});
}
