#include <stdlib.h>
#include <string.h>

#include "icodec_avif.h"
#include "internal.h"
#include "libavif_calls.h"

static bool fail(const avifEncoder *encoder, avifResult result, icodec_error *error) {
    if (result == AVIF_RESULT_OUT_OF_MEMORY) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    const char *detail = encoder->diag.error[0] ? encoder->diag.error : avifResultToString(result);
    return icodec_fail(error, ICODEC_INTERNAL, -1, "libavif could not encode: %.150s", detail);
}

/// A picture's planes, as libavif wants them.
static avifImage *make_image(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, bool has_alpha,
    const icodec_avif_options *options, icodec_error *error) {
    avifImage *image = avifImageCreate(width, height, 8, AVIF_PIXEL_FORMAT_YUV420);
    if (!image) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    image->colorPrimaries = AVIF_COLOR_PRIMARIES_BT709;
    image->transferCharacteristics = AVIF_TRANSFER_CHARACTERISTICS_SRGB;
    image->matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_BT601;
    image->yuvRange = AVIF_RANGE_FULL;
    if (options->icc_size) avifImageSetProfileICC(image, options->icc, options->icc_size);
    if (options->exif_size) avifImageSetMetadataExif(image, options->exif, options->exif_size);
    avifRGBImage rgb;
    avifRGBImageSetDefaults(&rgb, image);
    rgb.format = AVIF_RGB_FORMAT_RGBA;
    rgb.depth = 8;
    rgb.ignoreAlpha = !has_alpha;
    rgb.pixels = (uint8_t *)pixels; // only read
    rgb.rowBytes = (uint32_t)stride;
    avifResult result = avifImageRGBToYUV(image, &rgb);
    if (result == AVIF_RESULT_OK) return image;
    avifImageDestroy(image);
    icodec_fail(error, result == AVIF_RESULT_OUT_OF_MEMORY ? ICODEC_MEMORY : ICODEC_INTERNAL, -1, "%s", avifResultToString(result));
    return NULL;
}

static bool encode(
    avifEncoder *encoder, const avifImage *image, const icodec_avif_options *options, avifRWData *file,
    icodec_error *error) {
    encoder->codecChoice = AVIF_CODEC_CHOICE_AOM;
    encoder->maxThreads = 1;
    encoder->speed = options->speed;
    // The scale of avifenc.
    int quantizer = ((100 - options->quality) * AVIF_QUANTIZER_WORST_QUALITY + 50) / 100;
    encoder->minQuantizer = encoder->maxQuantizer = quantizer;
    // Artefacts are more visible at the edges of transparency than at those of colours.
    encoder->minQuantizerAlpha = encoder->maxQuantizerAlpha = quantizer / 2;
    avifResult result = avifEncoderAddImage(encoder, image, 1, AVIF_ADD_IMAGE_FLAG_SINGLE);
    if (result == AVIF_RESULT_OK) result = avifEncoderFinish(encoder, file);
    return result == AVIF_RESULT_OK ? true : fail(encoder, result, error);
}

bool icodec_avif_encode(
    const uint8_t *pixels, uint32_t width, uint32_t height, size_t stride, bool has_alpha,
    const icodec_avif_options *options, const icodec_watch *watch, uint8_t **bytes, size_t *count, icodec_error *error) {
    if (!icodec_open_libavif(error) || !icodec_watch_allows(watch, error)) return false;
    avifImage *image = make_image(pixels, width, height, stride, has_alpha, options, error);
    if (!image) return false;
    avifEncoder *encoder = icodec_watch_allows(watch, error) ? avifEncoderCreate() : NULL;
    avifRWData file = AVIF_DATA_EMPTY;
    bool done = false;
    if (encoder) done = encode(encoder, image, options, &file, error) && icodec_watch_allows(watch, error);
    else if (!error->code) icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    if (done && file.size > options->memory)
        done = icodec_fail(error, ICODEC_LIMIT, -1, "the file would take more memory than allowed");
    icodec_bytes copy = {0};
    if (done && !icodec_append(&copy, file.data, file.size)) done = icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    if (done) {
        *bytes = copy.bytes;
        *count = copy.count;
    }
    avifRWDataFree(&file);
    if (encoder) avifEncoderDestroy(encoder);
    avifImageDestroy(image);
    return done;
}
