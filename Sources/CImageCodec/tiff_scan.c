#include "icodec_tiff.h"
#include "internal.h"

// The first directory of a TIFF (TIFF 6.0 section 2), or of a BigTIFF. libtiff reads all values of it at once, and sorts its list of known tags
// again for each unknown one.

/// Encoders write dozens.
enum { most_entries = 1024 };

typedef struct {
    const uint8_t *bytes;
    size_t count;
    bool is_little, is_big_tiff;
} scan;

/// A number of so many bytes.
static uint64_t number(const scan *scan, uint64_t at, unsigned size) {
    uint64_t value = 0;
    for (unsigned index = 0; index < size; index++)
        value = value << 8 | scan->bytes[at + (scan->is_little ? size - 1 - index : index)];
    return value;
}

/// The bytes of a value of a type; 0 for one that is not known.
static unsigned type_size(uint64_t type) {
    static const uint8_t sizes[19] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type < sizeof sizes ? sizes[type] : 0;
}

static bool fail_short(icodec_error *error) {
    return icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within its header");
}

/// Reads one entry; the first one of each tag counts.
static bool read_entry(const scan *scan, uint64_t at, icodec_tiff_directory *directory, icodec_error *error) {
    unsigned wide = scan->is_big_tiff ? 8 : 4;
    uint64_t tag = number(scan, at, 2), count = number(scan, at + 4, wide), place = at + 4 + wide;
    unsigned size = type_size(number(scan, at + 2, 2));
    uint64_t bytes = size && count > scan->count / size ? scan->count : count * size;
    if (!icodec_work_on(&directory->work, bytes, error)) return false;
    // libtiff reads on without the values of many tags. Those of cameras and programs may be missing: a profile, and what TIFF itself defines, may not.
    bool is_needed = bytes > wide && (tag < 32768 || tag == 34675);
    uint64_t start = is_needed ? number(scan, place, wide) : 0;
    if (is_needed && (start > scan->count || scan->count - start < bytes)) return fail_short(error);
    // The first one, where libtiff accepts several.
    bool has_value = size && count && (is_needed || bytes <= wide);
    uint64_t value = has_value ? number(scan, is_needed ? start : place, size) : 0;
    if (tag == 254 && (value & 1))
        return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "a TIFF whose first image is a preview, such as a camera's raw file");
    // libtiff parses it when it opens the file.
    if (tag == 259 && value == 6) return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "a TIFF with the old kind of JPEG");
    uint32_t *side = tag == 256 ? &directory->width : tag == 257 ? &directory->height : NULL;
    if (side && *side == 0) *side = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    return true;
}

bool icodec_tiff_scan(
    const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_tiff_directory *directory, icodec_error *error) {
    *directory = (icodec_tiff_directory){0};
    if (count < 16) return fail_short(error);
    scan scan = {bytes, count, bytes[0] == 'I', false};
    uint64_t version = number(&scan, 2, 2);
    scan.is_big_tiff = version == 43;
    if (version != 42 && (version != 43 || number(&scan, 4, 4) != (scan.is_little ? 8 : 8u << 16)))
        return icodec_fail(error, ICODEC_CORRUPT, 2, "not a valid TIFF");
    uint64_t start = scan.is_big_tiff ? number(&scan, 8, 8) : number(&scan, 4, 4);
    unsigned wide = scan.is_big_tiff ? 8 : 2, length = scan.is_big_tiff ? 20 : 12;
    if (start < 8) return icodec_fail(error, ICODEC_CORRUPT, 4, "no directory");
    if (start > count || count - start < wide) return fail_short(error);
    uint64_t entries = number(&scan, start, wide);
    if (entries > most_entries)
        return icodec_fail(error, ICODEC_LIMIT, (int64_t)start, "a directory of more than %d entries", most_entries);
    if (count - start - wide < entries * length) return fail_short(error);
    for (uint64_t index = 0; index < entries; index++)
        if (!read_entry(&scan, start + wide + index * length, directory, error)) return false;
    return icodec_check_size(limits, directory->width, directory->height, error);
}
