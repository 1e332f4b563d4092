#include <stdlib.h>
#include <string.h>

#include "heif_hevc.h"
#include "icodec_avif.h"
#include "icodec_heif.h"
#include "libheif_calls.h"
#include "yuv_rows.h"

/// The number of pixels by which a side of a tile may exceed the image. Tiles of phones have 512 x 512 pixels.
enum { tile_side = 512 };

struct icodec_heif {
    icodec_limits limits;
    icodec_watch watch;
    icodec_avif_boxes boxes;
    struct heif_context *context;
    struct heif_image_handle *handle;
    struct heif_image *decoded;
    uint32_t width, height;
    bool has_alpha;
    uint8_t *icc, *exif;
    size_t icc_size, exif_size;
    avifImage *image; // the decoded planes
    uint8_t *spread[2]; // chroma with a value for each pixel
    icodec_yuv_rows rows;
};

static bool fail(struct heif_error result, icodec_error *error) {
    const char *reason = result.message ? result.message : "libheif fails";
    switch (result.code) {
    case heif_error_Unsupported_filetype:
    case heif_error_Unsupported_feature:
    case heif_error_Plugin_loading_error:
        return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "HEIF of a kind that is not read (%.120s)", reason);
    case heif_error_Memory_allocation_error:
        return result.subcode == heif_suberror_Security_limit_exceeded
            ? icodec_fail(error, ICODEC_LIMIT, -1, "%.150s", reason)
            : icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    default: break;
    }
    bool is_short = result.subcode == heif_suberror_End_of_data;
    return is_short ? icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within the image")
                    : icodec_fail(error, ICODEC_CORRUPT, -1, "%.150s", reason);
}

/// Copies a block of metadata whose size is allowed; others are left out.
static void take_profile(icodec_heif *heif) {
    enum heif_color_profile_type type = heif_image_handle_get_color_profile_type(heif->handle);
    if (type != heif_color_profile_type_prof && type != heif_color_profile_type_rICC) return;
    size_t size = heif_image_handle_get_raw_color_profile_size(heif->handle);
    if (size == 0 || size > heif->limits.ancillary || !(heif->icc = malloc(size))) return;
    if (heif_image_handle_get_raw_color_profile(heif->handle, heif->icc).code == heif_error_Ok) heif->icc_size = size;
}

/// Copies the Exif block from its TIFF header on.
static void take_exif(icodec_heif *heif) {
    heif_item_id item;
    if (heif_image_handle_get_list_of_metadata_block_IDs(heif->handle, "Exif", &item, 1) != 1) return;
    size_t size = heif_image_handle_get_metadata_size(heif->handle, item);
    if (size <= 4 || size > heif->limits.ancillary || !(heif->exif = malloc(size))) return;
    if (heif_image_handle_get_metadata(heif->handle, item, heif->exif).code != heif_error_Ok) return;
    size_t start = icodec_exif_start(heif->exif, size);
    if (start == 0) return;
    heif->exif_size = size - start;
    memmove(heif->exif, heif->exif + start, heif->exif_size);
}

