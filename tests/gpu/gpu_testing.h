// What the tests of GPU engines share.
#pragma once

#include <gtest/gtest.h>

#include "culmen/device.h"

#define SKIP_WITHOUT_GPU() \
  if (::culmen::num_devices() == 0) GTEST_SKIP() << "no GPU"
