#ifndef ICODEC_GIF_QUANTIZE_H
#define ICODEC_GIF_QUANTIZE_H

#include "gif_palette.h"
#include "internal.h"

enum { gif_points = 1 << 15 };

/// Pixels of the same colour, or of colours that are too similar to distinguish.
typedef struct {
    uint64_t count;
    uint64_t sum[3];
    uint8_t color[3]; // one of theirs; after icodec_gif_histogram_settle their mean
} gif_point;

/// The colours of a frame, with the number of their pixels. When they become too many, cubes of 2, 4 or 8 values a side are one point.
typedef struct {
    uint32_t count;
    uint64_t pixels;
    uint32_t shift; // bits of a value that are not told apart
    gif_point points[gif_points];
    uint16_t slots[2 * gif_points]; // number + 1 of a point by its hash; 0: free
} gif_histogram;

void icodec_gif_histogram_clear(gif_histogram *histogram);

void icodec_gif_histogram_add(gif_histogram *histogram, const uint8_t *color);

/// To be called when all pixels are there.
void icodec_gif_histogram_settle(gif_histogram *histogram);

/// The mean squared distance of the pixels from the palette's nearest colours.
bool icodec_gif_error(
    gif_palette *palette, const gif_histogram *histogram, const icodec_watch *watch, double *mean, icodec_error *error);

/// Returns true if the histogram has at most so many colours, and all of them exactly.
bool icodec_gif_is_exact(const gif_histogram *histogram, uint32_t colors);

/// Appends the colours themselves to the palette if there are at most `colors`, otherwise as many representative ones. Changes the order of
/// the histogram's points.
bool icodec_gif_quantize(
    gif_histogram *histogram, uint32_t colors, gif_palette *palette, const icodec_watch *watch, icodec_error *error);

#endif
