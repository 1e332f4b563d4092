#pragma once

#include <xxhash.h>

/// XXH3_128bits with the widest vectors that the processor has. The value is the same on every processor.
XXH128_hash_t cxxhash_128bits(const void *bytes, size_t count);
