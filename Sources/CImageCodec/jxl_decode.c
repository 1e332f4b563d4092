#include <stdlib.h>
#include <string.h>

#include "icodec_jxl.h"
#include "internal.h"
#include "libjxl_calls.h"

/// Bytes that libjxl gets at a time: it decodes the groups of pixels that they complete, and the watch is checked in between.
enum { piece_size = 1 << 16 };

/// Larger sizes are not distinguished.
static const uint64_t most_bytes = (uint64_t)1 << 40;

static const JxlPixelFormat rgba = {4, JXL_TYPE_UINT8, 0, 0};

struct icodec_jxl {
    icodec_limits limits;
    icodec_watch watch;
    const uint8_t *bytes;
    size_t count, given; // bytes that libjxl has got
    JxlDecoder *decoder;
    JxlBasicInfo info;
    uint8_t *icc;
    size_t icc_size;
    icodec_bytes exif;
    size_t exif_start;
    uint8_t *pixels;
    uint32_t next; // row
};

// MARK: Boxes

static uint64_t number(const uint8_t *bytes, int count) {
    uint64_t value = 0;
    for (int index = 0; index < count; index++) value = value << 8 | bytes[index];
    return value;
}

/// Counts the boxes of a container (ISO/IEC 18181-2), and looks for Exif among them, which may be compressed. libjxl refuses sizes that are not
/// possible.
static bool scan(const uint8_t *bytes, size_t count, bool *has_exif, icodec_error *error) {
    icodec_work work = {0, 0};
    *has_exif = false;
    if (count < 2 || (bytes[0] == 0xFF && bytes[1] == 0x0A)) return true;
    for (size_t at = 0; count - at >= 8;) {
        uint64_t size = number(bytes + at, 4), head = size == 1 ? 16 : 8;
        if (count - at < head + 4) break;
        if (size == 1) size = number(bytes + at + 8, 8);
        if (size == 0) size = count - at;
        if (size < head) break;
        if (!icodec_work_on(&work, 0, error)) return false;
        const uint8_t *name = bytes + at + 4;
        if (memcmp(name, "brob", 4) == 0) name = bytes + at + head;
        if (memcmp(name, "Exif", 4) == 0) *has_exif = true;
        if (size >= count - at) break;
        at += (size_t)size;
    }
    return true;
}

/// Takes what libjxl has written to its buffer, and makes room for more.
static bool take_box(JxlDecoder *decoder, icodec_bytes *to, uint8_t *buffer, size_t size, bool goes_on) {
    if (!icodec_append(to, buffer, size - JxlDecoderReleaseBoxBuffer(decoder))) return false;
    return !goes_on || JxlDecoderSetBoxBuffer(decoder, buffer, size) == JXL_DEC_SUCCESS;
}

/// Reads the first Exif box without any pixels. One that is damaged or too large is left out.
static bool take_exif(icodec_jxl *jxl, icodec_error *error) {
    JxlDecoder *decoder = JxlDecoderCreate(NULL);
    uint8_t buffer[4096];
    bool is_inside = false, is_allowed = true;
    bool goes_on = decoder && JxlDecoderSubscribeEvents(decoder, JXL_DEC_BOX) == JXL_DEC_SUCCESS &&
        JxlDecoderSetDecompressBoxes(decoder, 1) == JXL_DEC_SUCCESS &&
        JxlDecoderSetInput(decoder, jxl->bytes, jxl->count) == JXL_DEC_SUCCESS;
    if (goes_on) JxlDecoderCloseInput(decoder);
    while (goes_on && (is_allowed = icodec_watch_allows(&jxl->watch, error))) {
        JxlDecoderStatus status = JxlDecoderProcessInput(decoder);
        bool is_part = is_inside && status == JXL_DEC_BOX_NEED_MORE_OUTPUT;
        if (is_part) goes_on = take_box(decoder, &jxl->exif, buffer, sizeof buffer, true) && jxl->exif.count <= jxl->limits.ancillary;
        if (is_part && goes_on) continue;
        char type[4] = "";
        bool is_box = status == JXL_DEC_BOX;
        goes_on = is_box && !is_inside && JxlDecoderGetBoxType(decoder, type, 1) == JXL_DEC_SUCCESS;
        if (is_inside && (is_box || status == JXL_DEC_SUCCESS)) {
            take_box(decoder, &jxl->exif, buffer, sizeof buffer, false);
            if (jxl->exif.count <= jxl->limits.ancillary) jxl->exif_start = icodec_exif_start(jxl->exif.bytes, jxl->exif.count);
        } else if (goes_on && memcmp(type, "Exif", 4) == 0) {
            is_inside = true;
            goes_on = JxlDecoderSetBoxBuffer(decoder, buffer, sizeof buffer) == JXL_DEC_SUCCESS;
        }
    }
    if (decoder) JxlDecoderDestroy(decoder);
    return is_allowed;
}