static bool parse(icodec_heif *heif, const uint8_t *bytes, size_t count, icodec_error *error) {
    if (!icodec_avif_scan(bytes, count, &heif->boxes, error) || !icodec_watch_allows(&heif->watch, error)) return false;
    heif->context = heif_context_alloc();
    if (!heif->context) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    heif_context_set_max_decoding_threads(heif->context, 0);
    struct heif_error result = heif_context_read_from_memory_without_copy(heif->context, bytes, count, NULL);
    if (result.code == heif_error_Ok) result = heif_context_get_primary_image_handle(heif->context, &heif->handle);
    if (result.code != heif_error_Ok) return fail(result, error);
    int width = heif_image_handle_get_width(heif->handle), height = heif_image_handle_get_height(heif->handle);
    if (width <= 0 || height <= 0) return icodec_fail(error, ICODEC_CORRUPT, -1, "an image without a size");
    if (!icodec_check_size(&heif->limits, (uint64_t)width, (uint64_t)height, error)) return false;
    // libheif 1.15 forgets a rotation that a file names before the size.
    bool is_forgotten = heif->boxes.is_turned && width == heif_image_handle_get_ispe_width(heif->handle) &&
        height == heif_image_handle_get_ispe_height(heif->handle);
    heif->width = (uint32_t)(is_forgotten ? height : width);
    heif->height = (uint32_t)(is_forgotten ? width : height);
    heif->has_alpha = heif_image_handle_has_alpha_channel(heif->handle) != 0;
    // Nothing larger is put together of tiles.
    heif_context_set_maximum_image_size_limit(heif->context, (width > height ? width : height) + tile_side);
    take_profile(heif);
    take_exif(heif);
    return true;
}

icodec_heif *icodec_heif_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error) {
    if (!icodec_is_allowed_here("HEIF", error)) return NULL;
    if (!icodec_open_libheif(error) || !icodec_open_libavif(error) || !icodec_register_hevc(error)) return NULL;
    icodec_heif *heif = calloc(1, sizeof *heif);
    if (!heif) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    heif->limits = *limits;
    heif->watch = limits->watch;
    if (icodec_watch_allows(&heif->watch, error) && parse(heif, bytes, count, error)) return heif;
    icodec_heif_close(heif);
    return NULL;
}

/// Pixels of the largest picture that is decoded.
static uint64_t most_pixels(const icodec_heif *heif) {
    return ((uint64_t)heif->width + tile_side) * ((uint64_t)heif->height + tile_side);
}

/// The bytes of the decoded planes, twice, because they are put together of tiles and then turned; and of the decoder's state, which has up to two
/// bytes for each pixel.
static uint64_t decoded_bytes(const icodec_heif *heif) {
    static const uint64_t halves[4] = {5, 3, 4, 6};
    uint64_t samples = halves[heif->boxes.chroma] + (heif->has_alpha ? 2 : 0);
    uint64_t wide = heif_image_handle_get_luma_bits_per_pixel(heif->handle) > 8 ? 2 : 1;
    return most_pixels(heif) * (samples * wide + 2) + (4u << 20);
}

static void describe_colors(const icodec_heif *heif, icodec_description *description) {
    struct heif_color_profile_nclx *colors = NULL;
    bool has_numbers = heif_image_handle_get_nclx_color_profile(heif->handle, &colors).code == heif_error_Ok && colors;
    icodec_describe_colors(
        has_numbers ? (avifColorPrimaries)colors->color_primaries : AVIF_COLOR_PRIMARIES_UNSPECIFIED,
        has_numbers ? (avifTransferCharacteristics)colors->transfer_characteristics : AVIF_TRANSFER_CHARACTERISTICS_UNSPECIFIED,
        description);
    if (colors) heif_nclx_color_profile_free(colors);
}

void icodec_heif_describe(const icodec_heif *heif, icodec_description *description) {
    memset(description, 0, sizeof *description);
    description->width = heif->width;
    description->height = heif->height;
    int depth = heif_image_handle_get_luma_bits_per_pixel(heif->handle);
    description->bit_depth = depth > 0 ? (uint32_t)depth : 8;
    description->has_alpha = heif->has_alpha;
    description->is_gray = heif->boxes.chroma == 0;
    description->components = (description->is_gray ? 1 : 3) + (heif->has_alpha ? 1 : 0);
    description->frames = 1;
    description->decoded_bytes = decoded_bytes(heif);
    describe_colors(heif, description);
    description->icc = heif->icc_size ? heif->icc : NULL;
    description->icc_size = heif->icc_size;
    description->exif = heif->exif_size ? heif->exif : NULL;
    description->exif_size = heif->exif_size;
}

void icodec_heif_set_watch(icodec_heif *heif, const icodec_watch *watch) { heif->watch = *watch; }

