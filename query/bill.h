// Bill: how often each constant of the machine is to be paid. What a search takes is its bill at the
// machine's costs, so that bills of searches which have been timed tell the costs (fit_costs).
#pragma once

#include <span>

#include "query/machine_costs.h"

namespace culmen {

class Bill {
 public:
  Bill();

  void charge(Cost cost, double times) { times_.*cost += times; }
  void add(const Bill& other, double part);
  double times(Cost cost) const { return times_.*cost; }
  double ns(const MachineCosts& costs) const;

 private:
  MachineCosts times_;  // of each: no nanoseconds
};

struct PaidBill {
  Bill bill;
  double ns = 0;
};

// The costs, none of them negative, by which bills come nearest to what was paid: least squares of the part
// by which they miss it. A cost that no bill charges keeps its default.
MachineCosts fit_costs(std::span<const PaidBill> paid);

}  // namespace culmen
