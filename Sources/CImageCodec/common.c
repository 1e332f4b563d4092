#include "internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool icodec_fail(icodec_error *error, int code, int64_t offset, const char *format, ...) {
    error->code = code;
    error->offset = offset;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    return false;
}

ssize_t icodec_read(const icodec_source *source, uint64_t position, uint8_t *into, size_t count) {
    if (position >= source->size) return 0;
    if (count > source->size - position) count = source->size - position;
    if (source->bytes) {
        memcpy(into, source->bytes + position, count);
        return (ssize_t)count;
    }
    ssize_t got;
    do got = pread(source->fd, into, count, (off_t)position);
    while (got < 0 && errno == EINTR);
    return got;
}

double icodec_cpu_seconds(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 0;
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// 0: go on; 1: stop; more: stop after one look less than that.
void icodec_stop(int32_t *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELAXED); }

void icodec_stop_after(int32_t *flag, int32_t checks) { __atomic_store_n(flag, checks + 1, __ATOMIC_RELAXED); }

bool icodec_watch_allows(const icodec_watch *watch, icodec_error *error) {
    if (watch->stop) {
        int32_t stop = __atomic_load_n(watch->stop, __ATOMIC_RELAXED);
        if (stop == 1) return icodec_fail(error, ICODEC_CANCELLED, -1, "cancelled");
        if (stop > 1) __atomic_store_n(watch->stop, stop - 1, __ATOMIC_RELAXED);
    }
    if (watch->deadline < INFINITY && icodec_cpu_seconds() > watch->deadline)
        return icodec_fail(error, ICODEC_LIMIT, -1, "it takes longer than allowed");
    return true;
}

bool icodec_append(icodec_bytes *to, const uint8_t *from, size_t count) {
    if (count > SIZE_MAX / 2 - to->count) return false;
    if (to->count + count > to->capacity) {
        size_t capacity = to->capacity < 4096 ? 4096 : to->capacity;
        while (capacity < to->count + count) capacity *= 2;
        uint8_t *grown = realloc(to->bytes, capacity);
        if (!grown) return false;
        to->bytes = grown;
        to->capacity = capacity;
    }
    if (count) memcpy(to->bytes + to->count, from, count);
    to->count += count;
    return true;
}

bool icodec_work_on(icodec_work *work, uint64_t bytes, icodec_error *error) {
    work->items++;
    work->bytes += bytes;
    if (work->items > icodec_most_items)
        return icodec_fail(error, ICODEC_LIMIT, -1, "a header of more than %d parts", icodec_most_items);
    if (work->bytes > icodec_most_header_bytes)
        return icodec_fail(error, ICODEC_LIMIT, -1, "a header of more than %d MiB", icodec_most_header_bytes >> 20);
    return true;
}

bool icodec_check_size(const icodec_limits *limits, uint64_t width, uint64_t height, icodec_error *error) {
    if (width == 0 || height == 0)
        return icodec_fail(error, ICODEC_CORRUPT, -1, "no pixels: %" PRIu64 " x %" PRIu64, width, height);
    uint64_t side = width > height ? width : height;
    if (side > limits->side)
        return icodec_fail(
            error, ICODEC_LIMIT, -1, "%" PRIu64 " x %" PRIu64 " pixels, a side may have %" PRIu32, width, height,
            limits->side);
    // Both are below 2^32 here.
    if (width * height > limits->pixels)
        return icodec_fail(
            error, ICODEC_LIMIT, -1, "%" PRIu64 " x %" PRIu64 " pixels, more than %" PRIu64, width, height,
            limits->pixels);
    return true;
}

static atomic_bool allows_worker_formats;

void icodec_allow_worker_formats(void) { allows_worker_formats = true; }

bool icodec_is_allowed_here(const char *format, icodec_error *error) {
    return allows_worker_formats ? true : icodec_fail(error, ICODEC_UNAVAILABLE, -1, "%s is decoded in worker processes only", format);
}

size_t icodec_exif_start(const uint8_t *block, size_t count) {
    if (count <= 4) return 0;
    uint64_t start = 4 + ((uint64_t)block[0] << 24 | (uint64_t)block[1] << 16 | (uint64_t)block[2] << 8 | block[3]);
    return start < count ? (size_t)start : 0;
}