/// A plane of the decoded image; NULL if it is not of this size, or not as deep as the others.
static uint8_t *plane(const icodec_heif *heif, enum heif_channel channel, uint32_t width, uint32_t height, uint32_t *stride) {
    int own = 0;
    uint8_t *bytes = heif_image_get_plane(heif->decoded, channel, &own);
    *stride = (uint32_t)own;
    bool is_right = heif_image_get_width(heif->decoded, channel) == (int)width &&
        heif_image_get_height(heif->decoded, channel) == (int)height &&
        heif_image_get_bits_per_pixel_range(heif->decoded, channel) == (int)heif->image->depth;
    return is_right ? bytes : NULL;
}

/// Copies a plane that has chroma for every other row into one that has chroma for each row. NULL if memory is short.
static uint8_t *spread(const icodec_heif *heif, const uint8_t *from, uint32_t stride, size_t row) {
    uint8_t *into = malloc(row * heif->height);
    for (uint32_t y = 0; into && y < heif->height; y++) memcpy(into + y * row, from + (size_t)(y / 2) * stride, row);
    return into;
}

/// Reads the coefficients for converting planes to RGB from the file; the default is JFIF's, as in libheif.
static void take_numbers(icodec_heif *heif) {
    avifImage *image = heif->image;
    image->yuvRange = AVIF_RANGE_FULL;
    image->matrixCoefficients = AVIF_MATRIX_COEFFICIENTS_BT601;
    struct heif_color_profile_nclx *colors = NULL;
    if (heif_image_get_nclx_color_profile(heif->decoded, &colors).code == heif_error_Ok && colors) {
        image->yuvRange = colors->full_range_flag ? AVIF_RANGE_FULL : AVIF_RANGE_LIMITED;
        image->matrixCoefficients = (avifMatrixCoefficients)colors->matrix_coefficients;
        image->colorPrimaries = (avifColorPrimaries)colors->color_primaries;
    }
    if (colors) heif_nclx_color_profile_free(colors);
}

/// Takes the planes of the decoded image as one of libavif's, which converts them.
static bool take_planes(icodec_heif *heif, icodec_error *error) {
    uint32_t width = heif->width, height = heif->height;
    enum heif_chroma chroma = heif_image_get_chroma_format(heif->decoded);
    bool is_known = chroma == heif_chroma_420 || chroma == heif_chroma_422 || chroma == heif_chroma_444;
    if (heif_image_get_colorspace(heif->decoded) != heif_colorspace_YCbCr || !is_known)
        return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "HEIF with samples of RGB");
    int depth = heif_image_get_bits_per_pixel_range(heif->decoded, heif_channel_Y);
    if (depth != 8 && depth != 10 && depth != 12)
        return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "HEIF with samples of %d bits", depth);
    // 4:2:2 that was turned by a quarter has chroma for each column and every other row, which no format of libavif has.
    bool is_turned = chroma == heif_chroma_422 && heif_image_get_width(heif->decoded, heif_channel_Cb) == (int)width &&
        heif_image_get_height(heif->decoded, heif_channel_Cb) == (int)(height + 1) / 2;
    bool is_wide = chroma == heif_chroma_444 || is_turned, is_high = chroma != heif_chroma_420 && !is_turned;
    heif->image = avifImageCreate(
        width, height, (uint32_t)depth,
        is_wide                         ? AVIF_PIXEL_FORMAT_YUV444
            : chroma == heif_chroma_422 ? AVIF_PIXEL_FORMAT_YUV422
                                        : AVIF_PIXEL_FORMAT_YUV420);
    if (!heif->image) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    take_numbers(heif);
    uint8_t **planes = heif->image->yuvPlanes;
    uint32_t *strides = heif->image->yuvRowBytes;
    planes[0] = plane(heif, heif_channel_Y, width, height, &strides[0]);
    uint32_t columns = is_wide ? width : (width + 1) / 2, rows = is_high ? height : (height + 1) / 2;
    planes[1] = plane(heif, heif_channel_Cb, columns, rows, &strides[1]);
    planes[2] = plane(heif, heif_channel_Cr, columns, rows, &strides[2]);
    bool is_right = planes[0] && planes[1] && planes[2];
    if (heif->has_alpha) {
        heif->image->alphaPlane = plane(heif, heif_channel_Alpha, width, height, &heif->image->alphaRowBytes);
        heif->image->alphaPremultiplied = heif_image_handle_is_premultiplied_alpha(heif->handle) != 0;
        is_right = is_right && heif->image->alphaPlane;
    }
    if (!is_right) return icodec_fail(error, ICODEC_CORRUPT, -1, "the image is not of the size that the header says");
    size_t row = (size_t)width * (depth > 8 ? 2 : 1);
    for (int index = 0; index < 2 && is_turned; index++) {
        planes[index + 1] = heif->spread[index] = spread(heif, planes[index + 1], strides[index + 1], row);
        strides[index + 1] = (uint32_t)row;
        if (!heif->spread[index]) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    }
    return true;
}

