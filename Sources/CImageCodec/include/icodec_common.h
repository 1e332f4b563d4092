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
    ICODEC_CANCELLED, // nobody wants the result any more
    ICODEC_UNAVAILABLE, // a format that this process does not read: it lacks the library, or may not
};

typedef struct {
    int32_t code;
    int64_t offset; // in the input, -1 if unknown
    char reason[200]; // UTF-8, zero-terminated
} icodec_error;

/// The conditions under which work on an image ends early. Checked every few milliseconds by all longer operations.
typedef struct {
    double deadline; // CPU seconds of the thread that works; INFINITY: none
    int32_t *stop; // see icodec_stop; NULL: nobody stops it
} icodec_watch;

/// Opens all libraries that are installed, and no other afterwards: for a process that will not be able to.
void icodec_open_libraries(void);

/// Lets this process decode HEIF, JPEG XL and TIFF: a worker that can do no harm, or a test. Other processes return ICODEC_UNAVAILABLE.
void icodec_allow_worker_formats(void);

/// CPU seconds of the calling thread.
double icodec_cpu_seconds(void);

/// Stops work whose watch has this flag, from any thread. The flag is 0 while the work may continue.
void icodec_stop(int32_t *flag);

/// Stops it after the flag has been checked `checks` more times: for tests.
void icodec_stop_after(int32_t *flag, int32_t checks);

/// Returns true if work may continue; else fills in the error.
bool icodec_watch_allows(const icodec_watch *watch, icodec_error *error);

typedef struct {
    uint64_t pixels; // width x height
    uint32_t side; // the longer side in pixels
    uint64_t memory; // bytes that a decoder may allocate
    uint64_t ancillary; // bytes of one profile or Exif block, inflated
    uint32_t scans; // of one JPEG
    uint32_t frames; // of one animation
    double seconds; // CPU time of one part of a preview
    icodec_watch watch;
    bool allow_truncated;
} icodec_limits;

/// The input: `bytes`, or where that is NULL the file behind `fd`, read by position.
typedef struct {
    const uint8_t *bytes;
    size_t size;
    int fd;
} icodec_source;

/// The work on a header of any format; more than the most of it is ICODEC_LIMIT. A library spends up to microseconds and hundreds of bytes on each
/// item, which may take eight bytes of the file; encoders write dozens of items.
typedef struct {
    uint64_t items; // chunks, segments, blocks, boxes, frames, entries of tables
    uint64_t bytes; // that they have
} icodec_work;

enum { icodec_most_items = 1 << 16, icodec_most_header_bytes = 64 << 20 };

/// The content of the header. Pointers refer to the decoder or the input.
typedef struct {
    uint32_t width, height;
    uint32_t components; // as stored
    uint32_t bit_depth; // of a sample as stored
    uint32_t frames;
    uint32_t loops; // times that an animation is shown, 0: for ever
    uint64_t milliseconds; // of all frames
    bool has_alpha;
    bool interlaced; // PNG: Adam7; JPEG: progressive, or in several scans
    bool is_cmyk; // JPEG: CMYK or YCCK
    bool is_inverted; // JPEG: CMYK stored inverted, as Adobe does
    bool is_gray;
    bool is_lossless; // WebP
    bool fills_canvas; // WebP: the first frame is all of the image
    uint64_t coefficients, coarse_coefficients; // JPEG in several scans: bytes that are held to decode it, and at 1/8 of its size
    uint64_t decoded_bytes; // AVIF, HEIF, JPEG XL, TIFF, BMP, ICO: bytes that are held to decode it
    bool says_srgb; // PNG: the sRGB chunk
    double gamma; // PNG: gAMA, 0 if there is none
    double chromaticities[8]; // PNG: cHRM: white, red, green, blue; all 0 if there is none
    const uint8_t *icc;
    size_t icc_size;
    const uint8_t *exif; // starts with the TIFF header
    size_t exif_size;
} icodec_description;

#endif
