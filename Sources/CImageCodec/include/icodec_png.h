#ifndef ICODEC_PNG_H
#define ICODEC_PNG_H

#include "icodec_common.h"

typedef struct icodec_png icodec_png;

/// Reads the header and all chunks before the pixels. The source's bytes must stay until `icodec_png_close`.
icodec_png *icodec_png_open(const icodec_source *source, const icodec_limits *limits, icodec_error *error);

void icodec_png_describe(const icodec_png *png, icodec_description *description);

/// Sets the watch of the following calls; until then it is the limits' watch.
void icodec_png_set_watch(icodec_png *png, const icodec_watch *watch);

/// Starts decoding to R, G, B, A.
bool icodec_png_start(icodec_png *png, icodec_error *error);

/// Reads the next rows of an image that is not interlaced. Fewer than `count` where the image ends, or, with
/// `allow_truncated`, where the data do.
bool icodec_png_rows(icodec_png *png, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

/// Reads an interlaced image whole; `pixels` must be zero before.
bool icodec_png_image(icodec_png *png, uint8_t *pixels, size_t stride, icodec_error *error);

/// Reads and checks the data after the pixels.
bool icodec_png_finish(icodec_png *png, icodec_error *error);

/// The error at which reading ended, with `allow_truncated`; code 0 for none.
icodec_error icodec_png_damage(const icodec_png *png);

void icodec_png_close(icodec_png *png);

typedef struct {
    int level; // zlib's, 0 ... 9
    uint32_t colors; // 0: none, else the size of the palette
    const uint8_t *palette; // R, G, B, A
    const uint8_t *indices; // one byte a pixel
    bool has_alpha, gray;
    uint64_t memory; // bytes that the file may take
    const uint8_t *icc;
    size_t icc_size;
    const uint8_t *exif;
    size_t exif_size;
} icodec_png_options;

/// Encodes R, G, B, A rows; `*bytes` is freed by `free`.
bool icodec_png_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, const icodec_png_options *options,
    const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error);

#endif
