// Everything: index, queries, tables, errors.
#pragma once

#include "culmen/build.h"
#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/info.h"
#include "culmen/open.h"
#include "culmen/plan.h"
#include "culmen/query.h"
#include "culmen/resources.h"
#include "culmen/schema.h"
#include "culmen/scoring.h"
#include "culmen/search.h"
#include "culmen/table.h"
#include "culmen/table_io.h"
#include "culmen/version.h"
#include "culmen/write.h"
