#include "yuv_rows.h"

#include <stdlib.h>
#include <string.h>

// Rows that are converted at once, and those above and below them that chroma is interpolated from.
enum { band_rows = 64, band_margin = 2 };

bool icodec_avif_fail(avifResult result, const char *detail, icodec_error *error) {
    if (!detail[0]) detail = avifResultToString(result);
    switch (result) {
    case AVIF_RESULT_TRUNCATED_DATA:
    case AVIF_RESULT_IO_ERROR: return icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within the image");
    case AVIF_RESULT_OUT_OF_MEMORY: return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    case AVIF_RESULT_NO_CODEC_AVAILABLE: return icodec_fail(error, ICODEC_INTERNAL, -1, "libavif has no decoder");
    case AVIF_RESULT_NOT_IMPLEMENTED:
    case AVIF_RESULT_UNSUPPORTED_DEPTH: return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "%.150s", detail);
    default: break;
    }
    // Sizes and frames beyond libavif's own limits have no code.
    bool is_limit = strstr(detail, "too large") != NULL || strstr(detail, "imageCountLimit") != NULL;
    return icodec_fail(error, is_limit ? ICODEC_LIMIT : ICODEC_CORRUPT, -1, "%.150s", detail);
}

void icodec_describe_colors(avifColorPrimaries primaries, avifTransferCharacteristics transfer, icodec_description *description) {
    bool is_known = primaries != AVIF_COLOR_PRIMARIES_UNKNOWN &&
        primaries != AVIF_COLOR_PRIMARIES_UNSPECIFIED &&
        primaries != AVIF_COLOR_PRIMARIES_BT709;
    if (is_known) {
        float places[8]; // red, green, blue, white
        avifColorPrimariesGetValues(primaries, places);
        for (int index = 0; index < 8; index++) description->chromaticities[(index + 2) % 8] = places[index];
    }
    switch (transfer) {
    case AVIF_TRANSFER_CHARACTERISTICS_BT470M: description->gamma = 1 / 2.2; break;
    case AVIF_TRANSFER_CHARACTERISTICS_BT470BG: description->gamma = 1 / 2.8; break;
    case AVIF_TRANSFER_CHARACTERISTICS_LINEAR: description->gamma = 1; break;
    default: break;
    }
    description->says_srgb = !is_known && description->gamma == 0;
}

bool icodec_yuv_rows_start(icodec_yuv_rows *rows, const avifImage *image, icodec_error *error) {
    rows->image = image;
    rows->view = avifImageCreateEmpty();
    rows->band = malloc((size_t)image->width * 4 * (band_rows + 2 * band_margin));
    return rows->view && rows->band ? true : icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
}

/// Converts the band that has a row of the decoded image: with rows around it that are thrown away, so that chroma is interpolated
/// there as everywhere.
static bool convert_band(icodec_yuv_rows *rows, uint32_t row, icodec_error *error) {
    const avifImage *image = rows->image;
    uint32_t start = row & ~1u;
    uint32_t end = image->height - start > band_rows ? start + band_rows : image->height;
    uint32_t first = start > band_margin ? start - band_margin : 0;
    uint32_t last = image->height - end > band_margin ? end + band_margin : image->height;
    avifCropRect rect = {0, first, image->width, last - first};
    avifResult result = avifImageSetViewRect(rows->view, image, &rect);
    if (result == AVIF_RESULT_OK) {
        avifRGBImage rgb;
        avifRGBImageSetDefaults(&rgb, rows->view);
        rgb.depth = 8;
        rgb.format = AVIF_RGB_FORMAT_RGBA;
        // For more than 8 bits, libyuv's results differ slightly from those of libavif, which avifdec uses for opaque images.
        rgb.avoidLibYUV = image->depth > 8 && !image->alphaPlane;
        rgb.pixels = rows->band;
        rgb.rowBytes = image->width * 4;
        result = avifImageYUVToRGB(rows->view, &rgb);
    }
    rows->band_origin = first;
    rows->band_start = start;
    rows->band_end = end;
    return result == AVIF_RESULT_OK ? true : icodec_avif_fail(result, "", error);
}

bool icodec_yuv_rows_take(
    icodec_yuv_rows *rows, const icodec_watch *watch, uint8_t *into, size_t stride, uint32_t count, uint32_t *got,
    icodec_error *error) {
    const avifCropRect *aperture = &rows->aperture;
    size_t row_bytes = (size_t)rows->image->width * 4;
    for (*got = 0; *got < count && rows->next < aperture->height; *got += 1, rows->next++) {
        uint32_t row = aperture->y + rows->next;
        if (row < rows->band_start || row >= rows->band_end) {
            if (!icodec_watch_allows(watch, error) || !convert_band(rows, row, error)) return false;
        }
        const uint8_t *from = rows->band + (row - rows->band_origin) * row_bytes + (size_t)aperture->x * 4;
        memcpy(into + *got * stride, from, (size_t)aperture->width * 4);
    }
    return true;
}

void icodec_yuv_rows_end(icodec_yuv_rows *rows) {
    if (rows->view) avifImageDestroy(rows->view);
    free(rows->band);
}
