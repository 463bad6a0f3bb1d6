// A view is its own batch [T-9]: what an operation answers on a view is, byte for byte and bit for
// bit, what it answers on the members rebuilt in that order. Asked of each builder about itself.
#include "fuzz/case_target.h"
#include "fuzz/sides.h"
#include "oracle/case_edit.h"

namespace leafproof::fuzz {

using namespace oracle;

const std::vector<Op>& target_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> all;
    for (const Op op : generated_ops())
      if (op != Op::FromIjk && op != Op::FromPoints) all.push_back(op);  // lists have no views
    return all;
  }();
  return ops;
}

void try_case(const Case& question, bool rarely) {
  Case viewed = question;
  if (!viewed.view) {
    viewed.view.emplace();  // of all members: the rows stay
    for (std::size_t m = 0; m < question.source.size(); ++m)
      viewed.view->push_back(static_cast<std::int64_t>(m));
  }
  Case rebuilt = viewed;
  resolve_view(rebuilt);
  if (rebuilt.view) return;  // of a member that is not there
  for (const Backend* side : builders(rarely))
    if (const auto what = difference(side->answer(rebuilt), side->answer(viewed)))
      finding_in(viewed, *side, "rebuilt (expected), and as a view: " + *what);
}

}  // namespace leafproof::fuzz
