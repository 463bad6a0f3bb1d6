// [T-6] prune, merge, intersect, subtract, and [T-9] views: members chosen or joined as they stand.
#include <algorithm>
#include <iterator>

#include "reference/canonical_order.h"
#include "reference/checks.h"
#include "reference/passes.h"

namespace leafproof::reference {
namespace {

// Member by member, by one of the standard library's operations on sorted ranges; the result keeps
// the first operand's maps and names, the second's are not read [T-10].
template <class SetOperation>
Batch joined(const char* operation, const Batch& source, const Batch& other, SetOperation join) {
  if (other.size() != source.size())
    refuse(ErrorKind::ShapeMismatch, operation, "other", std::to_string(other.size()) + " members",
           "as many as the source: " + std::to_string(source.size()));
  check_batch(operation, source);
  check_members(operation, "other", other.members);

  Batch result = source;
  for (std::size_t m = 0; m < source.size(); ++m) {
    const std::vector<Voxel>&a = source.members[m], &b = other.members[m];
    std::vector<Voxel>& r = result.members[m];
    r.clear();
    join(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(r), canonical_less);
  }
  return result;
}

}  // namespace

Batch prune(const Batch& source, const Masks& mask) {
  check_batch("prune", source);
  check_masks("prune", source, mask);
  Batch result = source;
  for (std::size_t m = 0; m < source.size(); ++m) {
    result.members[m].clear();
    for (std::size_t i = 0; i < source.members[m].size(); ++i)
      if (mask[m][i]) result.members[m].push_back(source.members[m][i]);
  }
  return result;
}

Batch merge(const Batch& source, const Batch& other) {
  return joined("merge", source, other, [](auto... range) { std::set_union(range...); });
}

Batch intersect(const Batch& source, const Batch& other) {
  return joined("intersect", source, other, [](auto... range) { std::set_intersection(range...); });
}

Batch subtract(const Batch& source, const Batch& other) {
  return joined("subtract", source, other, [](auto... range) { std::set_difference(range...); });
}

Batch view(const Batch& source, const std::vector<std::int64_t>& members) {
  const auto count = static_cast<std::int64_t>(source.size());
  for (std::size_t position = 0; position < members.size(); ++position)
    if (members[position] < 0 || members[position] >= count)
      refuse(ErrorKind::InvalidArgument, "view", "view", std::to_string(members[position]),
             "a member's index is 0 ... B-1, and B is " + std::to_string(count), position);
  check_batch("view", source);

  Batch result;
  for (const std::int64_t m : members) {
    result.members.push_back(source.members[m]);
    result.maps.push_back(source.maps[m]);
    result.names.push_back(source.names[m]);
  }
  return result;
}

}  // namespace leafproof::reference
