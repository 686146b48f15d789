#pragma once
#include <cstdlib>
inline int culmen_mut() { static const int m = getenv("MUT") ? atoi(getenv("MUT")) : 0; return m; }