// MARK: Decoding

/// Gives libjxl the next piece of the file, behind the bytes that it has not used.
static bool feed(icodec_jxl *jxl, icodec_error *error) {
    if (jxl->given == jxl->count) return icodec_fail(error, ICODEC_TRUNCATED, -1, "the file ends within the image");
    size_t start = jxl->given - JxlDecoderReleaseInput(jxl->decoder);
    jxl->given = jxl->count - jxl->given > piece_size ? jxl->given + piece_size : jxl->count;
    return JxlDecoderSetInput(jxl->decoder, jxl->bytes + start, jxl->given - start) == JXL_DEC_SUCCESS
        ? true
        : icodec_fail(error, ICODEC_INTERNAL, -1, "libjxl takes no bytes");
}

/// Decodes until libjxl has something, or needs it.
static bool advance(icodec_jxl *jxl, JxlDecoderStatus wanted, icodec_error *error) {
    while (icodec_watch_allows(&jxl->watch, error)) {
        JxlDecoderStatus status = JxlDecoderProcessInput(jxl->decoder);
        if (status == wanted) return true;
        if (status != JXL_DEC_NEED_MORE_INPUT) return icodec_fail(error, ICODEC_CORRUPT, -1, "libjxl cannot decode it");
        if (!feed(jxl, error)) return false;
    }
    return false;
}

// MARK: Colours

static const JxlColorProfileTarget data = JXL_COLOR_PROFILE_TARGET_DATA;

static bool has_format_parameter(void) { return JxlDecoderVersion() < 9000; }

static bool get_encoding(const JxlDecoder *decoder, JxlColorEncoding *encoding) {
    JxlDecoderStatus status = has_format_parameter()
        ? ((icodec_jxl_encoding_07 *)JxlDecoderGetColorAsEncodedProfile)(decoder, &rgba, data, encoding)
        : ((icodec_jxl_encoding_09 *)JxlDecoderGetColorAsEncodedProfile)(decoder, data, encoding);
    return status == JXL_DEC_SUCCESS;
}

static bool get_profile_size(const JxlDecoder *decoder, size_t *size) {
    JxlDecoderStatus status = has_format_parameter()
        ? ((icodec_jxl_profile_size_07 *)JxlDecoderGetICCProfileSize)(decoder, &rgba, data, size)
        : ((icodec_jxl_profile_size_09 *)JxlDecoderGetICCProfileSize)(decoder, data, size);
    return status == JXL_DEC_SUCCESS;
}

static bool get_profile(const JxlDecoder *decoder, uint8_t *icc, size_t size) {
    JxlDecoderStatus status = has_format_parameter()
        ? ((icodec_jxl_profile_07 *)JxlDecoderGetColorAsICCProfile)(decoder, &rgba, data, icc, size)
        : ((icodec_jxl_profile_09 *)JxlDecoderGetColorAsICCProfile)(decoder, data, icc, size);
    return status == JXL_DEC_SUCCESS;
}

