// xxHash is compiled into this target from its header: the programs need no libxxhash at run time, and choose the vectors themselves.
#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include "CXXHash.h"

#if defined(__x86_64__)
XXH128_hash_t cxxhash_128bits_avx2(const void *bytes, size_t count);

XXH128_hash_t cxxhash_128bits(const void *bytes, size_t count) {
    return __builtin_cpu_supports("avx2") ? cxxhash_128bits_avx2(bytes, count) : XXH3_128bits(bytes, count);
}
#else
XXH128_hash_t cxxhash_128bits(const void *bytes, size_t count) { return XXH3_128bits(bytes, count); }
#endif