/// Decodes into planes as they are stored: without a colour space and chroma, libheif converts to RGB. It adds chroma to an image without colour,
/// of which it cannot return the plane alone.
static struct heif_error decode_planes(icodec_heif *heif, uint32_t chroma, icodec_hevc_work *work) {
    struct heif_decoding_options *options = heif_decoding_options_alloc();
    if (!options) return (struct heif_error){heif_error_Memory_allocation_error, heif_suberror_Unspecified, "out of memory"};
    enum heif_chroma own = chroma == 0 ? heif_chroma_420 : (enum heif_chroma)chroma;
    icodec_hevc_begin(work);
    struct heif_error result = heif_decode_image(heif->handle, &heif->decoded, heif_colorspace_YCbCr, own, options);
    icodec_hevc_begin(NULL);
    heif_decoding_options_free(options);
    return result;
}

bool icodec_heif_start(icodec_heif *heif, icodec_error *error) {
    if (!icodec_watch_allows(&heif->watch, error)) return false;
    uint32_t chroma = heif->boxes.chroma;
    icodec_hevc_work work = {&heif->watch, most_pixels(heif), chroma, 0, {0}};
    struct heif_error result = decode_planes(heif, chroma, &work);
    // Another image of the file has more colours than the primary one. libheif cannot always add them.
    bool is_other = result.code == heif_error_Unsupported_feature && work.met < chroma && !work.error.code;
    if (is_other) result = decode_planes(heif, work.met, &work);
    if (work.error.code) {
        *error = work.error;
        return false;
    }
    if (result.code != heif_error_Ok) return fail(result, error);
    if (!icodec_watch_allows(&heif->watch, error) || !take_planes(heif, error)) return false;
    heif->rows.aperture = (avifCropRect){0, 0, heif->width, heif->height};
    return icodec_yuv_rows_start(&heif->rows, heif->image, error);
}

bool icodec_heif_rows(icodec_heif *heif, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    return icodec_yuv_rows_take(&heif->rows, &heif->watch, rows, stride, count, got, error);
}

void icodec_heif_close(icodec_heif *heif) {
    if (!heif) return;
    icodec_yuv_rows_end(&heif->rows);
    // The planes are those of the decoded image.
    if (heif->image) {
        memset(heif->image->yuvPlanes, 0, sizeof heif->image->yuvPlanes);
        heif->image->alphaPlane = NULL;
        avifImageDestroy(heif->image);
    }
    free(heif->spread[0]);
    free(heif->spread[1]);
    if (heif->decoded) heif_image_release(heif->decoded);
    if (heif->handle) heif_image_handle_release(heif->handle);
    if (heif->context) heif_context_free(heif->context);
    free(heif->icc);
    free(heif->exif);
    free(heif);
}