/// Has XYB converted to sRGB; takes the profile of other pixels, unless they are sRGB. One that is too large is left out.
static void take_colors(icodec_jxl *jxl) {
    bool is_gray = jxl->info.num_color_channels == 1;
    JxlColorEncoding srgb = {0}, own = {0};
    srgb.color_space = is_gray ? JXL_COLOR_SPACE_GRAY : JXL_COLOR_SPACE_RGB;
    srgb.white_point = JXL_WHITE_POINT_D65;
    srgb.primaries = JXL_PRIMARIES_SRGB;
    srgb.transfer_function = JXL_TRANSFER_FUNCTION_SRGB;
    srgb.rendering_intent = JXL_RENDERING_INTENT_RELATIVE;
    if (!jxl->info.uses_original_profile && JxlDecoderSetPreferredColorProfile(jxl->decoder, &srgb) == JXL_DEC_SUCCESS) return;
    if (get_encoding(jxl->decoder, &own) && own.color_space == srgb.color_space && own.white_point == srgb.white_point &&
        (is_gray || own.primaries == srgb.primaries) && own.transfer_function == srgb.transfer_function)
        return;
    size_t size = 0;
    if (!get_profile_size(jxl->decoder, &size) || size == 0 || size > jxl->limits.ancillary) return;
    jxl->icc = malloc(size);
    if (jxl->icc && get_profile(jxl->decoder, jxl->icc, size)) jxl->icc_size = size;
}

// MARK: The image

static bool check_channels(const icodec_jxl *jxl, icodec_error *error) {
    if (jxl->info.num_color_channels != 1 && jxl->info.num_color_channels != 3)
        return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "JPEG XL of %u colours", (unsigned)jxl->info.num_color_channels);
    for (uint32_t index = 0; index < jxl->info.num_extra_channels; index++) {
        JxlExtraChannelInfo channel;
        if (JxlDecoderGetExtraChannelInfo(jxl->decoder, index, &channel) != JXL_DEC_SUCCESS) break;
        if (channel.type == JXL_CHANNEL_BLACK) return icodec_fail(error, ICODEC_UNSUPPORTED, -1, "JPEG XL with CMYK");
    }
    return true;
}

static bool parse(icodec_jxl *jxl, icodec_error *error) {
    bool has_exif = false;
    if (!scan(jxl->bytes, jxl->count, &has_exif, error)) return false;
    JxlDecoder *decoder = jxl->decoder = JxlDecoderCreate(NULL);
    if (!decoder) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    const int events = JXL_DEC_BASIC_INFO | JXL_DEC_COLOR_ENCODING | JXL_DEC_FULL_IMAGE;
    if (JxlDecoderSubscribeEvents(decoder, events) != JXL_DEC_SUCCESS ||
        JxlDecoderSetUnpremultiplyAlpha(decoder, 1) != JXL_DEC_SUCCESS)
        return icodec_fail(error, ICODEC_INTERNAL, -1, "libjxl refuses its settings");
    if (!advance(jxl, JXL_DEC_BASIC_INFO, error)) return false;
    if (JxlDecoderGetBasicInfo(decoder, &jxl->info) != JXL_DEC_SUCCESS)
        return icodec_fail(error, ICODEC_CORRUPT, -1, "an image without a size");
    if (!icodec_check_size(&jxl->limits, jxl->info.xsize, jxl->info.ysize, error) || !check_channels(jxl, error)) return false;
    if (!advance(jxl, JXL_DEC_COLOR_ENCODING, error)) return false;
    take_colors(jxl);
    return !has_exif || take_exif(jxl, error);
}

icodec_jxl *icodec_jxl_open(const uint8_t *bytes, size_t count, const icodec_limits *limits, icodec_error *error) {
    if (!icodec_is_allowed_here("JPEG XL", error) || !icodec_open_libjxl(error)) return NULL;
    icodec_jxl *jxl = calloc(1, sizeof *jxl);
    if (!jxl) {
        icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
        return NULL;
    }
    jxl->limits = *limits;
    jxl->watch = limits->watch;
    jxl->bytes = bytes;
    jxl->count = count;
    if (icodec_watch_allows(&jxl->watch, error) && parse(jxl, error)) return jxl;
    icodec_jxl_close(jxl);
    return NULL;
}

