#ifndef ICODEC_AVIF_H
#define ICODEC_AVIF_H

#include "icodec_common.h"

typedef struct icodec_avif icodec_avif;

/// Opens an AVIF, an image or a sequence, and reads its container. `bytes` are in use until it is closed.
icodec_avif *icodec_avif_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error);

/// The size is that of the clean aperture; the orientation, by which it is to be turned, is in Exif's numbers.
void icodec_avif_describe(const icodec_avif *avif, icodec_description *description, int32_t *orientation);

void icodec_avif_set_watch(icodec_avif *avif, const icodec_watch *watch);

/// Decodes the image, or a frame of a sequence, counted from 0, with those before it. libavif cannot be interrupted: the watch is checked
/// before and after each.
bool icodec_avif_start(icodec_avif *avif, uint32_t frame, icodec_error *error);

/// Converts the next rows to R, G, B, A.
bool icodec_avif_rows(icodec_avif *avif, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error);

void icodec_avif_close(icodec_avif *avif);

typedef struct {
    int quality; // 0 ... 100
    int speed; // 0 ... 10
    uint64_t memory; // bytes that the file may take
    const uint8_t *icc; // NULL: sRGB
    size_t icc_size;
    const uint8_t *exif;
    size_t exif_size;
} icodec_avif_options;

/// Encodes R, G, B, A rows; `*bytes` is freed by `free`. The watch is checked before and afterwards.
bool icodec_avif_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, bool has_alpha,
    const icodec_avif_options *options, const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error);

#endif
