// A view does not own its values, so a temporary vector is refused.
#include <vector>

#include "culmen/table.h"

culmen::ColumnView column() {
  return culmen::ColumnView(std::vector<float>{1, 2});
}
