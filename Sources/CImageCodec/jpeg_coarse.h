#ifndef ICODEC_JPEG_COARSE_H
#define ICODEC_JPEG_COARSE_H

#include "jpeg_internal.h"

/// A component's array of coefficients, reduced to the first of each block.
typedef struct {
    int16_t *first;
    JBLOCK *window; // the rows that libjpeg has at hand
    JBLOCKROW *lines;
    JDIMENSION columns, rows, most; // most: rows that may be asked for at once
    JDIMENSION start, held; // the rows in the window
} icodec_jpeg_coarse_array;

/// Decoding a file of several scans at 1/8 of its size.
typedef struct icodec_jpeg_coarse {
    struct {
        bool is_coarse; // one pixel a block
        unsigned identifier;
        int8_t accuracy[DCTSIZE2]; // that the scans which were left out would have brought; -1: none
        icodec_jpeg_coarse_array array;
    } components[4];
    int count, requested;
    jvirt_barray_ptr (*request)(j_common_ptr, int, boolean, JDIMENSION, JDIMENSION, JDIMENSION);
    JBLOCKARRAY (*access)(j_common_ptr, jvirt_barray_ptr, JDIMENSION, JDIMENSION, boolean);
    // The filter's position in the file.
    bool is_in_segment, after_ff, drops, holds, has_end;
    uint8_t segment[16];
    size_t held, left; // of the segment
    uint32_t skipped; // scans
} icodec_jpeg_coarse;

/// Before jpeg_start_decompress, with the scale set.
void icodec_jpeg_coarse_prepare(icodec_jpeg_coarse *coarse, icodec_jpeg_core *core);

/// Copies bytes of the file from the first scan's data on, without the scans that do not affect pixels of 1/8 size.
/// `to` has space for 16 bytes more than `count`.
size_t icodec_jpeg_coarse_filter(icodec_jpeg_coarse *coarse, const uint8_t *from, size_t count, uint8_t *to);

/// Returns true if omitted scans leave a coefficient without full accuracy: one that was partially transmitted, or any.
bool icodec_jpeg_coarse_misses(const icodec_jpeg_coarse *coarse, int component, int place, bool of_any);

#endif