/// The pixels, and libjxl's memory for a photo of one layer with or without alpha. Other files take up to twice as much (JPEGXLInWorkers.md).
static uint64_t decoded_bytes(const icodec_jxl *jxl) {
    uint64_t pixels = (uint64_t)jxl->info.xsize * jxl->info.ysize;
    uint64_t bytes = pixels * (4 + 12 + 20 * (uint64_t)jxl->info.num_extra_channels) + jxl->count + (8u << 20);
    return bytes < most_bytes ? bytes : most_bytes;
}

void icodec_jxl_describe(const icodec_jxl *jxl, icodec_description *description) {
    memset(description, 0, sizeof *description);
    description->width = jxl->info.xsize;
    description->height = jxl->info.ysize;
    description->bit_depth = jxl->info.bits_per_sample;
    description->has_alpha = jxl->info.alpha_bits > 0;
    description->is_gray = jxl->info.num_color_channels == 1;
    description->components = jxl->info.num_color_channels + (description->has_alpha ? 1 : 0);
    description->frames = 1;
    description->decoded_bytes = decoded_bytes(jxl);
    description->icc = jxl->icc_size ? jxl->icc : NULL;
    description->icc_size = jxl->icc_size;
    description->exif = jxl->exif_start ? jxl->exif.bytes + jxl->exif_start : NULL;
    description->exif_size = jxl->exif_start ? jxl->exif.count - jxl->exif_start : 0;
}

void icodec_jxl_set_watch(icodec_jxl *jxl, const icodec_watch *watch) { jxl->watch = *watch; }

bool icodec_jxl_start(icodec_jxl *jxl, icodec_error *error) {
    if (!jxl->decoder) return icodec_fail(error, ICODEC_INTERNAL, -1, "the image has been decoded");
    if (!advance(jxl, JXL_DEC_NEED_IMAGE_OUT_BUFFER, error)) return false;
    size_t size = (size_t)jxl->info.xsize * jxl->info.ysize * 4, needed = 0;
    if (JxlDecoderImageOutBufferSize(jxl->decoder, &rgba, &needed) != JXL_DEC_SUCCESS || needed != size)
        return icodec_fail(error, ICODEC_CORRUPT, -1, "the image is not of the size that the header says");
    jxl->pixels = malloc(size);
    if (!jxl->pixels) return icodec_fail(error, ICODEC_MEMORY, -1, "out of memory");
    if (JxlDecoderSetImageOutBuffer(jxl->decoder, &rgba, jxl->pixels, size) != JXL_DEC_SUCCESS)
        return icodec_fail(error, ICODEC_INTERNAL, -1, "libjxl refuses its output");
    if (!advance(jxl, JXL_DEC_FULL_IMAGE, error)) return false;
    JxlDecoderDestroy(jxl->decoder);
    jxl->decoder = NULL;
    return icodec_watch_allows(&jxl->watch, error);
}

bool icodec_jxl_rows(icodec_jxl *jxl, uint8_t *rows, size_t stride, uint32_t count, uint32_t *got, icodec_error *error) {
    *got = 0;
    if (!icodec_watch_allows(&jxl->watch, error)) return false;
    size_t row = (size_t)jxl->info.xsize * 4;
    for (; *got < count && jxl->next < jxl->info.ysize; *got += 1, jxl->next++)
        memcpy(rows + *got * stride, jxl->pixels + jxl->next * row, row);
    return true;
}

void icodec_jxl_close(icodec_jxl *jxl) {
    if (!jxl) return;
    if (jxl->decoder) JxlDecoderDestroy(jxl->decoder);
    free(jxl->icc);
    free(jxl->exif.bytes);
    free(jxl->pixels);
    free(jxl);
}
