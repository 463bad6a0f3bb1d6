// Numbers of the four types of [V-6], carried in double, which holds every number of each exactly.
#pragma once

#include <string>
#include <string_view>

#include "reference/conv_structs.h"

namespace leafproof::reference {

/// "float64", "float32", "float16", "int32": the names that NumPy has.
std::string_view to_string(NumberType type);

/// Rounded once to the type: to nearest, ties to even; too large is infinity. float16 by way of
/// float32, as the accumulator of [V-6] is. Int32: as it is.
double rounded(NumberType type, double number);

/// Half the distance from 1 to the next number of the type, and its smallest and largest normal
/// numbers [V-3]. Not of Int32.
struct Precision {
  double unit_roundoff, smallest_normal, largest;
};
Precision precision_of(NumberType type);

/// [V-6] An argument's numbers, each cast to the type. Int32: InvalidArgument for a number that it
/// does not hold exactly; the error's row is that of the first axis.
Array cast(const char* operation, const char* argument, const Array& given, NumberType type);

/// The product of a shape, -1 where it is none or 64 bits do not hold it; and "[3][2]".
std::int64_t size_of(const std::vector<std::int64_t>& shape);
std::string to_text(const std::vector<std::int64_t>& shape);

}  // namespace leafproof::reference
