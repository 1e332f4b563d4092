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

typedef struct icodec_webp_animation icodec_webp_animation;

/// Opens a file for its frames, one after another. `bytes` are in use until it is closed.
icodec_webp_animation *icodec_webp_animation_open(const uint8_t *bytes, size_t count, icodec_error *error);

/// Composes the next frame. The canvas, R, G, B, A, is valid until the next call; NULL after the last frame.
bool icodec_webp_animation_next(
    icodec_webp_animation *animation, const icodec_watch *watch, const uint8_t **canvas, uint32_t *milliseconds,
    icodec_error *error);

void icodec_webp_animation_close(icodec_webp_animation *animation);

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

typedef struct icodec_webp_animator icodec_webp_animator;

/// Begins a file of several frames of one size.
///
/// - Parameter loops: Times that the animation is shown; 0: for ever.
icodec_webp_animator *icodec_webp_animator_create(
    uint32_t width, uint32_t height, const icodec_webp_options *options, uint32_t loops, icodec_error *error);

/// Encodes the next frame, R, G, B, A rows. The watch is checked before it.
bool icodec_webp_animator_add(
    icodec_webp_animator *animator, const uint8_t *pixels, size_t stride, uint32_t milliseconds,
    const icodec_watch *watch, icodec_error *error);

/// The file; `*bytes` is freed by `free`. The animator may only be destroyed afterwards.
bool icodec_webp_animator_finish(
    icodec_webp_animator *animator, const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error);

void icodec_webp_animator_destroy(icodec_webp_animator *animator);

#endif
