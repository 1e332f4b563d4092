#include <stdlib.h>
#include <string.h>

#include "icodec_avif.h"
#include "internal.h"
#include "libavif_calls.h"
#include "yuv_rows.h"

/// Larger sizes are not distinguished.
static const uint64_t most_bytes = (uint64_t)1 << 40;

struct icodec_avif {
    icodec_limits limits;
    icodec_watch watch;
    icodec_avif_boxes boxes;
    avifDecoder *decoder;
    icodec_yuv_rows rows;
};

static bool fail(const avifDecoder *decoder, avifResult result, icodec_error *error) {
    return icodec_avif_fail(result, decoder->diag.error, error);
}

static bool take_aperture(icodec_avif *avif, icodec_error *error) {
    const avifImage *image = avif->decoder->image;
    avif->rows.aperture = (avifCropRect){0, 0, image->width, image->height};
    if (!(image->transformFlags & AVIF_TRANSFORM_CLAP)) return true;
    avifDiagnostics diagnostics;
    memset(&diagnostics, 0, sizeof diagnostics);
    avifCropRect rect;
    // One that is not valid is ignored, as in browsers.
    if (avifCropRectConvertCleanApertureBox(
            &rect, &image->clap, image->width, image->height, image->yuvFormat, &diagnostics))
        avif->rows.aperture = rect;
    return avif->rows.aperture.width && avif->rows.aperture.height
        ? true
        : icodec_fail(error, ICODEC_CORRUPT, -1, "a clean aperture without pixels");
}

static bool parse(icodec_avif *avif, const uint8_t *bytes, size_t count, icodec_error *error) {
    if (!icodec_avif_scan(bytes, count, &avif->boxes, error) || !icodec_watch_allows(&avif->watch, error)) return false;
    avifDecoder *decoder = avif->decoder = avifDecoderCreate();
    if (!decoder) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    decoder->codecChoice = AVIF_CODEC_CHOICE_DAV1D;
    decoder->maxThreads = 1;
    decoder->imageCountLimit = icodec_most_items;
    decoder->ignoreXMP = AVIF_TRUE;
    // Files of older encoders are shown by browsers, too.
    decoder->strictFlags = AVIF_STRICT_DISABLED;
    avifResult result = avifDecoderSetIOMemory(decoder, bytes, count);
    if (result == AVIF_RESULT_OK) result = avifDecoderParse(decoder);
    if (result != AVIF_RESULT_OK) return fail(decoder, result, error);
    const avifImage *image = decoder->image;
    if (!icodec_check_size(&avif->limits, image->width, image->height, error)) return false;
    return take_aperture(avif, error);
}

icodec_avif *icodec_avif_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error) {
    if (!icodec_open_libavif(error)) return NULL;
    icodec_avif *avif = calloc(1, sizeof *avif);
    if (!avif) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    avif->limits = *limits;
    avif->watch = limits->watch;
    if (icodec_watch_allows(&avif->watch, error) && parse(avif, bytes, count, error)) return avif;
    icodec_avif_close(avif);
    return NULL;
}

/// The Exif orientation for the image's rotation (anticlockwise, in quarter turns) and the mirroring after it.
static int32_t orientation(const avifImage *image) {
    static const int32_t turned[4] = {1, 8, 3, 6};
    static const int32_t mirrored[4][2] = {{4, 2}, {5, 7}, {2, 4}, {7, 5}}; // mode 0: top and bottom, 1: left and right
    int angle = image->transformFlags & AVIF_TRANSFORM_IROT ? image->irot.angle & 3 : 0;
    return image->transformFlags & AVIF_TRANSFORM_IMIR ? mirrored[angle][image->imir.mode & 1] : turned[angle];
}

/// Bytes of a decoder's state: libavif keeps one for each cell of a grid. (420 KiB with dav1d 1.0.)
enum { decoder_state = 512 << 10 };

/// True if items are decoded, and not a track.
static bool decodes_items(const icodec_avif *avif) { return avif->boxes.prefers_items || !avif->boxes.tracks; }

/// True if whatever is decoded is a cell: MIAF has all of them of one size.
static bool has_cells_only(const icodec_avif *avif) {
    const icodec_avif_boxes *boxes = &avif->boxes;
    bool is_whole = avif->decoder->alphaPresent && boxes->cells == boxes->own_cells;
    return decodes_items(avif) && boxes->own_cells && boxes->largest_cell && !is_whole;
}

