#include <xxhash.h>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#endif

/// XXH3_128bits with the widest vectors that the processor has; the value is the same everywhere.
static inline XXH128_hash_t cxxhash_128bits(const void *bytes, size_t count) {
#if defined(__x86_64__)
    return XXH3_128bits_dispatch(bytes, count);
#else
    return XXH3_128bits(bytes, count);
#endif
}
