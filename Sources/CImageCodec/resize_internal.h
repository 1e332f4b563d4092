#ifndef ICODEC_RESIZE_INTERNAL_H
#define ICODEC_RESIZE_INTERNAL_H

#include "icodec_resize.h"

/// The source samples whose weighted mean an output sample is.
typedef struct {
    uint32_t start, count;
} icodec_span;

/// The filter's weights along one axis. Each output has `stride` weights, those beyond its span are 0.
typedef struct {
    icodec_span *spans;
    float *weights;
    uint32_t count, stride;
} icodec_weights;

/// False when memory is short.
bool icodec_weights_create(const icodec_axis *axis, icodec_weights *weights);
void icodec_weights_destroy(icodec_weights *weights);

/// The inner loops, once for each set of vector instructions.
typedef struct {
    /// Bytes to floats.
    void (*widen)(const uint8_t *row, float *to, uint32_t pixels);
    /// The same with colours multiplied by alpha / 255.
    void (*premultiply)(const uint8_t *row, float *to, uint32_t pixels);
    /// Each output pixel is the weighted sum of its span; `weights` holds each weight four times.
    void (*filter)(
        const float *row, const icodec_span *spans, const float *weights, uint32_t stride, float *to, uint32_t pixels);
    /// The same for two rows.
    void (*filter_pair)(
        const float *row, const float *next, const icodec_span *spans, const float *weights, uint32_t stride, float *to,
        float *to_next, uint32_t pixels);
    /// sum += row * weight
    void (*accumulate)(float *sum, const float *row, float weight, uint32_t floats);
    /// The same for one row, then for the next.
    void (*accumulate_pair)(
        float *sum, const float *row, float weight, const float *next, float weight_of_next, uint32_t floats);
    /// Floats to bytes, rounded and clamped.
    void (*narrow)(const float *sum, uint8_t *to, uint32_t pixels);
} icodec_kernels;

const icodec_kernels *icodec_kernels_best(void);

#endif
