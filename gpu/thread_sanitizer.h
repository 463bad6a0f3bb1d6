// Whether this is a build for the thread sanitizer. TBB's library is not instrumented: what its
// threads hand over would look like a race, so threads of our own take their work there.
#pragma once

namespace leafproof::gpu {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

}  // namespace leafproof::gpu
