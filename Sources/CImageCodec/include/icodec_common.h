#ifndef ICODEC_COMMON_H
#define ICODEC_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ICODEC_UNSUPPORTED = 1, // well formed, but of a kind that is not read here
    ICODEC_CORRUPT,
    ICODEC_TRUNCATED,
    ICODEC_LIMIT, // a limit of icodec_limits
    ICODEC_MEMORY, // malloc failed
    ICODEC_IO,
    ICODEC_INTERNAL,
};

typedef struct {
    int32_t code;
    int64_t offset; // in the input, -1 if unknown
    char reason[200]; // UTF-8, zero-terminated
} icodec_error;

typedef struct {
    uint64_t pixels; // width x height
    uint32_t side; // the longer side in pixels
    uint64_t memory; // bytes that a decoder may allocate
    uint64_t ancillary; // bytes of one profile or Exif block, inflated
    uint32_t scans; // of one JPEG
    double seconds; // CPU time of this thread for one decode
    bool allow_truncated;
} icodec_limits;

/// The input: `bytes`, or where that is NULL the file behind `fd`, read by position.
typedef struct {
    const uint8_t *bytes;
    size_t size;
    int fd;
} icodec_source;

/// What the header says. Pointers are into the decoder or the input.
typedef struct {
    uint32_t width, height;
    uint32_t components; // as stored
    uint32_t bit_depth; // of a sample as stored
    uint32_t frames;
    bool has_alpha;
    bool interlaced; // PNG: Adam7; JPEG: progressive, or in several scans
    bool is_cmyk; // JPEG: CMYK or YCCK
    bool is_inverted; // JPEG: CMYK stored inverted, as Adobe does
    bool is_gray;
    bool is_lossless; // WebP
    bool says_srgb; // PNG: the sRGB chunk
    double gamma; // PNG: gAMA, 0 if there is none
    double chromaticities[8]; // PNG: cHRM: white, red, green, blue; all 0 if there is none
    const uint8_t *icc;
    size_t icc_size;
    const uint8_t *exif; // starts with the TIFF header
    size_t exif_size;
} icodec_description;

#endif
