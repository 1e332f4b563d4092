#ifndef ICODEC_RESIZE_H
#define ICODEC_RESIZE_H

#include "icodec_common.h"

/// One axis of a resize. `extent` source samples, which need not be a whole number, become `scaled` samples, of which
/// `count` from `first` on are made.
typedef struct {
    double extent;
    uint32_t source; // samples that there are: extent rounded up
    uint32_t scaled, first, count;
    /// A correction for samples that are means over their own width, as a JPEG's are at 1/8: each counts as itself plus
    /// this share of its difference from its neighbours (1/24 for exact means; 0 for none).
    double correction;
} icodec_axis;

typedef struct icodec_resizer icodec_resizer;

enum {
    ICODEC_RESIZE_ALPHA = 1, // the fourth channel is alpha: colours are weighted by it
    ICODEC_RESIZE_LINEAR = 2, // average light, not sRGB values (not with a fourth channel that is ink)
};

/// A Lanczos-3 filter that receives 4-channel 8-bit rows from the top, and writes each row of `pixels` as soon as it
/// has the required input. NULL if memory is short.
icodec_resizer *icodec_resizer_create(
    const icodec_axis *horizontal, const icodec_axis *vertical, int flags, uint8_t *pixels, size_t stride);

/// Bytes that `icodec_resizer_create` will allocate.
uint64_t icodec_resizer_memory(const icodec_axis *horizontal, const icodec_axis *vertical);

/// Begins another image of the same size and axes.
void icodec_resizer_restart(icodec_resizer *resizer, int flags, uint8_t *pixels);

/// Processes the next row of the source, or the next two (`next` is NULL for one): two at once cost a quarter less, and
/// the result is the same. Returns false if the watch ends the work: the resizer may then only be
/// destroyed.
bool icodec_resizer_push(
    icodec_resizer *resizer, const uint8_t *row, const uint8_t *next, const icodec_watch *watch, icodec_error *error);

void icodec_resizer_destroy(icodec_resizer *resizer);

#endif
