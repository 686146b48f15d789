// Everything: index, queries, tables, errors.
#pragma once

#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/query.h"
#include "culmen/scoring.h"
#include "culmen/table.h"
#include "culmen/table_io.h"
