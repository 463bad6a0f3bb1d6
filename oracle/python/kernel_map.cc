// See kernel_map.h.
#include "oracle/python/kernel_map.h"

#include <limits>
#include <utility>

#include "oracle/python/arguments.h"

namespace leafproof::python {

KernelMap::KernelMap(const gpu::KernelMap& map, std::shared_ptr<Batch> source_of,
                     std::shared_ptr<Batch> target_of)
    : source(std::move(source_of)),
      target(std::move(target_of)),
      source_rows(map.source_rows()),
      target_rows(map.target_rows()),
      offsets(std::make_shared<const std::vector<std::int64_t>>(map.offsets())),
      owner(map.memory()),
      gather(map.gather()),
      scatter(map.scatter()) {}

KernelMap::KernelMap(const reference::KernelMap& map, std::shared_ptr<Batch> source_of,
                     std::shared_ptr<Batch> target_of)
    : source(std::move(source_of)),
      target(std::move(target_of)),
      source_rows(map.source_rows),
      target_rows(map.target_rows),
      offsets(std::make_shared<const std::vector<std::int64_t>>(map.offsets)) {
  auto columns = std::make_shared<std::vector<std::int32_t>>();
  columns->reserve(map.gather.size() + map.scatter.size());
  for (const auto* column : {&map.gather, &map.scatter})
    for (const std::int64_t row : *column) {
      if (!std::in_range<std::int32_t>(row))
        refuse(ErrorKind::CapacityExceeded, {"kernel_map", "rows"}, std::to_string(row),
               "32 bits do not hold it");
      columns->push_back(static_cast<std::int32_t>(row));
    }
  gather = columns->data();
  scatter = gather + map.gather.size();
  owner = std::move(columns);
}

std::vector<std::int64_t> KernelMap::dense() const {
  std::vector<std::int64_t> index(static_cast<std::size_t>(taps() * target_rows), -1);
  for (std::size_t tap = 0; tap + 1 < offsets->size(); ++tap)
    for (std::int64_t i = (*offsets)[tap]; i < (*offsets)[tap + 1]; ++i)
      index[tap * static_cast<std::size_t>(target_rows) + static_cast<std::size_t>(scatter[i])] =
          gather[i];
  return index;
}

KernelMap KernelMap::transposed() const {
  KernelMap other = *this;
  std::swap(other.source, other.target);
  std::swap(other.source_rows, other.target_rows);
  std::swap(other.gather, other.scatter);
  return other;
}

}  // namespace leafproof::python