/// Cells that may be decoded: of the image or of its alpha.
static uint64_t cells(const icodec_avif *avif) {
    bool may_be = decodes_items(avif) && (avif->boxes.own_cells || avif->decoder->alphaPresent);
    return may_be ? avif->boxes.cells : 0;
}

/// The bytes of the decoded planes, twice or together with those of their cells, and of the decoders' state.
static uint64_t decoded_bytes(const icodec_avif *avif) {
    const avifImage *image = avif->decoder->image;
    uint64_t pixels = (uint64_t)(image->width + 128) * (image->height + 128);
    uint64_t halves = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV444 ? 6
        : image->yuvFormat == AVIF_PIXEL_FORMAT_YUV422             ? 4
        : image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400             ? 2
                                                                   : 3;
    if (avif->decoder->alphaPresent) halves += 2;
    // The header's depth; the data may have another one, which the memory of a second copy covers.
    uint64_t all = pixels + (cells(avif) ? cells(avif) * (has_cells_only(avif) ? avif->boxes.largest_cell : pixels) : pixels);
    uint64_t bytes = all * halves / 2 * (image->depth > 8 ? 2 : 1) + cells(avif) * decoder_state + avif->boxes.merged + (4u << 20);
    return bytes < most_bytes ? bytes : most_bytes;
}

void icodec_avif_describe(const icodec_avif *avif, icodec_description *description, int32_t *turned) {
    const avifImage *image = avif->decoder->image;
    memset(description, 0, sizeof *description);
    description->width = avif->rows.aperture.width;
    description->height = avif->rows.aperture.height;
    description->bit_depth = image->depth;
    description->is_gray = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
    description->has_alpha = avif->decoder->alphaPresent;
    description->components = (description->is_gray ? 1 : 3) + (description->has_alpha ? 1 : 0);
    description->frames = avif->decoder->imageCount > 0 ? (uint32_t)avif->decoder->imageCount : 1;
    description->decoded_bytes = decoded_bytes(avif);
    icodec_describe_colors(image->colorPrimaries, image->transferCharacteristics, description);
    if (image->icc.size && image->icc.size <= avif->limits.ancillary) {
        description->icc = image->icc.data;
        description->icc_size = image->icc.size;
    }
    if (image->exif.size && image->exif.size <= avif->limits.ancillary) {
        size_t name = image->exif.size > 6 && memcmp(image->exif.data, "Exif\0\0", 6) == 0 ? 6 : 0;
        description->exif = image->exif.data + name;
        description->exif_size = image->exif.size - name;
    }
    *turned = orientation(image);
}

void icodec_avif_set_watch(icodec_avif *avif, const icodec_watch *watch) { avif->watch = *watch; }

bool icodec_avif_start(icodec_avif *avif, uint32_t frame, icodec_error *error) {
    avifDecoder *decoder = avif->decoder;
    uint32_t width = decoder->image->width, height = decoder->image->height;
    if (!icodec_watch_allows(&avif->watch, error)) return false;
    // Nothing larger is decoded than memory was counted for.
    uint64_t most = ((uint64_t)width + 128) * ((uint64_t)height + 128) * 2;
    if (has_cells_only(avif)) most = avif->boxes.largest_cell;
    if (most < decoder->imageSizeLimit) decoder->imageSizeLimit = (uint32_t)most;
    avifResult result = avifDecoderNextImage(decoder);
    // Later frames refer to those before them.
    for (uint32_t number = 0; number < frame && result == AVIF_RESULT_OK; number++) {
        if (!icodec_watch_allows(&avif->watch, error)) return false;
        result = avifDecoderNextImage(decoder);
    }
    if (!icodec_watch_allows(&avif->watch, error)) return false;
    if (result != AVIF_RESULT_OK) return fail(decoder, result, error);
    if (decoder->image->width != width || decoder->image->height != height)
        return icodec_fail(error, ICODEC_CORRUPT, -1, "the image is not of the size that the header says");
    return icodec_yuv_rows_start(&avif->rows, decoder->image, error);
}

bool icodec_avif_rows(icodec_avif *avif, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    return icodec_yuv_rows_take(&avif->rows, &avif->watch, rows, stride, count, got, error);
}

void icodec_avif_close(icodec_avif *avif) {
    if (!avif) return;
    icodec_yuv_rows_end(&avif->rows);
    if (avif->decoder) avifDecoderDestroy(avif->decoder);
    free(avif);
}
