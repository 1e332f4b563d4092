#ifndef ICODEC_YUV_ROWS_H
#define ICODEC_YUV_ROWS_H

#include "icodec_common.h"
#include "internal.h"
#include "libavif_calls.h"

/// The rows of decoded planes as R, G, B, A, converted by bands. `aperture` is the part that has the image.
typedef struct {
    const avifImage *image;
    avifImage *view; // a band of the image
    avifCropRect aperture;
    uint8_t *band; // R, G, B, A
    uint32_t band_start, band_end; // rows of the image that are valid in it
    uint32_t band_origin; // the row of the image that it begins with
    uint32_t next; // row of the aperture
} icodec_yuv_rows;

bool icodec_yuv_rows_start(icodec_yuv_rows *rows, const avifImage *image, icodec_error *error);

/// Converts the next rows.
bool icodec_yuv_rows_take(
    icodec_yuv_rows *rows, const icodec_watch *watch, uint8_t *into, size_t stride, uint32_t count, uint32_t *got,
    icodec_error *error);

void icodec_yuv_rows_end(icodec_yuv_rows *rows);

/// Fills in the error for a result of libavif.
bool icodec_avif_fail(avifResult result, const char *detail, icodec_error *error);

/// Notes what an image's numbers say of its colours (ITU-T H.273). Curves that are meant for video count as sRGB's, as in browsers; of PQ and
/// HLG the values are taken as they are.
void icodec_describe_colors(avifColorPrimaries primaries, avifTransferCharacteristics transfer, icodec_description *description);

#endif
