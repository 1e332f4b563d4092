#ifndef ICODEC_WEBP_H
#define ICODEC_WEBP_H

#include "icodec_common.h"

/// The position of the first frame, in the input and on the canvas.
typedef struct {
    const uint8_t *bytes;
    size_t count;
    uint32_t x, y, width, height;
    bool is_complete;
} icodec_webp_frame;

/// Reads the container. Pointers in the result refer to `bytes`.
bool icodec_webp_describe(
    const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_description *description,
    icodec_webp_frame *frame, icodec_error *error);

/// Decodes a frame to R, G, B, A of the given size: the frame's, or a smaller one. The limits' watch is checked between
/// parts of the data, one for each million pixels.
bool icodec_webp_decode(
    const icodec_webp_frame *frame, const icodec_limits *limits, uint8_t *pixels, uint32_t width,
    uint32_t height, size_t stride, icodec_error *error);

typedef struct {
    float quality; // 0 ... 100
    bool lossless;
    int method; // 0 ... 6
    bool saves_memory; // at the cost of time
    uint64_t memory; // bytes that the file may take
} icodec_webp_options;

/// Encodes R, G, B, A rows to a file of one image chunk; `*bytes` is freed by `free`.
bool icodec_webp_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, bool has_alpha,
    const icodec_webp_options *options, const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error);

#endif
