#ifndef ICODEC_INTERNAL_H
#define ICODEC_INTERNAL_H

#include <sys/types.h>

#include "icodec_common.h"

/// Bytes that are collected: an encoder's output, a profile that comes in parts.
typedef struct {
    uint8_t *bytes;
    size_t count, capacity;
} icodec_bytes;

/// False when memory is short; what was there stays.
bool icodec_append(icodec_bytes *to, const uint8_t *from, size_t count);

/// Fills `error` (printf style) and returns false.
bool icodec_fail(icodec_error *error, int code, int64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/// Reads up to `count` bytes at `position`: 0 at the end, -1 on failure.
ssize_t icodec_read(const icodec_source *source, uint64_t position, uint8_t *into, size_t count);

/// Pixels (or bytes, or numbers) that are worked on between two looks at a watch: less than a millisecond to some.
enum { icodec_watch_step = 1 << 18 };

/// Counts an item of a header, of so many bytes; false if it is one too many.
bool icodec_work_on(icodec_work *work, uint64_t bytes, icodec_error *error);

/// Checks width and height against the limits.
bool icodec_check_size(const icodec_limits *limits, uint64_t width, uint64_t height, icodec_error *error);

/// False, with the error, for a format that this process may not decode (icodec_allow_worker_formats).
bool icodec_is_allowed_here(const char *format, icodec_error *error);

/// The start of the TIFF header in an Exif block that begins with its position (ISO/IEC 23008-12 annex A.2.1, ISO/IEC 18181-2); 0: there is none.
size_t icodec_exif_start(const uint8_t *block, size_t count);

#endif
