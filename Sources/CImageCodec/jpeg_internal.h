#ifndef ICODEC_JPEG_INTERNAL_H
#define ICODEC_JPEG_INTERNAL_H

#include <setjmp.h>
#include "icodec_jpeg.h"
#include "libjpeg_calls.h"

/// The common part of decoding a whole file and decoding a preview. libjpeg's callbacks access it by `client_data`.
struct icodec_jpeg_coarse;

typedef struct {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr input;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    icodec_error *error; // of the call that runs
    icodec_limits limits;
    icodec_watch watch;
    bool created, suspends, at_end;
    icodec_error damage; // the first fault in the pixels that was passed over; code 0: none
    uint64_t position; // in the input, of the byte after the buffer
    const icodec_source *source; // NULL: it comes in parts
    bool finishes; // the pixels are all there
    bool raw_cmyk;
    struct icodec_jpeg_coarse *coarse; // NULL: all coefficients are decoded
    icodec_bytes icc, exif;
    icodec_work work;
    bool has_exif, icc_is_broken;
    uint32_t icc_parts, icc_next;
} icodec_jpeg_core;

void icodec_jpeg_prepare(icodec_jpeg_core *core, const icodec_limits *limits, icodec_error *error);
void icodec_jpeg_release(icodec_jpeg_core *core);
void icodec_jpeg_describe_core(const icodec_jpeg_core *core, icodec_description *description);
/// After jpeg_read_header: the size and the memory that it will take.
bool icodec_jpeg_check(icodec_jpeg_core *core, icodec_error *error);
/// Returns true if the scans that are irrelevant at 1/8 of the size may be omitted. Small files, which are decoded in a
/// few milliseconds, are read completely, so that truncation of the last scan is detected; for larger ones the pixels
/// at 1/8 are correct nevertheless.
bool icodec_jpeg_may_be_coarse(const icodec_jpeg_core *core);
/// The position of libjpeg in the input.
int64_t icodec_jpeg_offset(const icodec_jpeg_core *core);
/// Ends the running call when its time is over or it was cancelled.
void icodec_jpeg_check_watch(icodec_jpeg_core *core);
/// Ends the call that runs with an error.
void icodec_jpeg_leave(icodec_jpeg_core *core, int code, const char *reason) __attribute__((noreturn));
/// Handles missing data: an error, or with `allow_truncated` a defect.
void icodec_jpeg_end_early(icodec_jpeg_core *core, const char *reason);
/// Records the first tolerated defect.
void icodec_jpeg_note(icodec_jpeg_core *core, int code, const char *reason);
/// Handles an APP marker that contains an Exif block or a profile.
boolean icodec_jpeg_take_marker(j_decompress_ptr info);
/// Describes the scan that the header ends with, if it is the only one and simple.
bool icodec_jpeg_scan_of(const icodec_jpeg_core *core, icodec_jpeg_scan *scan);
/// Sets scale and colours, before jpeg_start_decompress.
void icodec_jpeg_configure(icodec_jpeg_core *core, int eighths, bool raw_cmyk);
/// Reads rows until there are `count` of them, the image ends, or the input pauses.
void icodec_jpeg_read_rows(icodec_jpeg_core *core, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got);

#endif
